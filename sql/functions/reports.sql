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
