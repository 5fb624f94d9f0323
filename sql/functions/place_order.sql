-- Returns how long an Idempotency-Key identifies the order that it created.
create or replace function idempotency_key_lifetime() returns interval
language sql immutable parallel safe
as $$
  select interval '24 hours'
$$;

-- Places an order: writes all of it, including its job, or nothing. One call is one statement, so it is atomic even when the
-- connection is lost, and there is no round trip while a box's row is locked.
--
-- All checks come before the first write; a refused order writes nothing, not even its idempotency key. Returns an object
-- with an "outcome":
--   PLACED          with the order's receipt
--   NO_BUYER        the account does not exist, or the session, if one is given, has ended
--   DUPLICATE       the key has already created this order (same payload)
--   KEY_REUSED      the key has already created another order
--   NO_PARTNER, PARTNER_INACTIVE
--   UNKNOWN_ITEMS   "unknown": ids that this partner does not offer
--   WINDOW_CLOSED   "closed": boxes whose pickup window was over when the order arrived, with its end
--   TOO_MANY_OPEN   "allowed": how many open orders the buyer may have; "missed": the no-shows that reduce it, else null
--   WINDOW_JUST_CLOSED  "closed", as above: the pickup window ended while the order waited for a lock
--   NOT_ENOUGH      "available": the remaining quantity of each box that is short
--   CUSTOMER_LIMIT  "limited": boxes of which the buyer would have too many, with the remaining quantity
--   PROMO_REFUSED   "reason": why the order's promo code cannot be used
--   WRONG_TOTAL     "totalMinor", "discountMinor": the client may send the total before or after the discount
--
-- An order without a promo code uses the promo that its buyer has attached, if that one can be used.
--
-- An order that was taken elsewhere (by a POS) is sold and paid for: it uses no promo, and may contain unavailable menu items.
-- It may have no buyer (null), and then no key. It does not count as one of its buyer's open orders or no-shows, since only the
-- POS says who its buyer is.
--
-- A buyer may have `most_open` open orders, and one after 3 no-shows; null: any number. Orders of the last 30 days count. All
-- no-shows at another partner count as one: a partner that completes no orders cannot keep its customers from ordering elsewhere.
--
-- item_ids are distinct ids of boxes or menu items; amounts are in minor units.
--
-- Plans are generic, because planning for each call's arrays costs more than running the statements. A session keeps such a
-- plan, and one made while the tables were empty would read them whole until they are analysed; every look-up here is by
-- a key, so sequential scans are disabled.
create or replace function place_order(
  buyer uuid,
  seller uuid,
  item_ids uuid[],
  item_qtys integer[],
  offered_total_minor bigint,
  delivery_address text,
  named_promo text,
  order_key text,
  order_fingerprint bytea,
  order_pickup_code text,
  caused_by text,
  taken_elsewhere boolean default false,
  most_open integer default null,
  buyer_session uuid default null
) returns jsonb
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  arrived_at constant timestamptz := statement_timestamp();
  new_order_id constant uuid := new_id();
  buyers uuid[];
  previous record;
  partner record;
  box_ids uuid[];
  box_names text[];
  box_prices bigint[];
  arrived_late boolean;
  closed jsonb;
  short jsonb;
  limited_since timestamptz;
  limited jsonb;
  no_shows integer;
  allowed_open integer;
  opens_at timestamptz;
  last_opens_at timestamptz;
  closes_at timestamptz;
  sells_out boolean;
  menu_ids uuid[] := '{}';
  menu_names text[] := '{}';
  menu_prices bigint[] := '{}';
  total bigint;
  promo promo_codes;
  refused text;
  discount bigint := 0;
  commission bigint;
  ready_at timestamptz;
  receipt jsonb;
begin
  if buyer is not null then
    -- serializes a buyer's orders: a second one with the same key finds the order of the first, and limits per customer hold
    perform pg_advisory_xact_lock(hashtextextended(buyer::text, 1));
    -- limits per customer hold over all accounts that the buyer had
    buyers := (
      select case when u.first_account_id is null then array[buyer] else array(select accounts_of(buyer)) end
      from users u
      where u.id = buyer and u.deleted_at is null
        and (buyer_session is null or exists (select from sessions s where s.id = buyer_session and s.revoked_at is null))
    );
    if buyers is null then
      return jsonb_build_object('outcome', 'NO_BUYER');
    end if;
  end if;
  if order_key is not null then
    select k.fingerprint, o.id, o.status, o.estimated_ready_at into previous
    from idempotency_keys k
    join orders o on o.id = k.order_id
    where k.user_id = buyer and k.key = order_key and k.created_at > arrived_at - idempotency_key_lifetime();
    if found then
      return jsonb_build_object(
        'outcome', case when previous.fingerprint = order_fingerprint then 'DUPLICATE' else 'KEY_REUSED' end,
        'orderId', previous.id,
        'orderStatus', previous.status,
        'estimatedReadyAt', previous.estimated_ready_at
      );
    end if;
  end if;

  select p.status, p.preparation_minutes, history.open, history.no_show_partners,
         coalesce(p.owner_id = buyer, false)
           or exists (select from partner_staff s where s.user_id = buyer and s.partner_id = p.id) as by_member,
         (select a.promo_id from promo_attachments a where a.user_id = buyer and not taken_elsewhere) as attached_promo,
         coalesce(
           (select r.rate_percent from commission_rates r where r.partner_id = p.id),
           (select r.rate_percent from commission_rates r where r.partner_id is null),
           default_commission_percent()
         ) as commission_percent
  into partner
  from partners p
  cross join (
    select count(*) filter (where o.status in ('ACCEPTED', 'READY')) as open,
           array_agg(o.partner_id) filter (where o.status = 'NO_SHOW') as no_show_partners
    from orders_not_cancelled_since(arrived_at - interval '30 days', buyers) as o
    where not o.taken_elsewhere
  ) as history
  where p.id = seller;
  if not found then
    return jsonb_build_object('outcome', 'NO_PARTNER');
  end if;
  if partner.status <> 'ACTIVE' then
    return jsonb_build_object('outcome', 'PARTNER_INACTIVE');
  end if;
  if cardinality(partner.no_show_partners) >= 3 then
    select count(*) filter (where missed.partner_id = seller)
           + count(distinct missed.partner_id) filter (where missed.partner_id <> seller)
    into no_shows
    from unnest(partner.no_show_partners) as missed (partner_id);
  end if;
  allowed_open := case when no_shows >= 3 then least(most_open, 1) else most_open end;
  if partner.open >= allowed_open and not taken_elsewhere then
    return jsonb_build_object(
      'outcome', 'TOO_MANY_OPEN',
      'allowed', allowed_open,
      'missed', case when allowed_open < most_open then no_shows end
    );
  end if;

  -- Boxes are locked in id order, so that orders for the same boxes wait for each other and never deadlock.
  select coalesce(array_agg(id), '{}'), coalesce(array_agg(title), '{}'), coalesce(array_agg(price_minor), '{}'),
         coalesce(bool_or(was_closed), false),
         jsonb_agg(jsonb_build_object('id', id, 'pickupWindowEnd', pickup_window_end)) filter (where is_closed),
         min(created_at) filter (where max_per_customer is not null),
         jsonb_agg(jsonb_build_object('id', id, 'available', quantity_available)) filter (where quantity_available < qty),
         coalesce(sum(price_minor * qty), 0),
         min(pickup_window_start), max(pickup_window_start), max(pickup_window_end), bool_or(quantity_available = qty)
  into box_ids, box_names, box_prices, arrived_late, closed, limited_since, short, total, opens_at, last_opens_at,
       closes_at, sells_out
  from (
    select b.id, b.title, b.price_minor, b.quantity_available, b.max_per_customer, b.created_at,
           b.pickup_window_start, b.pickup_window_end,
           item_qtys[array_position(item_ids, b.id)] as qty,
           not box_is_open(b, arrived_at) as was_closed,
           not box_is_open(b, clock_timestamp()) as is_closed
    from boxes b
    where b.id = any (item_ids) and b.partner_id = seller and b.hidden_at is null
    order by b.id
    for no key update
  ) as locked;

  if cardinality(box_ids) < cardinality(item_ids) then
    select coalesce(array_agg(m.id), '{}'), coalesce(array_agg(m.name), '{}'), coalesce(array_agg(m.price_minor), '{}'),
           total + coalesce(sum(m.price_minor * item_qtys[array_position(item_ids, m.id)]), 0)
    into menu_ids, menu_names, menu_prices, total
    from menu_items m
    where m.id = any (item_ids) and m.partner_id = seller and m.archived_at is null and (m.available or taken_elsewhere);
  end if;

  if cardinality(box_ids) + cardinality(menu_ids) < cardinality(item_ids) then
    return jsonb_build_object(
      'outcome', 'UNKNOWN_ITEMS',
      'unknown', (select jsonb_agg(wanted.id) from unnest(item_ids) as wanted (id) where wanted.id <> all (box_ids || menu_ids))
    );
  end if;
  if closed is not null then
    return jsonb_build_object(
      'outcome', case when arrived_late then 'WINDOW_CLOSED' else 'WINDOW_JUST_CLOSED' end,
      'closed', closed
    );
  end if;
  if short is not null then
    return jsonb_build_object('outcome', 'NOT_ENOUGH', 'available', short);
  end if;
  if limited_since is not null then
    -- The buyer's orders since the boxes were listed are few, and those of a box may be many: `order by` makes Postgres begin
    -- with the former. The clock that ids come from may have been set back by less than a day.
    with held as (
      select i.box_id, sum(i.qty) as qty
      from orders_not_cancelled_since(limited_since - interval '1 day', buyers) as o
      cross join lateral (select box_id, qty from order_items where order_id = o.id order by order_id, position) as i
      where o.status in ('ACCEPTED', 'READY', 'COMPLETED')
      group by i.box_id
    )
    select jsonb_agg(jsonb_build_object(
      'id', b.id, 'maxPerCustomer', b.max_per_customer, 'remaining', greatest(0, b.max_per_customer - coalesce(held.qty, 0))
    ))
    into limited
    from boxes b
    left join held on held.box_id = b.id
    where b.id = any (box_ids)
      and coalesce(held.qty, 0) + item_qtys[array_position(item_ids, b.id)] > b.max_per_customer;
    if limited is not null then
      return jsonb_build_object('outcome', 'CUSTOMER_LIMIT', 'limited', limited);
    end if;
  end if;
  if named_promo is not null or partner.attached_promo is not null then
    select p.* into promo
    from promo_codes p
    where p.code = upper(named_promo) or (named_promo is null and p.id = partner.attached_promo)
    for no key update;
    -- another order of this buyer may have used the attached promo while this one waited for the lock
    if named_promo is null and not exists (
      select from promo_attachments a where a.user_id = buyer and a.promo_id = promo.id
    ) then
      promo := null;
    end if;
  end if;
  if named_promo is not null or promo.id is not null then
    refused := promo_refusal(promo, buyer, seller, total, arrived_at);
    if refused is null then
      discount := promo_discount(promo, total);
    elsif named_promo is not null then
      return jsonb_build_object('outcome', 'PROMO_REFUSED', 'reason', refused);
    else
      promo := null;
    end if;
  end if;
  if offered_total_minor not in (total, total - discount) then
    return jsonb_build_object('outcome', 'WRONG_TOTAL', 'totalMinor', total, 'discountMinor', discount);
  end if;
  commission := round((total - discount) * partner.commission_percent / 100);

  ready_at := greatest(
    arrived_at,
    last_opens_at,
    case when cardinality(menu_ids) > 0 then arrived_at + make_interval(mins => partner.preparation_minutes) end
  );

  if cardinality(box_ids) > 0 then
    update boxes b
    set quantity_available = b.quantity_available - item_qtys[array_position(item_ids, b.id)],
        quantity_reserved = b.quantity_reserved + item_qtys[array_position(item_ids, b.id)],
        updated_at = arrived_at
    where b.id = any (box_ids);
    -- by itself, as most orders leave something, and each update of the status pays for the condition of its trigger
    if sells_out then
      update boxes b set status = 'SOLD_OUT' where b.id = any (box_ids) and b.quantity_available = 0;
    end if;
  end if;

  with new_order as (
    insert into orders (
      id, user_id, partner_id, by_member, taken_elsewhere, address, total_minor, discount_minor, commission_percent,
      commission_minor, pickup_code, pickup_window_start, pickup_window_end, estimated_ready_at, no_show_at, created_at,
      updated_at
    )
    values (
      new_order_id, buyer, seller, partner.by_member, taken_elsewhere, delivery_address, total, discount,
      partner.commission_percent, commission, order_pickup_code, opens_at, closes_at, ready_at,
      coalesce(closes_at, ready_at + interval '24 hours') + interval '1 hour', arrived_at, arrived_at
    )
  ), new_items as (
    insert into order_items (order_id, position, box_id, menu_item_id, name, price_minor, qty)
    select new_order_id, array_position(item_ids, line.id),
           case when line.n <= cardinality(box_ids) then line.id end,
           case when line.n > cardinality(box_ids) then line.id end,
           line.name, line.price_minor, item_qtys[array_position(item_ids, line.id)]
    from unnest(box_ids || menu_ids, box_names || menu_names, box_prices || menu_prices)
      with ordinality as line (id, name, price_minor, n)
    returning position, coalesce(box_id, menu_item_id) as id, name, price_minor, qty
  ), new_event as (
    insert into order_events (order_id, position, actor_id, actor_role, to_status, at)
    values (new_order_id, 1, buyer, 'CUSTOMER', 'ACCEPTED', arrived_at)
  ), new_fact as (
    -- record_event, inlined, and with the order's id, as every order runs this and new_id() would cost as much as all the rest
    insert into new_events (id, type, partner_id, at, data)
    values (new_order_id, 'order.placed', seller, arrived_at, jsonb_build_object(
      'orderId', new_order_id, 'amountDueCents', total - discount, 'commissionCents', commission,
      'takenElsewhere', taken_elsewhere
    ))
  ), kept_key as (
    -- an expired key is reused
    insert into idempotency_keys (user_id, key, fingerprint, order_id, created_at)
    select buyer, order_key, order_fingerprint, new_order_id, arrived_at
    where order_key is not null
    on conflict (user_id, key) do update
    set fingerprint = excluded.fingerprint, order_id = excluded.order_id, created_at = excluded.created_at
  )
  select jsonb_build_object(
    'outcome', 'PLACED',
    'orderId', new_order_id,
    'status', 'ACCEPTED',
    'estimatedReadyAt', ready_at,
    'totalMinor', total,
    'discountMinor', discount,
    'items', jsonb_agg(
      jsonb_build_object('id', i.id, 'name', i.name, 'priceMinor', i.price_minor, 'qty', i.qty) order by i.position
    )
  )
  into receipt
  from new_items i;

  perform stage_job('fan-out', jsonb_build_object('event', 'ORDER_PLACED', 'subjectId', new_order_id), caused_by);

  if promo.id is not null then
    update promo_codes p set uses = p.uses + 1 where p.id = promo.id;
    insert into promo_redemptions (order_id, promo_id, user_id) values (new_order_id, promo.id, buyer);
    delete from promo_attachments a where a.user_id = buyer and a.promo_id = promo.id;
  end if;
  return receipt;
end
$$;
