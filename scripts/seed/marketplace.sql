-- A marketplace with two years behind it, in about a minute and a half at :scale 1: 50 000 partners, 200 000 boxes,
-- 500 000 users and a million orders. The figures agree: stock and sales, totals and commissions, statuses and events.
-- A semicolon at the end of a line ends a statement.

-- Every run makes the same marketplace.
select setseed(0.42);

-- An id as new_id() would have made it at that moment.
create function pg_temp.id_at(at timestamptz) returns uuid
language sql volatile
as $$
  select encode(
    overlay(
      overlay(uuid_send(gen_random_uuid()) placing substr(int8send((extract(epoch from at) * 1000)::bigint), 3) from 1 for 6)
      placing '\x70'::bytea from 7 for 1
    ),
    'hex'
  )::uuid
$$;

create temp table seed_cities as
select n, 'city-' || n as id, (array['Europe/Moscow', 'Asia/Yekaterinburg', 'Asia/Vladivostok'])[1 + n % 3] as timezone,
       case n when 1 then 55.75 else 45 + 20 * random() end as latitude,
       case n when 1 then 37.62 else 30 + 100 * random() end as longitude
from generate_series(1, 50) as n;

insert into cities (id, name, timezone) select id, 'City ' || n, timezone from seed_cities on conflict do nothing;

create temp table seed_users as
select n, pg_temp.id_at(at) as id, at
from (select n, now() - interval '730 days' * (1 - n::double precision / :users) as at from generate_series(1, :users) as n) moments;
create unique index on seed_users (n);

insert into users (id, service_id, phone, first_name, last_name, locale, created_at, updated_at)
select id, 'SEED-' || n, '+7' || (8000000000 + n), (array['Анна', 'Иван', 'Мария', 'Пётр'])[1 + n % 4], 'Иванова-' || n % 1000,
       case n % 5 when 0 then 'en-US' else 'ru-RU' end, at, at
from seed_users;

-- The first partners are the busiest, and most of them are in the first cities.
create temp table seed_partners as
select partners.n, pg_temp.id_at(at) as id, at, city.id as city_id,
       city.latitude + (random() + random() + random() - 1.5) * 0.2 as latitude,
       city.longitude + (random() + random() + random() - 1.5) * 0.3 as longitude,
       case when partners.n % 50 = 49 then 'PENDING_REVIEW' when partners.n % 50 = 48 then 'SUSPENDED' else 'ACTIVE' end::partner_status as status
from (
  select n, now() - interval '730 days' * (1 - n::double precision / :partners) as at,
         1 + floor(50 * power(random(), 2))::integer as city_n
  from generate_series(1, :partners) as n
) partners
join seed_cities city on city.n = partners.city_n;
create unique index on seed_partners (n);

insert into partners (
  id, slug, name, city_id, address, latitude, longitude, status, owner_id, created_at, updated_at, activated_at
)
select p.id, 'seed-' || p.n, 'Пекарня № ' || p.n, p.city_id, 'Тверская улица, ' || p.n, p.latitude, p.longitude, p.status,
       u.id, p.at, p.at, case when p.status <> 'PENDING_REVIEW' then p.at end
from seed_partners p
join seed_users u on u.n = p.n * (:users / :partners);

create temp table seed_items as
select pg_temp.id_at(p.at) as id, pg_temp.id_at(p.at) as category_id, p.id as partner_id, item, p.at
from seed_partners p, generate_series(1, 2) as item;

insert into menu_categories (id, partner_id, name) select category_id, partner_id, 'Раздел ' || item from seed_items;
insert into menu_items (id, partner_id, category_id, name, price_minor, weight_grams, created_at, updated_at)
select id, partner_id, category_id, 'Хлеб № ' || item, 9000 + item * 1000, 400, at, at from seed_items;

-- Every twentieth box can be ordered now; the others are what the partners listed before.
create temp table seed_boxes as
select boxes.n, pg_temp.id_at(boxes.at) as id, boxes.at, p.id as partner_id, p.city_id, boxes.at + interval '4 hours' as window_start,
       boxes.at + interval '30 hours' as window_end, 10000 + 1000 * (boxes.n % 30) as price_minor
from (
  select n, case when n > :boxes * 0.95 then now() - interval '12 hours' * random() else now() - interval '730 days' * random() - interval '31 hours' end as at,
         1 + floor(:partners * power(random(), 3))::integer as partner_n
  from generate_series(1, :boxes) as n
) boxes
join seed_partners p on p.n = boxes.partner_n and p.status = 'ACTIVE';
create unique index on seed_boxes (n);

create temp table seed_orders as
select pg_temp.id_at(orders.at) as id, orders.at, u.id as user_id, b.id as box_id, b.partner_id, b.window_start, b.window_end,
       b.price_minor,
       case
         when orders.lot < 0.08 then 'CANCELLED'
         when b.window_end > now() then 'ACCEPTED'
         when orders.lot < 0.11 then 'NO_SHOW'
         else 'COMPLETED'
       end::order_status as status
from (
  select :boxes - floor(:boxes * power(random(), 1.2))::integer as box_n, 1 + floor(:users * power(random(), 2))::integer as user_n,
         random() as lot, random() as moment
  from generate_series(1, :orders)
) lots
join seed_boxes b on b.n = lots.box_n
join seed_users u on u.n = lots.user_n
cross join lateral (select b.at + (least(now(), b.window_end) - b.at) * lots.moment as at, lots.lot) as orders
order by orders.at;
create index on seed_orders (box_id);

insert into boxes (
  id, partner_id, city_id, title, description, price_minor, original_price_minor, weight_grams, quantity_available, quantity_reserved,
  pickup_window_start, pickup_window_end, status, created_at, updated_at
)
select b.id, b.partner_id, b.city_id, 'Вечерний набор ' || b.n, 'Всё, что осталось к закрытию', b.price_minor, b.price_minor * 3, 1200,
       case when b.n % 4 = 0 then 0 else 5 end, coalesce(sold.qty, 0), b.window_start, b.window_end,
       case when b.window_end < now() then 'EXPIRED' when b.n % 4 = 0 then 'SOLD_OUT' else 'ACTIVE' end::box_status, b.at, b.at
from seed_boxes b
left join (
  select box_id, count(*) as qty from seed_orders where status <> 'CANCELLED' group by box_id
) sold on sold.box_id = b.id
order by b.at;

insert into orders (
  id, user_id, partner_id, status, total_minor, commission_percent, commission_minor, pickup_code, pickup_window_start,
  pickup_window_end, estimated_ready_at, no_show_at, created_at, updated_at
)
select id, user_id, partner_id, status, price_minor, 15, round(price_minor * 0.15), '000000', window_start,
       window_end, window_start, window_end + interval '1 hour', at, at
from seed_orders;

insert into order_items (order_id, position, box_id, name, price_minor, qty)
select id, 1, box_id, 'Вечерний набор', price_minor, 1 from seed_orders;

insert into order_events (order_id, position, actor_id, actor_role, to_status, at)
select id, 1, user_id, 'CUSTOMER', 'ACCEPTED', at from seed_orders;
insert into order_events (order_id, position, actor_role, from_status, to_status, at)
select id, 2, 'PARTNER', 'ACCEPTED', status, window_end from seed_orders where status <> 'ACCEPTED';

insert into loyalty_accounts (user_id, referral_code, points, food_saved_grams, orders_completed)
select u.id, 'SEED' || u.n, coalesce(earned.points, 0), coalesce(earned.grams, 0), coalesce(earned.orders, 0)
from seed_users u
left join (
  select user_id, sum(price_minor / 1000) as points, sum(1200) as grams, count(*) as orders
  from seed_orders
  where status = 'COMPLETED'
  group by user_id
) earned on earned.user_id = u.id;
insert into loyalty_entries (id, user_id, kind, points, grams, order_id, created_at)
select pg_temp.id_at(window_end), user_id, 'ORDER', price_minor / 1000, 1200, id, window_end
from seed_orders
where status = 'COMPLETED';

insert into promo_codes (code, discount_percent, uses)
select 'SEED-' || n, 10, case n when 1 then (select count(*) from seed_orders) / 100 else 0 end from generate_series(1, 5000) as n;
insert into promo_redemptions (order_id, promo_id, user_id)
select o.id, p.id, o.user_id
from (select id, user_id, row_number() over () as n from seed_orders) o, promo_codes p
where p.code = 'SEED-1' and o.n <= (select count(*) from seed_orders) / 100;

insert into reviews (id, order_id, user_id, partner_id, rating, text, status, created_at, updated_at)
select id, id, user_id, partner_id, 3 + n % 3, 'Вкусно и свежо', (array['PUBLISHED', 'APPROVED', 'PENDING'])[1 + n % 3]::review_status,
       window_end, window_end
from (select *, row_number() over (order by id) as n from seed_orders where status = 'COMPLETED') o
where n % 5 = 0;
insert into partner_ratings (partner_id, rating_sum, review_count)
select partner_id, sum(rating), count(*)
from reviews
where review_is_shown(status) and partner_id in (select id from seed_partners)
group by partner_id;

-- The first partner is everyone's favourite.
insert into favorites (user_id, partner_id)
select u.id, p.id from seed_users u join seed_partners p on p.n = case u.n % 5 when 0 then 1 else 1 + u.n % :partners end;
insert into devices (user_id, platform, address, address_digest, locale)
select id, 'android', 'seed:device:' || n, sha256(convert_to('seed:device:' || n, 'UTF8')), 'ru-RU' from seed_users where n % 2 = 0;
insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
select id, true, true, false, true, '23:00', '07:00' from seed_users where n % 10 = 0;
insert into partner_staff (user_id, partner_id)
select u.id, p.id from seed_partners p join seed_users u on u.n = p.n * (:users / :partners) - 1;

-- Recent logins, notifications, and the jobs of the last days.
insert into otp (phone, code_hash, expires_at, sends, sent_at, used_at, place)
select '+7' || (8000000000 + n), '\x00', at, array[at], at, at, '192.0.2.1'
from (select n, now() - interval '20 hours' * random() as at from generate_series(1, :users / 10) as n) logins;

create temp table seed_sessions as
select pg_temp.id_at(now() - interval '30 days' * random()) as id, id as user_id, n from seed_users where n % 5 = 0;
insert into sessions (id, user_id) select id, user_id from seed_sessions;
insert into refresh_tokens (digest, session_id, expires_at)
select sha256(convert_to('seed ' || n, 'UTF8')), id, now() + interval '30 days' * random() from seed_sessions;

insert into notifications (id, user_id, kind, order_id, partner_id, status, created_at, settled_at)
select pg_temp.id_at(at), user_id, 'ORDER_ACCEPTED', id, partner_id, 'SENT', at, at
from seed_orders
where at > now() - interval '180 days';

insert into staged_jobs (queue, payload, run_at, next_send_at, sends, attempts, created_at, done_at)
select 'upkeep', '{"task": "canary"}', at, at, 1, 1, at, at
from (
  -- ids ascend with the time
  select now() - interval '20 hours' * random() as at from generate_series(1, :orders / 10) order by at
) jobs;
