-- Places an order: everything it writes and every job it causes, or nothing. One call is one statement, so it is atomic
-- even when its connection is lost, and no round trip is made while a box's row is locked.
--
-- All checks come before the first write; whatever is refused leaves no trace, its idempotency key included. The answer
-- is an object whose "outcome" says what happened:
--   PLACED          the order's receipt
--   DUPLICATE       the key has already made this order (same payload)
--   KEY_REUSED      the key has already made another order
--   NO_BUYER        the account is gone
--   NO_PARTNER, PARTNER_INACTIVE
--   UNKNOWN_ITEMS   "unknown": ids that are not on offer by this partner
--   WINDOW_CLOSED   a pickup window closed while the order waited for its turn
--   NOT_ENOUGH      "available": what is left of each box that is short
--   WRONG_TOTAL     "expectedMinor"
--
-- item_ids are distinct and name boxes or menu items; amounts are minor units.
create or replace function place_order(
  buyer uuid,
  seller uuid,
  item_ids uuid[],
  item_qtys integer[],
  offered_total_minor bigint,
  delivery_address text,
  order_key text,
  order_fingerprint bytea,
  order_pickup_code text,
  caused_by text
) returns jsonb
language plpgsql
as $$
declare
  arrived_at constant timestamptz := statement_timestamp();
  new_order_id constant uuid := new_id();
  previous record;
  partner record;
  box record;
  menu record;
  total bigint;
  ready_at timestamptz;
begin
  if order_key is not null then
    -- two requests with one key take turns; the second finds what the first has written
    perform pg_advisory_xact_lock(hashtextextended(buyer::text || order_key, 1));
    select k.fingerprint, o.id, o.status, o.estimated_ready_at into previous
    from idempotency_keys k
    join orders o on o.id = k.order_id
    where k.user_id = buyer and k.key = order_key and k.created_at > arrived_at - interval '24 hours';
    if found then
      return jsonb_build_object(
        'outcome', case when previous.fingerprint = order_fingerprint then 'DUPLICATE' else 'KEY_REUSED' end,
        'orderId', previous.id,
        'orderStatus', previous.status,
        'estimatedReadyAt', previous.estimated_ready_at
      );
    end if;
  end if;

  select p.status, p.preparation_minutes,
         exists (select from users u where u.id = buyer and u.deleted_at is null) as buyer_exists,
         coalesce(
           (select r.rate_percent from commission_rates r where r.partner_id = p.id),
           (select r.rate_percent from commission_rates r where r.partner_id is null),
           15
         ) as commission_percent
  into partner
  from partners p
  where p.id = seller;
  if partner is null then
    return jsonb_build_object('outcome', 'NO_PARTNER');
  end if;
  if not partner.buyer_exists then
    return jsonb_build_object('outcome', 'NO_BUYER');
  end if;
  if partner.status <> 'ACTIVE' then
    return jsonb_build_object('outcome', 'PARTNER_INACTIVE');
  end if;

  -- Boxes are locked in id order, so that orders for the same boxes wait for each other and never deadlock.
  select coalesce(array_agg(id), '{}') as ids,
         coalesce(array_agg(id) filter (where expired), '{}') as expired_ids,
         coalesce(bool_or(closed), false) as closed,
         jsonb_agg(jsonb_build_object('id', id, 'available', quantity_available)) filter (where quantity_available < qty) as short,
         coalesce(sum(price_minor * qty), 0)::bigint as total,
         max(pickup_window_start) as starts_at
  into box
  from (
    select b.id, b.price_minor, b.quantity_available, b.pickup_window_start, wanted.qty,
           b.status = 'EXPIRED' or b.pickup_window_end <= arrived_at as expired,
           b.pickup_window_end <= clock_timestamp() as closed
    from unnest(item_ids, item_qtys) as wanted (id, qty)
    join boxes b on b.id = wanted.id and b.partner_id = seller and b.hidden_at is null
    order by b.id
    for no key update of b
  ) as locked;

  select coalesce(array_agg(m.id), '{}') as ids, coalesce(sum(m.price_minor * wanted.qty), 0)::bigint as total
  into menu
  from unnest(item_ids, item_qtys) as wanted (id, qty)
  join menu_items m on m.id = wanted.id and m.partner_id = seller and m.archived_at is null and m.available;

  if cardinality(box.ids) + cardinality(menu.ids) < cardinality(item_ids) or cardinality(box.expired_ids) > 0 then
    return jsonb_build_object(
      'outcome', 'UNKNOWN_ITEMS',
      'unknown', (
        select to_jsonb(array_agg(wanted.id))
        from unnest(item_ids) as wanted (id)
        where wanted.id <> all (box.ids || menu.ids) or wanted.id = any (box.expired_ids)
      )
    );
  end if;
  if box.closed then
    return jsonb_build_object('outcome', 'WINDOW_CLOSED');
  end if;
  if box.short is not null then
    return jsonb_build_object('outcome', 'NOT_ENOUGH', 'available', box.short);
  end if;
  total := box.total + menu.total;
  if total <> offered_total_minor then
    return jsonb_build_object('outcome', 'WRONG_TOTAL', 'expectedMinor', total);
  end if;

  ready_at := greatest(
    arrived_at,
    box.starts_at,
    case when cardinality(menu.ids) > 0 then arrived_at + make_interval(mins => partner.preparation_minutes) end
  );

  if cardinality(box.ids) > 0 then
    update boxes b
    set quantity_available = b.quantity_available - wanted.qty,
        quantity_reserved = b.quantity_reserved + wanted.qty,
        status = case when b.quantity_available = wanted.qty then 'SOLD_OUT'::box_status else b.status end,
        updated_at = arrived_at
    from unnest(item_ids, item_qtys) as wanted (id, qty)
    where b.id = wanted.id and b.id = any (box.ids);
  end if;

  with new_order as (
    insert into orders (
      id, user_id, partner_id, address, total_minor, commission_percent, commission_minor, pickup_code,
      estimated_ready_at, created_at, updated_at
    )
    values (
      new_order_id, buyer, seller, delivery_address, total, partner.commission_percent,
      round(total * partner.commission_percent / 100), order_pickup_code, ready_at, arrived_at, arrived_at
    )
  ), new_items as (
    insert into order_items (order_id, position, box_id, menu_item_id, name, price_minor, qty)
    select new_order_id, wanted.position, b.id, m.id, coalesce(b.title, m.name), coalesce(b.price_minor, m.price_minor), wanted.qty
    from unnest(item_ids, item_qtys) with ordinality as wanted (id, qty, position)
    left join boxes b on b.id = wanted.id and b.id = any (box.ids)
    left join menu_items m on m.id = wanted.id and m.id = any (menu.ids)
  ), new_event as (
    insert into order_events (order_id, position, actor_id, to_status, at)
    values (new_order_id, 1, buyer, 'ACCEPTED', arrived_at)
  ), kept_key as (
    -- a key older than its 24 hours is taken over
    insert into idempotency_keys (user_id, key, fingerprint, order_id, created_at)
    select buyer, order_key, order_fingerprint, new_order_id, arrived_at
    where order_key is not null
    on conflict (user_id, key) do update
    set fingerprint = excluded.fingerprint, order_id = excluded.order_id, created_at = excluded.created_at
  ), told as (
    insert into notifications (user_id, kind, order_id, partner_id)
    select recipient.user_id, recipient.kind, new_order_id, seller
    from (
      select buyer as user_id, 'ORDER_ACCEPTED' as kind
      union all
      select p.owner_id, 'NEW_ORDER' from partners p where p.id = seller and p.owner_id is not null
      union all
      select s.user_id, 'NEW_ORDER' from partner_staff s where s.partner_id = seller
    ) as recipient
    returning id
  )
  insert into staged_jobs (queue, payload, request_id)
  select 'push', jsonb_build_object('notificationId', told.id), caused_by from told;

  return jsonb_build_object(
    'outcome', 'PLACED',
    'orderId', new_order_id,
    'status', 'ACCEPTED',
    'estimatedReadyAt', ready_at,
    'totalMinor', total,
    'items', (
      select jsonb_agg(
        jsonb_build_object('id', coalesce(i.box_id, i.menu_item_id), 'name', i.name, 'priceMinor', i.price_minor, 'qty', i.qty)
        order by i.position
      )
      from order_items i where i.order_id = new_order_id
    )
  );
end
$$;
