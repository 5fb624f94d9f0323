-- Analytics of past days, computed once (a rollup) and again when something in them changes. A report sums the days that
-- are rolled up and counts the other days (live_days) from orders and boxes, in one statement. It is exact because every
-- snapshot keeps this promise:
--
--   A rolled-up day without a note in rollup_changes has the figures that counting its orders and boxes gives.
--
-- 1. Whatever changes a figure inserts a note of its moment in the same transaction, so both become visible together.
-- 2. A rollup deletes the notes of its day first and counts in later statements, whose snapshots see at least as much.
--    A change is either committed before the notes are deleted, and counted; or its note stays, and the day is live
--    until it is rolled up again.
--
-- Orders and rollups never wait for each other, and no clock matters: an order placed just before midnight may commit
-- long after its day was rolled up.

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

-- Notes that a day's figures change. One row per change, never an update of a shared one: orders must not queue for it.
create or replace function note_rollup_change() returns trigger
language plpgsql
as $$
begin
  insert into rollup_changes (at) values (new.created_at);
  return null;
end
$$;

-- Notes that an item weighs something else. Saved food is counted with today's weights, on past days too: reports add the
-- difference for items noted here until apply_weight_changes adds it to the rollups. An existing note is updated for its lock:
-- apply_weight_changes must not delete it before this change is committed.
create or replace function note_weight_change() returns trigger
language plpgsql
as $$
begin
  insert into weight_changes (item_id) values (new.id)
  on conflict (item_id) do update set changed_at = excluded.changed_at;
  return null;
end
$$;

-- Rolls up a day as it is cut in a zone, in place of its last rollup and of days of another zone that overlap it. Two
-- rollups never run at once, because each replaces rows that the other one may read.
create or replace function roll_up(rolled date, in_zone text) returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  starts constant timestamptz := start_of_day(rolled, in_zone);
  ends constant timestamptz := start_of_day(rolled + 1, in_zone);
  replaced date[];
begin
  perform pg_advisory_xact_lock(7306029);
  -- a statement of its own before anything is counted: see above
  delete from rollup_changes where at >= starts and at < ends;

  with deleted as (
    delete from rollup_days where day = rolled or (until_at > starts and from_at < ends) returning day
  )
  select array_agg(day) into replaced from deleted;
  delete from rollup_items where day = any (replaced);
  delete from rollup_partners where day = any (replaced);
  delete from rollup_hours where day = any (replaced);

  insert into rollup_items (item_id, day, partner_id, is_box, orders, gmv_minor, picked_up, weight_grams)
  select sold.item_id, rolled, sold.partner_id, sold.is_box, sold.orders, sold.gmv_minor, sold.picked_up,
         coalesce(b.weight_grams, m.weight_grams, 0)
  from (
    select coalesce(l.box_id, l.menu_item_id) as item_id, l.partner_id, l.box_id is not null as is_box, count(*) as orders,
           sum(line_due_minor(l.price_minor, l.qty, l.total_minor, l.amount_due_minor)) as gmv_minor,
           coalesce(sum(l.qty) filter (where l.status = 'COMPLETED'), 0) as picked_up
    from uncancelled_lines(starts, ends, null) l
    group by 1, 2, 3
  ) as sold
  left join boxes b on b.id = sold.item_id
  left join menu_items m on m.id = sold.item_id;

  insert into rollup_partners (partner_id, day, orders, gmv_minor, commission_minor, saved_grams)
  select parts.partner_id, rolled, sum(parts.orders), sum(parts.gmv_minor), sum(parts.commission_minor), sum(parts.saved_grams)
  from (
    select o.partner_id, count(*) as orders, sum(o.amount_due_minor) as gmv_minor, sum(o.commission_minor) as commission_minor,
           0 as saved_grams
    from uncancelled_orders(starts, ends, null) o
    group by o.partner_id
    union all
    select i.partner_id, 0, 0, 0, sum(i.picked_up * i.weight_grams)
    from rollup_items i
    where i.day = rolled
    group by i.partner_id
  ) as parts
  group by parts.partner_id
  having sum(parts.orders) > 0;

  insert into rollup_hours (day, hour, orders, listings)
  select rolled, counted.hour, sum(counted.orders), sum(counted.listings)
  from (
    select extract(hour from o.created_at at time zone in_zone)::integer as hour, count(*) as orders, 0 as listings
    from uncancelled_orders(starts, ends, null) o
    group by 1
    union all
    select extract(hour from b.created_at at time zone in_zone)::integer, 0, count(*)
    from listed_boxes(starts, ends, null) b
    group by 1
  ) as counted
  group by counted.hour;

  -- a change that commits between two of these statements is in one sum and not in another: its note has the day done again
  insert into rollup_days (
    day, zone, from_at, until_at, rolled_up_at, orders, gmv_minor, commission_minor, saved_grams
  )
  select rolled, in_zone, starts, ends, clock_timestamp(), coalesce(sum(orders), 0), coalesce(sum(gmv_minor), 0),
         coalesce(sum(commission_minor), 0), coalesce(sum(saved_grams), 0)
  from rollup_partners
  where day = rolled;
end
$$;

-- Adds the changed weights of up to `most` items to the rolled-up days on which these were picked up; returns how many items.
-- An item whose weight is being changed right now is skipped until the next call.
create or replace function apply_weight_changes(most integer) returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  ids uuid[];
begin
  perform pg_advisory_xact_lock(7306029);
  with due as (
    select item_id from weight_changes order by item_id limit most for update skip locked
  ), taken as (
    delete from weight_changes w using due where w.item_id = due.item_id returning w.item_id
  )
  select coalesce(array_agg(item_id), '{}') into ids from taken;
  -- a later statement sees the weights that belong to the notes
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

-- The days of a range that must be counted from orders and boxes: not rolled up as they are cut in this zone, or changed since.
-- Being stable it reads the snapshot of the calling statement, so it agrees with the rest of that statement.
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

-- The amount due for a line of an order: its price less its share of the order's discount, half a unit rounded up.
create or replace function line_due_minor(price_minor bigint, qty integer, total_minor bigint, due_minor bigint) returns bigint
language sql immutable parallel safe
as $$
  select case
    when due_minor = total_minor then price_minor * qty
    else round(price_minor * qty * due_minor::numeric / total_minor)::bigint
  end
$$;
