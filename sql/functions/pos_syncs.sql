-- Returns a partner's first scheduled sync time after `after`: every 6 hours, with a phase per partner that spreads the load.
create or replace function next_pos_sync(of_partner uuid, after timestamptz) returns timestamptz
language sql stable parallel safe
as $$
  select to_timestamp((floor((extract(epoch from after) - phase) / period) + 1) * period + phase)
  from (
    select 6 * 3600 as period, (hashtextextended(of_partner::text, 0) & 9223372036854775807) % (6 * 3600) as phase
  ) as rhythm
$$;

-- Inserts a sync with its job; returns its id. The partner must have no open sync.
create or replace function insert_pos_sync(of_partner uuid, due_at timestamptz, attempt_number integer, caused_by text) returns uuid
language sql
as $$
  insert into pos_syncs (id, partner_id, start_at, attempt, job_id)
  select id, of_partner, due_at, attempt_number, stage_job('pos-sync', jsonb_build_object('syncId', id), caused_by, due_at)
  from (select new_id() as id) as sync
  returning id
$$;

-- Returns how long a sync waits that no user waits for: a POS often reports several changes in a row, and one sync serves all.
create or replace function pos_sync_delay() returns interval
language sql immutable parallel safe
as $$ select interval '3 seconds' $$;

-- Requests a sync of a partner's menu; returns its id. It is the partner's open sync, if there is one: a request by a user
-- (`by_user`) starts it at once if it waits, and a request by the POS while it runs makes another sync follow. Returns null
-- when the partner has no POS, or is suspended or rejected: its menu is not visible then, so its POS is not called.
create or replace function request_pos_sync(of_partner uuid, by_user boolean, caused_by text) returns uuid
language plpgsql
as $$
declare
  pending pos_syncs;
begin
  -- serializes requests for the same partner
  perform from pos_credentials c
  join partners p on p.id = c.partner_id and p.status in ('PENDING_REVIEW', 'ACTIVE')
  where c.partner_id = of_partner
  for no key update of c;
  if not found then
    return null;
  end if;
  select * into pending from pos_syncs where partner_id = of_partner and settled_at is null for no key update;
  if not found then
    return insert_pos_sync(of_partner, case when by_user then now() else now() + pos_sync_delay() end, 1, caused_by);
  end if;
  if pending.status = 'RUNNING' and not by_user then
    update pos_syncs set again = true where id = pending.id and not again;
  elsif pending.status = 'QUEUED' and by_user and pending.start_at > now() then
    update pos_syncs set start_at = now() where id = pending.id;
    perform bring_job_forward(pending.job_id);
  end if;
  return pending.id;
end
$$;

-- Settles an open sync whose last start is `of_run` (null: any), and inserts the next sync if there is to be one: at `retry_at`
-- when given, else if changes came in meanwhile, at once when these were new credentials. There is no next sync for a
-- partner that is suspended or rejected. Returns false when there was nothing to settle.
create or replace function settle_pos_sync(
  of_sync uuid, of_run integer, new_status pos_sync_status, new_failure pos_sync_failure, new_reason text, retry_at timestamptz,
  caused_by text
) returns boolean
language plpgsql
as $$
declare
  sync pos_syncs;
begin
  perform from pos_credentials c join pos_syncs s using (partner_id) where s.id = of_sync for no key update of c;
  update pos_syncs
  set status = new_status, failure = new_failure, reason = new_reason, settled_at = now()
  where id = of_sync and settled_at is null and (of_run is null or run = of_run)
  returning * into sync;
  if not found then
    return false;
  end if;
  perform from partners where id = sync.partner_id and status in ('PENDING_REVIEW', 'ACTIVE');
  if not found then
    null;
  elsif retry_at is not null then
    perform insert_pos_sync(sync.partner_id, retry_at, sync.attempt + 1, caused_by);
  elsif sync.again then
    perform insert_pos_sync(
      sync.partner_id, case when new_failure = 'REPLACED' then now() else now() + pos_sync_delay() end, 1, caused_by
    );
  end if;
  perform pg_notify('signals', 'pos-sync ' || of_sync);
  return true;
end
$$;
