-- Returns the great-circle distance between two places, in metres, on a sphere with the Earth's mean radius.
create or replace function great_circle(
  latitude_1 double precision, longitude_1 double precision, latitude_2 double precision, longitude_2 double precision
) returns double precision
language sql immutable parallel safe
as $$
  select 2 * 6371008.8 * asin(least(1, sqrt(
    sin(radians(latitude_2 - latitude_1) / 2) ^ 2
    + cos(radians(latitude_1)) * cos(radians(latitude_2)) * sin(radians(longitude_2 - longitude_1) / 2) ^ 2
  )))
$$;

-- Returns the Mercator y coordinate of a latitude in radians.
create or replace function mercator_north(latitude double precision) returns double precision
language sql immutable parallel safe
as $$
  select asinh(tan(latitude))
$$;

-- Returns rectangles of the Mercator plane that together contain every place within some metres of a centre: one, or two when
-- the circle crosses the 180th meridian. `middle` is the centre in the coordinates of that rectangle, for nearest-first order.
create or replace function search_areas(latitude double precision, longitude double precision, metres double precision)
returns table (area box, middle point)
language plpgsql immutable rows 1
as $$
declare
  -- slightly enlarged, so that rounding excludes no place
  reach constant double precision := metres / 6371008.8 * 1.000001 + 1e-9;
  phi constant double precision := radians(latitude);
  lambda constant double precision := radians(longitude);
  pole constant double precision := radians(89.9);
  south double precision;
  north double precision;
  half_width double precision;
begin
  -- latitudes beyond the projection's edge are stored at the edge, at any longitude
  south := case when phi - reach <= -pole then -100 else mercator_north(least(phi - reach, pole)) - 1e-9 end;
  north := case when phi + reach >= pole then 100 else mercator_north(greatest(phi + reach, -pole)) + 1e-9 end;
  middle := point(lambda, mercator_north(least(pole, greatest(-pole, phi))));
  if abs(phi) + reach >= pole then
    area := box(point(-4, south), point(4, north));
    return next;
    return;
  end if;
  half_width := asin(least(1, sin(reach) / cos(phi)));
  area := box(point(lambda - half_width, south), point(lambda + half_width, north));
  return next;
  if lambda + half_width > pi() then
    area := area - point(2 * pi(), 0);
    middle := middle - point(2 * pi(), 0);
    return next;
  elsif lambda - half_width < -pi() then
    area := area + point(2 * pi(), 0);
    middle := middle + point(2 * pi(), 0);
    return next;
  end if;
end
$$;

-- Returns up to `max_rows` active partners within `radius` metres, nearest first, after the pair (after_distance, after_id).
--
-- The index orders by distance on the map, which is not the distance on the globe. So there are two queries. The first reads
-- `max_rows` partners in map order; the largest true distance among them is an upper bound for the result. The second reads
-- all partners within that bound.
--
-- Postgres expects a thousandth of all partners in any area, and would read the whole area and sort it. Without bitmap scans
-- it walks the index in map order and stops after `max_rows`.
create or replace function partners_near(
  at_latitude double precision, at_longitude double precision, radius double precision,
  after_distance double precision, after_id uuid, max_rows integer
) returns table (partner_id uuid, latitude double precision, longitude double precision, distance double precision)
language plpgsql stable rows 50
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  bound double precision;
begin
  select max(about.distance) into bound
  from (
    select sample.distance
    from search_areas(at_latitude, at_longitude, radius) as search
    cross join lateral (
      select great_circle(at_latitude, at_longitude, p.latitude, p.longitude) as distance
      from partners p
      where p.status = 'ACTIVE' and p.location <@ search.area
        and great_circle(at_latitude, at_longitude, p.latitude, p.longitude) <= radius
        and (
          after_id is null
          or (great_circle(at_latitude, at_longitude, p.latitude, p.longitude), p.id) > (after_distance, after_id)
        )
      order by p.location <-> search.middle
      limit max_rows
    ) as sample
    order by sample.distance
    limit max_rows
  ) as about
  having count(*) = max_rows;

  return query
  select near.id, near.latitude, near.longitude, near.distance
  from (
    select p.id, p.latitude, p.longitude, great_circle(at_latitude, at_longitude, p.latitude, p.longitude) as distance
    from search_areas(at_latitude, at_longitude, coalesce(bound, radius)) as search
    join partners p on p.location <@ search.area and p.status = 'ACTIVE'
  ) as near
  where near.distance <= coalesce(bound, radius)
    and (after_id is null or (near.distance, near.id) > (after_distance, after_id))
  order by near.distance, near.id
  limit max_rows;
end
$$;

-- Returns up to `max_rows` boxes on offer within `radius` metres, nearest first, in the same way as partners_near.
-- It reads no boxes of partners nearer than `after_distance`, so that a later page reads no more boxes than the first.
create or replace function boxes_near(
  at_latitude double precision, at_longitude double precision, radius double precision,
  in_city text, max_price_minor bigint, available_from timestamptz, available_to timestamptz,
  after_distance double precision, after_id uuid, max_rows integer
) returns table (box_id uuid, distance double precision)
language plpgsql stable rows 50
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  bound double precision;
begin
  select max(about.distance) into bound
  from (
    select sample.distance
    from search_areas(at_latitude, at_longitude, radius) as search
    cross join lateral (
      select great_circle(at_latitude, at_longitude, p.latitude, p.longitude) as distance
      from partners p
      cross join lateral (
        select b.id
        from boxes b
        where b.partner_id = p.id and box_is_on_offer(b, p)
          and (max_price_minor is null or b.price_minor <= max_price_minor)
          and (available_from is null or b.pickup_window_end > available_from)
          and (available_to is null or b.pickup_window_start < available_to)
      ) as offer
      where p.location <@ search.area
        and (in_city is null or p.city_id = in_city)
        and great_circle(at_latitude, at_longitude, p.latitude, p.longitude) between coalesce(after_distance, 0) and radius
        and (
          after_id is null
          or (great_circle(at_latitude, at_longitude, p.latitude, p.longitude), offer.id) > (after_distance, after_id)
        )
      order by p.location <-> search.middle
      limit max_rows
    ) as sample
    order by sample.distance
    limit max_rows
  ) as about
  having count(*) = max_rows;

  return query
  select near.box_id, near.distance
  from (
    select b.id as box_id, great_circle(at_latitude, at_longitude, p.latitude, p.longitude) as distance
    from search_areas(at_latitude, at_longitude, coalesce(bound, radius)) as search
    join partners p
      on p.location <@ search.area
      and (in_city is null or p.city_id = in_city)
      and great_circle(at_latitude, at_longitude, p.latitude, p.longitude)
        between coalesce(after_distance, 0) and coalesce(bound, radius)
    join boxes b
      on b.partner_id = p.id and box_is_on_offer(b, p)
      and (max_price_minor is null or b.price_minor <= max_price_minor)
      and (available_from is null or b.pickup_window_end > available_from)
      and (available_to is null or b.pickup_window_start < available_to)
  ) as near
  where after_id is null or (near.distance, near.box_id) > (after_distance, after_id)
  order by near.distance, near.box_id
  limit max_rows;
end
$$;
