-- The figures of days that are over. A report adds up days that are rolled up, and counts the others (live_days) from orders
-- and boxes, in one statement: it is right in its snapshot, because of what holds in every snapshot:
--
--   A day that was rolled up and has no change noted has the figures that one gets by counting.
--
-- Whatever changes a figure takes, before it looks whether its day is closed, a lock that it shares with all others of its
-- quarter of an hour and keeps until it is committed. Closing a day takes these locks for itself alone. So a change either
-- sees that the day is closed, and notes itself in its own transaction; or it was committed before the day was closed, and
-- all counting comes after that. Neither a clock nor how long anything takes matters to that: an order that was made just
-- before midnight may be committed whenever it likes.
--
-- Counting a day takes away the notes first. A change that a count does not see keeps its note, since it is committed, with
-- its note, after the notes were taken away; the day is counted again then.

-- The first moment of a day: at midnight, at the first of two midnights, or at what clocks show where there is none.
create or replace function start_of_day(day date, zone text) returns timestamptz
language plpgsql immutable parallel safe
as $$
declare
  midnight constant timestamptz := day::timestamp at time zone zone;
  -- when clocks were still as far from UTC as a day before
  day_before constant timestamptz := midnight - interval '1 day';
  earlier constant timestamptz := (
    day::timestamp - (day_before at time zone zone - day_before at time zone 'UTC')
  ) at time zone 'UTC';
begin
  return case when earlier at time zone zone = day::timestamp then least(earlier, midnight) else midnight end;
end
$$;

-- Which lock belongs to a moment. There are enough for ten days: a transaction that makes a year's orders stays within bounds.
create or replace function rollup_quarter(at timestamptz) returns integer
language sql stable parallel safe
as $$ select (floor(extract(epoch from at) / 900)::bigint % 1024)::integer $$;

create or replace function note_rollup_change() returns trigger
language plpgsql
as $$
begin
  perform pg_advisory_xact_lock_shared(7306028, rollup_quarter(new.created_at));
  -- a statement of its own: it sees what was committed while this one waited
  insert into rollup_changes (at)
  select new.created_at
  where exists (select from rollup_days d where d.until_at > new.created_at and d.from_at <= new.created_at);
  return null;
end
$$;

-- Food that was saved weighs what it is said to weigh now, on days long ago too. Those who read days that were rolled up add
-- the difference for what is noted here, until it is worked in. The update of a note that is there already is for its lock:
-- work_in_weights must not take it away before this change is committed.
create or replace function note_weight_change() returns trigger
language plpgsql
as $$
begin
  insert into weight_changes (item_id) values (new.id)
  on conflict (item_id) do update set changed_at = excluded.changed_at;
  return null;
end
$$;

-- One rollup at a time.
create or replace function take_turn_to_roll_up() returns void
language sql
as $$ select pg_advisory_xact_lock(7306029) $$;

-- Closes a day, unless it is closed as it is cut in this zone; to be committed before the day is rolled up. Days of another
-- zone that have moments in common with it are forgotten.
create or replace function close_day(closed date, in_zone text) returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  starts constant timestamptz := start_of_day(closed, in_zone);
  ends constant timestamptz := start_of_day(closed + 1, in_zone);
begin
  perform take_turn_to_roll_up();
  if exists (select from rollup_days where day = closed and zone = in_zone and from_at = starts and until_at = ends) then
    return;
  end if;
  -- sooner than Postgres looks for deadlocks: whoever makes orders must never be the victim
  perform set_config('lock_timeout', '400ms', true);
  perform pg_advisory_xact_lock(7306028, quarters.quarter)
  from (
    select distinct rollup_quarter(least(at, ends - interval '1 microsecond')) as quarter
    from generate_series(starts, ends + interval '15 minutes', interval '15 minutes') as at
    order by 1
  ) as quarters;
  with forgotten as (
    delete from rollup_days where day = closed or (until_at > starts and from_at < ends) returning day
  ), partners as (
    delete from rollup_partners using forgotten where rollup_partners.day = forgotten.day
  ), items as (
    delete from rollup_items using forgotten where rollup_items.day = forgotten.day
  )
  delete from rollup_hours using forgotten where rollup_hours.day = forgotten.day;
  insert into rollup_days (day, zone, from_at, until_at) values (closed, in_zone, starts, ends);
end
$$;

-- Counts a closed day, again if need be; false when it is not closed in this zone. A session would keep plans that were made
-- while the rollups were empty, and read them whole for each day when they no longer are: it plans anew each time.
create or replace function roll_up_day(rolled date, in_zone text) returns boolean
language plpgsql
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  starts timestamptz;
  ends timestamptz;
begin
  perform take_turn_to_roll_up();
  select from_at, until_at into starts, ends from rollup_days where day = rolled and zone = in_zone;
  if not found then
    return false;
  end if;
  -- before anything is counted
  delete from rollup_changes where at >= starts and at < ends;

  delete from rollup_items where day = rolled;
  insert into rollup_items (item_id, day, partner_id, is_box, orders, gmv_minor, picked_up, weight_grams)
  select sold.item_id, rolled, sold.partner_id, sold.is_box, sold.orders, sold.gmv_minor, sold.picked_up,
         coalesce(b.weight_grams, m.weight_grams, 0)
  from (
    select coalesce(l.box_id, l.menu_item_id) as item_id, l.partner_id, l.box_id is not null as is_box, count(*) as orders,
           sum(line_due_minor(l.price_minor, l.qty, l.total_minor, l.amount_due_minor)) as gmv_minor,
           coalesce(sum(l.qty) filter (where l.status = 'COMPLETED'), 0) as picked_up
    from lines_that_count(starts, ends, null) l
    group by 1, 2, 3
  ) as sold
  left join boxes b on b.id = sold.item_id
  left join menu_items m on m.id = sold.item_id;

  delete from rollup_partners where day = rolled;
  insert into rollup_partners (partner_id, day, orders, gmv_minor, commission_minor, saved_grams)
  select parts.partner_id, rolled, sum(parts.orders), sum(parts.gmv_minor), sum(parts.commission_minor), sum(parts.saved_grams)
  from (
    select o.partner_id, count(*) as orders, sum(o.amount_due_minor) as gmv_minor, sum(o.commission_minor) as commission_minor,
           0 as saved_grams
    from orders_that_count(starts, ends, null) o
    group by o.partner_id
    union all
    select i.partner_id, 0, 0, 0, sum(i.picked_up * i.weight_grams)
    from rollup_items i
    where i.day = rolled
    group by i.partner_id
  ) as parts
  group by parts.partner_id
  having sum(parts.orders) > 0;

  delete from rollup_hours where day = rolled;
  insert into rollup_hours (day, hour, orders, listings)
  select rolled, counted.hour, sum(counted.orders), sum(counted.listings)
  from (
    select extract(hour from o.created_at at time zone in_zone)::integer as hour, count(*) as orders, 0 as listings
    from orders_that_count(starts, ends, null) o
    group by 1
    union all
    select extract(hour from b.created_at at time zone in_zone)::integer, 0, count(*)
    from boxes_listed(starts, ends, null) b
    group by 1
  ) as counted
  group by counted.hour;

  update rollup_days d
  set orders = total.orders, gmv_minor = total.gmv_minor, commission_minor = total.commission_minor,
      -- a change that came between may be in one sum and not in the other: what it noted has this day counted again
      saved_grams = total.saved_grams, rolled_up_at = clock_timestamp()
  from (
    select coalesce(sum(orders), 0) as orders, coalesce(sum(gmv_minor), 0) as gmv_minor,
           coalesce(sum(commission_minor), 0) as commission_minor, coalesce(sum(saved_grams), 0) as saved_grams
    from rollup_partners
    where day = rolled
  ) as total
  where d.day = rolled;
  return true;
end
$$;

-- Works changed weights of up to `most` things into the days on which these were picked up; answers of how many. It waits for
-- nobody but another rollup: a thing whose weight is being changed has its turn the next time.
create or replace function work_in_weights(most integer) returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  ids uuid[];
begin
  perform take_turn_to_roll_up();
  with due as (
    select item_id from weight_changes order by item_id limit most for update skip locked
  ), taken as (
    delete from weight_changes w using due where w.item_id = due.item_id returning w.item_id
  )
  select coalesce(array_agg(item_id), '{}') into ids from taken;
  -- a statement of its own: it sees the weights that belong to the notes
  with changed as (
    select r.item_id, r.day, r.partner_id, now.weight_grams, r.picked_up * (now.weight_grams - r.weight_grams) as more
    from (
      select id, coalesce(weight_grams, 0) as weight_grams from boxes where id = any (ids)
      union all
      select id, coalesce(weight_grams, 0) from menu_items where id = any (ids)
    ) as now
    join rollup_items r on r.item_id = now.id and r.weight_grams <> now.weight_grams
  ), items as (
    update rollup_items r set weight_grams = changed.weight_grams
    from changed
    where r.item_id = changed.item_id and r.day = changed.day
  ), partners as (
    update rollup_partners r set saved_grams = r.saved_grams + total.more
    from (select partner_id, day, sum(more) as more from changed group by partner_id, day) as total
    where r.partner_id = total.partner_id and r.day = total.day
  )
  update rollup_days d set saved_grams = d.saved_grams + total.more
  from (select day, sum(more) as more from changed group by day) as total
  where d.day = total.day;
  return cardinality(ids);
end
$$;

-- Of these days, the ones that have to be counted from orders and boxes: not rolled up as they are cut in this zone, or changed
-- since. It looks with the eyes of the statement that calls it ("stable"), so that the rest of that statement fits to it.
create or replace function live_days(in_zone text, first_day date, last_day date)
returns table (day date, from_at timestamptz, until_at timestamptz)
language plpgsql stable
rows 3
as $$
#variable_conflict use_column
begin
  return query
  select days.day, start_of_day(days.day, in_zone), start_of_day(days.day + 1, in_zone)
  from (
    select first_day + n as day from generate_series(0, last_day - first_day) as n
  ) as days
  left join rollup_days d on d.day = days.day and d.zone = in_zone and d.rolled_up_at is not null
  where d.day is null
    or exists (select from rollup_changes c where c.at >= d.from_at and c.at < d.until_at);
end
$$;

-- What was due for a line of an order, its share of the order's discount taken off; half a unit is rounded up.
create or replace function line_due_minor(price_minor bigint, qty integer, total_minor bigint, due_minor bigint) returns bigint
language sql immutable parallel safe
as $$
  select case
    when due_minor = total_minor then price_minor * qty
    else round(price_minor * qty * due_minor::numeric / total_minor)::bigint
  end
$$;
