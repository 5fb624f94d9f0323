-- Returns the orders that users have placed since an instant, but for cancelled ones. Row comparison and `order by` leave Postgres only the index on
-- (user_id, id) of these orders, also when it knows nothing about the table.
create or replace function orders_not_cancelled_since(at timestamptz, of_users uuid[])
returns table (id uuid, partner_id uuid, status order_status, taken_elsewhere boolean)
language sql stable
as $$
  select recent.id, recent.partner_id, recent.status, recent.taken_elsewhere
  from unnest(of_users) as account (id)
  cross join lateral (
    select o.id, o.partner_id, o.status, o.taken_elsewhere
    from orders o
    where (o.user_id, o.id) > (account.id, first_id_at(at))
      and (o.user_id, o.id) <= (account.id, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      and o.status <> 'CANCELLED'
    order by o.user_id, o.id
  ) as recent
$$;
