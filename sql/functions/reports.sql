-- The smallest id of what was made at an instant or later. Ids begin with the time, so a range of time is a range of ids.
-- Not more than stable, as what it is made of, so that it becomes part of the statement and is no call for each row.
create or replace function first_id_at(at timestamptz) returns uuid
language sql stable parallel safe
as $$
  select encode(substr(int8send((extract(epoch from at) * 1000)::bigint), 3) || '\x00000000000000000000'::bytea, 'hex')::uuid
$$;

-- The orders that count, those not cancelled, of a time and of one partner or, without one, of all. An id is made a moment
-- after created_at at most, hence the minute. Only one of the two halves is ever carried out, whatever the plan was made for.
-- The pairs and the order of the second one leave it only the index that begins and ends with that partner's orders of the
-- time: another one that knows partners, or ids, would be as good to Postgres as long as it does not know the time.
create or replace function uncancelled_orders(from_at timestamptz, until_at timestamptz, of_partner uuid)
returns table (
  id uuid,
  partner_id uuid,
  status order_status,
  created_at timestamptz,
  total_minor bigint,
  amount_due_minor bigint,
  commission_minor bigint
)
language sql stable parallel safe
as $$
  select o.id, o.partner_id, o.status, o.created_at, o.total_minor, o.amount_due_minor, o.commission_minor
  from orders o
  where of_partner is null
    and o.id >= first_id_at(from_at) and o.id < first_id_at(until_at + interval '1 minute')
    and o.created_at >= from_at and o.created_at < until_at
    and o.status <> 'CANCELLED'
  union all
  (
    select o.id, o.partner_id, o.status, o.created_at, o.total_minor, o.amount_due_minor, o.commission_minor
    from orders o
    where (o.partner_id, o.id) >= (of_partner, first_id_at(from_at))
      and (o.partner_id, o.id) < (of_partner, first_id_at(until_at + interval '1 minute'))
      and o.created_at >= from_at and o.created_at < until_at
      and o.status <> 'CANCELLED'
    order by o.partner_id, o.id
  )
$$;

-- What was in these orders, line by line. Lines are found by the ids of their orders and not by the time: what Postgres thinks
-- of a range of ids may be far too little, and it would go through all lines of the time for each order then.
create or replace function uncancelled_lines(from_at timestamptz, until_at timestamptz, of_partner uuid)
returns table (
  partner_id uuid,
  box_id uuid,
  menu_item_id uuid,
  price_minor bigint,
  qty integer,
  status order_status,
  total_minor bigint,
  amount_due_minor bigint
)
language sql stable parallel safe
as $$
  select o.partner_id, i.box_id, i.menu_item_id, i.price_minor, i.qty, o.status, o.total_minor, o.amount_due_minor
  from orders o
  join order_items i on i.order_id = o.id
  where of_partner is null
    and o.id >= first_id_at(from_at) and o.id < first_id_at(until_at + interval '1 minute')
    and o.created_at >= from_at and o.created_at < until_at
    and o.status <> 'CANCELLED'
  union all
  select o.partner_id, i.box_id, i.menu_item_id, i.price_minor, i.qty, o.status, o.total_minor, o.amount_due_minor
  from uncancelled_orders(from_at, until_at, of_partner) o
  join order_items i on i.order_id = o.id
  where of_partner is not null
$$;

-- The boxes that were listed in a time, by one partner or, without one, by all.
create or replace function listed_boxes(from_at timestamptz, until_at timestamptz, of_partner uuid)
returns table (id uuid, partner_id uuid, created_at timestamptz)
language sql stable parallel safe
as $$
  select b.id, b.partner_id, b.created_at
  from boxes b
  where of_partner is null
    and b.id >= first_id_at(from_at) and b.id < first_id_at(until_at + interval '1 minute')
    and b.created_at >= from_at and b.created_at < until_at
  union all
  select b.id, b.partner_id, b.created_at
  from boxes b
  where (b.partner_id, b.id) >= (of_partner, first_id_at(from_at))
    and (b.partner_id, b.id) < (of_partner, first_id_at(until_at + interval '1 minute'))
    and b.created_at >= from_at and b.created_at < until_at
$$;
