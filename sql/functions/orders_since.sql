-- Returns the orders that users have placed since an instant. Row comparison and `order by` leave Postgres only the index on
-- (user_id, id), also when it knows nothing about the table.
create or replace function orders_since(at timestamptz, of_users uuid[])
returns table (id uuid, status order_status)
language sql stable
as $$
  select recent.id, recent.status
  from unnest(of_users) as account (id)
  cross join lateral (
    select o.id, o.status
    from orders o
    where (o.user_id, o.id) > (account.id, first_id_at(at))
      and (o.user_id, o.id) <= (account.id, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    order by o.user_id, o.id
  ) as recent
$$;

-- Returns the orders that users have placed since an instant and that are open or were missed, but for those taken elsewhere.
create or replace function orders_open_or_missed_since(at timestamptz, of_users uuid[])
returns table (partner_id uuid, status order_status)
language sql stable
as $$
  select recent.partner_id, recent.status
  from unnest(of_users) as account (id)
  cross join lateral (
    select o.partner_id, o.status
    from orders o
    where (o.user_id, o.id) > (account.id, first_id_at(at))
      and (o.user_id, o.id) <= (account.id, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      and o.status in ('ACCEPTED', 'READY', 'NO_SHOW') and not o.taken_elsewhere
    order by o.user_id, o.id
  ) as recent
$$;
