-- Returns a user's account and the deleted ones of the same phone: limits per customer hold over all of them.
create or replace function accounts_of(of_user uuid) returns setof uuid
language sql stable
as $$
  select coalesce(u.first_account_id, u.id) from users u where u.id = of_user
  union
  select again.id
  from users u
  join users again on again.first_account_id = coalesce(u.first_account_id, u.id)
  where u.id = of_user
$$;
