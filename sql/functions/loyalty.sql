-- Returns the points that a referral earns the referrer and the new customer, each.
create or replace function referral_points() returns integer
language sql immutable parallel safe
as $$
  select 100
$$;

-- Creates a user's account unless there is one. The referral code has no characters that look alike.
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

-- Credits a completed order: a point for every 10 major units of currency paid, the food it saved, and the referrer's points
-- when it is the customer's first. Crediting an order again changes nothing. An order from a POS earns nothing, because only
-- the POS says who bought it and at what price; neither does one whose customer owns or works for the partner, or did when
-- ordering. An order earns at most `most_points`, and a customer's orders at most `most_points_a_day` in any 24 hours.
create or replace function credit_completed_order(of_order uuid, most_points integer, most_points_a_day integer) returns void
language plpgsql
as $$
declare
  sale record;
  referrer uuid;
begin
  if exists (select from pos_orders where order_id = of_order) then
    return;
  end if;
  select o.user_id, least(o.amount_due_minor / 1000, most_points)::integer as points,
         o.by_member or o.user_id in (select partner_members(o.partner_id)) as by_member,
         coalesce((
           select sum(i.qty * coalesce(b.weight_grams, m.weight_grams, 0))
           from order_items i
           left join boxes b on b.id = i.box_id
           left join menu_items m on m.id = i.menu_item_id
           where i.order_id = o.id
         ), 0) as grams
  into sale
  from orders o
  where o.id = of_order;
  if sale.by_member then
    return;
  end if;

  perform create_loyalty_account(sale.user_id);
  select referrer_id into referrer from loyalty_accounts where user_id = sale.user_id;
  -- in id order, so that concurrent credits of two customers cannot deadlock
  perform from loyalty_accounts where user_id in (sale.user_id, referrer) order by user_id for no key update;
  select referrer_id into referrer from loyalty_accounts where user_id = sale.user_id and orders_completed = 0;
  select least(sale.points, greatest(0, most_points_a_day - coalesce(sum(e.points), 0)))::integer into sale.points
  from loyalty_entries e
  where e.user_id = sale.user_id and e.kind = 'ORDER' and e.created_at > now() - interval '24 hours';

  insert into loyalty_entries (user_id, kind, points, grams, order_id)
  values (sale.user_id, 'ORDER', sale.points, sale.grams, of_order)
  on conflict (order_id, kind) where order_id is not null do nothing;
  if not found then
    return;
  end if;
  update loyalty_accounts
  set points = least(points::bigint + sale.points, 2000000000)::integer, food_saved_grams = food_saved_grams + sale.grams, orders_completed = orders_completed + 1
  where user_id = sale.user_id;
  perform record_event(
    'points.earned', null, jsonb_build_object('userId', sale.user_id, 'points', sale.points, 'orderId', of_order)
  );

  if referrer is not null then
    insert into loyalty_entries (user_id, kind, points, order_id) values (referrer, 'REFERRER', referral_points(), of_order);
    update loyalty_accounts set points = points + referral_points() where user_id = referrer;
    perform record_event(
      'points.earned', null, jsonb_build_object('userId', referrer, 'points', referral_points(), 'orderId', of_order)
    );
  end if;
end
$$;

-- Records a new user's referrer and credits the user with points. Returns ATTACHED, or why nothing changed: UNKNOWN_CODE,
-- OWN_CODE, ALREADY_REFERRED, ALREADY_CUSTOMER (an order is completed) or CYCLE (each would be the other's referrer). What former
-- accounts of either did counts too.
create or replace function attach_referral(newcomer uuid, code text) returns text
language plpgsql
as $$
declare
  referrer uuid;
  newcomers uuid[];
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
  newcomers := array(select accounts_of(newcomer));
  if exists (select from loyalty_accounts where user_id = any (newcomers) and referrer_id is not null) then
    return 'ALREADY_REFERRED';
  end if;
  if exists (select from loyalty_accounts where user_id = any (newcomers) and orders_completed > 0) then
    return 'ALREADY_CUSTOMER';
  end if;
  if exists (
    select from loyalty_accounts where user_id in (select accounts_of(referrer)) and referrer_id = any (newcomers)
  ) then
    return 'CYCLE';
  end if;

  update loyalty_accounts set referrer_id = referrer, points = points + referral_points() where user_id = newcomer;
  insert into loyalty_entries (user_id, kind, points) values (newcomer, 'REFERRED', referral_points());
  perform record_event(
    'points.earned', null, jsonb_build_object('userId', newcomer, 'points', referral_points(), 'orderId', null)
  );
  return 'ATTACHED';
end
$$;
