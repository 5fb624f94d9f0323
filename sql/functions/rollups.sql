-- Rollups: the analytics of past days, computed once and again when a day's data changes. A report, in one statement, sums
-- the rolled-up days and counts the other days (live_days) from orders and boxes. It is exact because of one invariant that
-- holds in every snapshot:
--
--   A rolled-up day without a row in rollup_changes has the same figures as a fresh count of its orders and boxes.
--
-- 1. A transaction that changes a figure also inserts a row into rollup_changes, so both become visible together.
-- 2. A rollup deletes the change rows of its day first and counts in later statements, whose snapshots see at least as much.
--    A change either committed before that delete, and is counted; or its row remains, and the day is live until the next
--    rollup.
--
-- Orders and rollups never wait for each other, and no clock matters: an order placed just before midnight may commit
-- long after its day was rolled up.

-- Returns the first instant of a day in a zone: midnight, the first of two midnights, or where clocks skip midnight the instant
-- after the skip.
create or replace function start_of_day(day date, zone text) returns timestamptz
language plpgsql immutable parallel safe
as $$
declare
  midnight constant timestamptz := day::timestamp at time zone zone;
  -- midnight by the UTC offset of the day before
  day_before constant timestamptz := midnight - interval '1 day';
  earlier constant timestamptz := (
    day::timestamp - (day_before at time zone zone - day_before at time zone 'UTC')
  ) at time zone 'UTC';
begin
  return case when earlier at time zone zone = day::timestamp then least(earlier, midnight) else midnight end;
end
$$;

-- Trigger: records that a day's figures change. It inserts a row per change and never updates a shared row, because
-- concurrent orders would wait for its lock.
create or replace function note_rollup_change() returns trigger
language plpgsql
as $$
begin
  insert into rollup_changes (at) values (new.created_at);
  return null;
end
$$;

-- Trigger: records that an item's weight changed. Saved food is counted with current weights, on past days too: reports add the
-- difference for the recorded items until apply_weight_changes adds it to the rollups. An existing row is updated for its lock:
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

-- Rolls up a day in a zone. Replaces its last rollup, and the rollups of days in other zones that overlap it. Rollups run one
-- at a time, because each replaces rows that another may read.
create or replace function roll_up(of_day date, in_zone text) returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  starts constant timestamptz := start_of_day(of_day, in_zone);
  ends constant timestamptz := start_of_day(of_day + 1, in_zone);
  replaced date[];
begin
  perform pg_advisory_xact_lock(7306029);
  -- a separate statement before all counts: see the head of this file
  delete from rollup_changes where at >= starts and at < ends;

  with deleted as (
    delete from rollup_days where day = of_day or (until_at > starts and from_at < ends) returning day
  )
  select array_agg(day) into replaced from deleted;
  delete from rollup_items where day = any (replaced);
  delete from rollup_partners where day = any (replaced);
  delete from rollup_hours where day = any (replaced);

  insert into rollup_items (item_id, day, partner_id, is_box, orders, gmv_minor, picked_up, weight_grams)
  select sold.item_id, of_day, sold.partner_id, sold.is_box, sold.orders, sold.gmv_minor, sold.picked_up,
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
  select parts.partner_id, of_day, sum(parts.orders), sum(parts.gmv_minor), sum(parts.commission_minor), sum(parts.saved_grams)
  from (
    select o.partner_id, count(*) as orders, sum(o.amount_due_minor) as gmv_minor, sum(o.commission_minor) as commission_minor,
           0 as saved_grams
    from uncancelled_orders(starts, ends, null) o
    group by o.partner_id
    union all
    select i.partner_id, 0, 0, 0, sum(i.picked_up * i.weight_grams)
    from rollup_items i
    where i.day = of_day
    group by i.partner_id
  ) as parts
  group by parts.partner_id
  having sum(parts.orders) > 0;

  insert into rollup_hours (day, hour, orders, listings)
  select of_day, counted.hour, sum(counted.orders), sum(counted.listings)
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

  -- a change that commits between these statements is in some sums only; its row in rollup_changes causes another rollup
  insert into rollup_days (
    day, zone, from_at, until_at, rolled_up_at, orders, gmv_minor, commission_minor, saved_grams
  )
  select of_day, in_zone, starts, ends, clock_timestamp(), coalesce(sum(orders), 0), coalesce(sum(gmv_minor), 0),
         coalesce(sum(commission_minor), 0), coalesce(sum(saved_grams), 0)
  from rollup_partners
  where day = of_day;
end
$$;

-- Applies the weight changes of up to `max_items` items to the rolled-up days on which they were picked up; returns the number
-- of items. Skips an item whose weight another transaction is changing; the next call takes it.
create or replace function apply_weight_changes(max_items integer) returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  ids uuid[];
begin
  perform pg_advisory_xact_lock(7306029);
  with due as (
    select item_id from weight_changes order by item_id limit max_items for update skip locked
  ), claimed as (
    delete from weight_changes w using due where w.item_id = due.item_id returning w.item_id
  )
  select coalesce(array_agg(item_id), '{}') into ids from claimed;
  -- a later statement, so that its snapshot has the weights that those rows announced
  with changed as (
    select r.item_id, r.day, r.partner_id, now.weight_grams, r.picked_up * (now.weight_grams - r.weight_grams) as added_grams
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
    update rollup_partners r set saved_grams = r.saved_grams + total.added_grams
    from (select partner_id, day, sum(added_grams) as added_grams from changed group by partner_id, day) as total
    where r.partner_id = total.partner_id and r.day = total.day
  )
  update rollup_days d set saved_grams = d.saved_grams + total.added_grams
  from (select day, sum(added_grams) as added_grams from changed group by day) as total
  where d.day = total.day;
  return cardinality(ids);
end
$$;

-- Returns the days of a range that must be counted from orders and boxes: not rolled up in this zone, or changed since. It is
-- stable, so it reads the snapshot of the calling statement and agrees with the rest of that statement.
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

-- Returns the amount due for an order line: its price less its share of the order's discount, half a unit rounded up.
create or replace function line_due_minor(price_minor bigint, qty integer, total_minor bigint, due_minor bigint) returns bigint
language sql immutable parallel safe
as $$
  select case
    when due_minor = total_minor then price_minor * qty
    else round(price_minor * qty * due_minor::numeric / total_minor)::bigint
  end
$$;
