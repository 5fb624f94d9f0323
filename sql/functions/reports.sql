-- Returns the orders of a time range that are not cancelled, of one partner or, when `of_partner` is null, of all. An id is
-- generated up to a moment after created_at, hence the extra minute. Only one half of the union runs, even under a generic
-- plan. Row comparison and `order by` in the second half leave Postgres only the index on (partner_id, id); without them
-- it may choose an index on either column alone while it does not know the time range.
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

-- Returns the lines of those orders. Lines are found by order id and not by a range of ids: Postgres may underestimate such a
-- range by far, and then reads all lines of the range for each order.
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

-- Returns the boxes listed in a time range, by one partner or, when `of_partner` is null, by all.
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
