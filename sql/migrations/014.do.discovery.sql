-- Where a partner is, in the Mercator projection with the Earth's radius as its unit. The projection has no poles: what lies
-- beyond 89.9° is kept at its edge. Distances on it only narrow a search down (see sql/functions/geography.sql).
alter table partners add column location point not null generated always as (
  point(radians(longitude), asinh(tan(radians(least(89.9, greatest(-89.9, latitude))))))
) stored;

create index partners_by_location on partners using gist (location) where status = 'ACTIVE';

-- The partner's city, so that a city's boxes are found in the order they can be picked up.
alter table boxes add column city_id text references cities (id);
update boxes b set city_id = p.city_id from partners p where p.id = b.partner_id;
alter table boxes alter column city_id set not null;

-- A deleted box is kept for the orders that were cancelled.
alter table boxes add column deleted_at timestamptz;

-- A box that is listed again on these days of the week (1 is Monday) until that day, at the same local time.
alter table boxes add column repeat_days smallint[] check (repeat_days <@ '{1,2,3,4,5,6,7}' and cardinality(repeat_days) > 0);
alter table boxes add column repeat_until date;
alter table boxes add check ((repeat_days is null) = (repeat_until is null));
-- which box this one repeats, and on which local day
alter table boxes add column repeats_id uuid references boxes (id);
alter table boxes add column repeats_on date;

create unique index boxes_repeated_once on boxes (repeats_id, repeats_on) where repeats_id is not null;
create index boxes_repeating on boxes (repeat_until) where repeat_days is not null and deleted_at is null;
create index boxes_to_pick_up on boxes (pickup_window_start, id) where status = 'ACTIVE' and hidden_at is null;
create index boxes_to_pick_up_in_city on boxes (city_id, pickup_window_start, id) where status = 'ACTIVE' and hidden_at is null;
