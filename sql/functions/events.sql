-- The event log. Writers insert into `new_events`; readers see `events`. lib/domain/event-types.ts declares the types.

-- Returns the number of positions per day. A position begins with the number of its day, so this must never change.
create or replace function positions_a_day() returns bigint
language sql immutable parallel safe
as $$
  select 100000000000
$$;

-- Inserts an event in the caller's transaction; returns its place among the new ones. `of_partner` is null for the platform's
-- own events. It signals no worker, because some statements write thousands of events: the jobs that the change stages do, or
-- number_events polls within a second.
create or replace function record_event(event_type text, of_partner uuid, facts jsonb) returns bigint
language plpgsql
as $$
declare
  place bigint;
begin
  insert into new_events (type, partner_id, data) values (event_type, of_partner, facts) returning written into place;
  return place;
end
$$;

-- Returns an instant as the API writes it.
create or replace function utc_text(at timestamptz) returns text
language sql stable
as $$
  select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- Returns the facts of a box that receivers may know.
create or replace function box_facts(b boxes) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'boxId', b.id, 'quantityAvailable', b.quantity_available, 'priceCents', b.price_minor,
    'pickupWindowStart', utc_text(b.pickup_window_start), 'pickupWindowEnd', utc_text(b.pickup_window_end),
    'hidden', b.hidden_at is not null
  )
$$;

-- Returns the facts of a menu item that receivers may know.
create or replace function menu_item_facts(item menu_items) returns jsonb
language sql stable
as $$
  select jsonb_build_object('menuItemId', item.id, 'priceCents', item.price_minor, 'available', item.available)
$$;

-- Trigger: records the event of a changed row. The conditions are on the triggers (migrations/015.do.events.sql).
create or replace function note_event() returns trigger
language plpgsql
as $$
begin
  if tg_table_name = 'boxes' then
    if tg_name = 'note_event_of_change' then
      if
        (old.title, old.description, old.price_minor, old.original_price_minor, old.weight_grams, old.max_per_customer,
         old.quantity_available, old.pickup_window_start, old.pickup_window_end, old.image, old.hidden_at is null)
        is distinct from
        (new.title, new.description, new.price_minor, new.original_price_minor, new.weight_grams, new.max_per_customer,
         new.quantity_available, new.pickup_window_start, new.pickup_window_end, new.image, new.hidden_at is null)
      then
        perform record_event('box.changed', new.partner_id, box_facts(new));
      end if;
    elsif new.status = 'EXPIRED' then
      perform record_event('box.expired', new.partner_id, box_facts(new));
    elsif new.status = 'SOLD_OUT' then
      perform record_event('box.sold_out', new.partner_id, box_facts(new));
    elsif old.status = 'SOLD_OUT' then
      perform record_event('box.back', new.partner_id, box_facts(new));
    end if;
  elsif tg_table_name = 'menu_imports' then
    perform record_event('menu_import.finished', new.partner_id, jsonb_build_object(
      'importId', new.id, 'status', new.status,
      'rowsCreated', new.rows_created, 'rowsUpdated', new.rows_updated, 'rowsFailed', new.rows_failed
    ));
  elsif tg_table_name = 'pos_syncs' then
    perform record_event('pos_sync.finished', new.partner_id, jsonb_build_object(
      'syncId', new.id, 'status', new.status, 'failure', new.failure, 'itemsSynced', new.items_synced,
      'itemsFailed', new.items_failed, 'itemsArchived', new.items_archived
    ));
  elsif tg_table_name = 'partners' then
    perform record_event(
      case new.status
        when 'PENDING_REVIEW' then 'partner.registered'
        when 'ACTIVE' then 'partner.approved'
        when 'REJECTED' then 'partner.rejected'
        when 'SUSPENDED' then 'partner.suspended'
      end,
      new.id, jsonb_build_object('status', new.status, 'from', old.status)
    );
  elsif tg_table_name = 'reviews' then
    perform record_event('review.moderated', new.partner_id, jsonb_build_object(
      'reviewId', new.id, 'orderId', new.order_id, 'rating', new.rating, 'status', new.status
    ));
  elsif tg_table_name = 'ad_campaigns' then
    perform record_event('campaign.completed', null, jsonb_build_object('campaignId', new.id));
  elsif tg_table_name = 'files' then
    perform record_event(
      'file.ready', null, jsonb_build_object('fileId', new.id, 'userId', new.user_id, 'contentType', new.content_type)
    );
  elsif tg_table_name = 'users' then
    perform record_event('account.deleted', null, jsonb_build_object('userId', new.id));
  end if;
  return null;
end
$$;

-- Trigger: records the events of changed menu items, once per statement: imports change thousands of rows, and a call per
-- row costs more than the change. Its plans are cached, and estimate the rows of the first statement. Without the setting,
-- a first statement of a single row would make a later one compare thousands of rows with each other.
create or replace function note_events_of_menu() returns trigger
language plpgsql
set enable_nestloop = off
as $$
begin
  insert into new_events (type, partner_id, data)
  select
    case when item.archived_at is not null and previous.archived_at is null then 'menu_item.archived' else 'menu_item.changed' end,
    item.partner_id,
    jsonb_build_object('menuItemId', item.id, 'priceCents', item.price_minor, 'available', item.available)
  from changed item
  join before previous using (id)
  where
    (previous.category_id, previous.name, previous.description, previous.price_minor, previous.weight_grams, previous.available, previous.archived_at is null)
    is distinct from
    (item.category_id, item.name, item.description, item.price_minor, item.weight_grams, item.available, item.archived_at is null);
  return null;
end
$$;

-- Returns the identity of this server and its timeline: a promoted one may lack positions that readers have seen. Empty
-- where the server does not report it.
create or replace function this_server() returns text
language plpgsql stable
as $$
begin
  return (select system_identifier || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8) from pg_control_system());
exception
  when feature_not_supported or insufficient_privilege or undefined_function then
    return '';
end
$$;

-- Creates the partition of a day. Attaching a table, unlike creating a partition, neither waits for readers nor blocks them.
create or replace function add_event_partition(of_day date) returns void
language plpgsql
as $$
declare
  name constant text := 'events_' || to_char(of_day, 'YYYYMMDD');
  starts constant bigint := (of_day - date '1970-01-01') * positions_a_day();
begin
  execute format('create table %I (like events including all)', name);
  execute format('alter table events attach partition %I for values from (%s) to (%s)', name, starts, starts + positions_a_day());
end
$$;

-- Assigns positions to up to `most` new events, signals readers, and schedules webhooks; returns the number of events. The
-- lock on event_log serialises batches, and a batch becomes visible at once: when a position is visible, all lower ones are
-- too.
create or replace function number_events(most integer) returns integer
language plpgsql
as $$
declare
  log event_log;
  here text;
  of_day date;
  base bigint;
  numbered integer;
begin
  if not exists (select from new_events) then
    return 0;
  end if;
  select * into log from event_log for no key update;
  here := this_server();
  -- after a clock was set back, positions stay in the later day
  of_day := greatest(
    (statement_timestamp() at time zone 'UTC')::date, date '1970-01-01' + (log.last_position / positions_a_day())::integer
  );
  base := greatest(log.last_position, (of_day - date '1970-01-01') * positions_a_day());
  -- a failover or a restore may lose positions that readers have seen: skip ahead, so that none repeats
  if log.server <> here then
    base := base + 1000000000;
  end if;
  -- by a query, because to_regclass would miss a partition that another session created while this one waited for the lock
  if not exists (
    select
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'events'::regclass and c.relname = 'events_' || to_char(of_day, 'YYYYMMDD')
  ) then
    perform add_event_partition(of_day);
  end if;

  with taken as (
    delete from new_events
    where written = any (array(select n.written from new_events n order by n.written limit most))
    returning written, id, type, version, partner_id, at, data
  ), kept as (
    insert into events (position, id, type, version, partner_id, at, data)
    select base + row_number() over (order by written), id, type, version, partner_id, at, data from taken
  )
  select count(*) into numbered from taken;
  if numbered > 0 then
    update event_log set last_position = base + numbered, server = here;
    perform announce_events(base, base + numbered);
    -- the lock of notify serialises only these commits, which are serial anyway
    perform pg_notify('signals', 'events');
  end if;
  return numbered;
end
$$;

-- Drops the partitions of days before the last `days`; returns their number. It waits only briefly for readers, because
-- later ones queue behind it; the next run tries again.
create or replace function drop_old_events(days integer) returns integer
language plpgsql
set lock_timeout = '200ms'
as $$
declare
  oldest constant text := 'events_' || to_char((now() at time zone 'UTC')::date - days, 'YYYYMMDD');
  name text;
  highest bigint;
  dropped integer := 0;
begin
  -- in the lock order of number_events
  perform from event_log for no key update;
  for name in
    select c.relname
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'events'::regclass and c.relname < oldest
    order by c.relname
  loop
    execute format('select max(position) from %I', name) into highest;
    execute format('drop table %I', name);
    update event_log set dropped_position = greatest(dropped_position, highest);
    dropped := dropped + 1;
  end loop;
  return dropped;
end
$$;
