-- What a referral earns each of the two.
create or replace function referral_points() returns integer
language sql immutable parallel safe
as $$
  select 100
$$;

-- The account of a user, made at the first look; the code they bring others with is unambiguous to read out.
create or replace function create_loyalty_account(of_user uuid) returns void
language plpgsql
as $$
begin
  while not exists (select from loyalty_accounts where user_id = of_user) loop
    insert into loyalty_accounts (user_id, referral_code)
    select of_user,
           string_agg(substr('23456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + get_byte(random, n) % 30, 1), '')
    from (select uuid_send(gen_random_uuid()) as random) bytes, generate_series(8, 15) as n
    on conflict do nothing;
  end loop;
end
$$;

-- Credits a completed order: a point for every 10 whole units of currency that were paid, the food it saved, and points
-- to the referrer when it is the customer's first. Crediting an order again changes nothing. What was sold at a till
-- earns nothing, as only the till says who bought it and what it cost; and no order earns more than a million points.
create or replace function credit_completed_order(completed uuid) returns void
language plpgsql
as $$
declare
  sale record;
  brought_by uuid;
begin
  if exists (select from pos_orders where order_id = completed) then
    return;
  end if;
  select o.user_id, least(o.amount_due_minor / 1000, 1000000)::integer as points,
         coalesce((
           select sum(i.qty * coalesce(b.weight_grams, m.weight_grams, 0))
           from order_items i
           left join boxes b on b.id = i.box_id
           left join menu_items m on m.id = i.menu_item_id
           where i.order_id = o.id
         ), 0) as grams
  into sale
  from orders o
  where o.id = completed;

  perform create_loyalty_account(sale.user_id);
  select referrer_id into brought_by from loyalty_accounts where user_id = sale.user_id;
  -- in one order for everyone, so that two customers who brought each other's friends never wait in a circle
  perform from loyalty_accounts where user_id in (sale.user_id, brought_by) order by user_id for no key update;
  select referrer_id into brought_by from loyalty_accounts where user_id = sale.user_id and orders_completed = 0;

  insert into loyalty_entries (user_id, kind, points, grams, order_id)
  values (sale.user_id, 'ORDER', sale.points, sale.grams, completed)
  on conflict (order_id, kind) where order_id is not null do nothing;
  if not found then
    return;
  end if;
  update loyalty_accounts
  set points = least(points::bigint + sale.points, 2000000000)::integer, food_saved_grams = food_saved_grams + sale.grams, orders_completed = orders_completed + 1
  where user_id = sale.user_id;

  if brought_by is not null then
    insert into loyalty_entries (user_id, kind, points, order_id) values (brought_by, 'REFERRER', referral_points(), completed);
    update loyalty_accounts set points = points + referral_points() where user_id = brought_by;
  end if;
end
$$;

-- Notes who brought a new user, and gives the user points. The answer says what came of it: ATTACHED, UNKNOWN_CODE, OWN_CODE,
-- ALREADY_REFERRED, ALREADY_CUSTOMER (an order is completed) or CYCLE (the two would have brought each other).
create or replace function attach_referral(newcomer uuid, code text) returns text
language plpgsql
as $$
declare
  referrer uuid;
  mine loyalty_accounts;
begin
  select a.user_id into referrer
  from loyalty_accounts a
  join users u on u.id = a.user_id and u.deleted_at is null
  where a.referral_code = upper(code);
  if referrer is null then
    return 'UNKNOWN_CODE';
  end if;
  if referrer = newcomer then
    return 'OWN_CODE';
  end if;

  perform create_loyalty_account(newcomer);
  perform from loyalty_accounts where user_id in (newcomer, referrer) order by user_id for no key update;
  select * into mine from loyalty_accounts where user_id = newcomer;
  if mine.referrer_id is not null then
    return 'ALREADY_REFERRED';
  end if;
  if mine.orders_completed > 0 then
    return 'ALREADY_CUSTOMER';
  end if;
  if exists (select from loyalty_accounts where user_id = referrer and referrer_id = newcomer) then
    return 'CYCLE';
  end if;

  update loyalty_accounts set referrer_id = referrer, points = points + referral_points() where user_id = newcomer;
  insert into loyalty_entries (user_id, kind, points) values (newcomer, 'REFERRED', referral_points());
  return 'ATTACHED';
end
$$;
