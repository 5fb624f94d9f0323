-- The smallest id of what was made at an instant or later. Ids begin with the time, so a range of time is a range of ids.
create or replace function first_id_at(at timestamptz) returns uuid
language sql immutable parallel safe
as $$
  select encode(substr(int8send((extract(epoch from at) * 1000)::bigint), 3) || '\x00000000000000000000'::bytea, 'hex')::uuid
$$;

-- The orders that count, those not cancelled, of a time and of one partner or, without one, of all. An id is made a moment
-- after created_at at most, hence the minute. Only one of the two halves is ever carried out, whatever the plan was made for;
-- the pairs keep the second one from going through everybody's orders by their ids alone.
create or replace function orders_that_count(from_at timestamptz, until_at timestamptz, of_partner uuid)
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
  select o.id, o.partner_id, o.status, o.created_at, o.total_minor, o.amount_due_minor, o.commission_minor
  from orders o
  where o.partner_id = of_partner
    and (o.partner_id, o.id) >= (of_partner, first_id_at(from_at))
    and (o.partner_id, o.id) < (of_partner, first_id_at(until_at + interval '1 minute'))
    and o.created_at >= from_at and o.created_at < until_at
    and o.status <> 'CANCELLED'
$$;

-- What was in these orders, line by line. The lines of a time are a range of ids too; "offset 0" has them read as one, and
-- not by one order after the other.
create or replace function lines_that_count(from_at timestamptz, until_at timestamptz, of_partner uuid)
returns table (
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
  select i.box_id, i.menu_item_id, i.price_minor, i.qty, o.status, o.total_minor, o.amount_due_minor
  from orders_that_count(from_at, until_at, null) o
  join (
    select line.order_id, line.box_id, line.menu_item_id, line.price_minor, line.qty
    from order_items line
    where line.order_id >= first_id_at(from_at) and line.order_id < first_id_at(until_at + interval '1 minute')
    offset 0
  ) i on i.order_id = o.id
  where of_partner is null
  union all
  select i.box_id, i.menu_item_id, i.price_minor, i.qty, o.status, o.total_minor, o.amount_due_minor
  from orders_that_count(from_at, until_at, of_partner) o
  join order_items i on i.order_id = o.id
  where of_partner is not null
$$;

-- The boxes that were listed in a time, by one partner or, without one, by all.
create or replace function boxes_listed(from_at timestamptz, until_at timestamptz, of_partner uuid)
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
  where b.partner_id = of_partner
    and (b.partner_id, b.id) >= (of_partner, first_id_at(from_at))
    and (b.partner_id, b.id) < (of_partner, first_id_at(until_at + interval '1 minute'))
    and b.created_at >= from_at and b.created_at < until_at
$$;
