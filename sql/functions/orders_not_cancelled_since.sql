-- Returns the orders that users have placed since an instant, but for cancelled ones. Row comparison leaves Postgres only the indexes
-- on (user_id, id), also when it knows nothing about the table. `offset 0` keeps it from reading all users' orders to join them;
-- it sorts nothing.
create or replace function orders_not_cancelled_since(at timestamptz, of_users uuid[])
returns table (id uuid, partner_id uuid, status order_status, taken_elsewhere boolean)
language sql stable
as $$
  select recent.id, recent.partner_id, recent.status, recent.taken_elsewhere
  from unnest(of_users) as account (id)
  cross join lateral (
    select o.id, o.partner_id, o.status, o.taken_elsewhere
    from orders o
    where o.user_id = account.id and (o.user_id, o.id) > (account.id, first_id_at(at)) and o.status <> 'CANCELLED'
    offset 0
  ) as recent
$$;
