-- The first moment after `after` when a partner's menu is pulled by schedule: every 6 hours, at a time of the partner's own.
create or replace function next_pos_sync(of_partner uuid, after timestamptz) returns timestamptz
language sql stable parallel safe
as $$
  select to_timestamp((floor((extract(epoch from after) - phase) / period) + 1) * period + phase)
  from (
    select 6 * 3600 as period, (hashtextextended(of_partner::text, 0) & 9223372036854775807) % (6 * 3600) as phase
  ) as rhythm
$$;

-- Makes a sync with its job. The partner must have none that is open.
create or replace function insert_pos_sync(of_partner uuid, due_at timestamptz, nth_try integer, caused_by text) returns uuid
language sql
as $$
  insert into pos_syncs (id, partner_id, start_at, try, job_id)
  select id, of_partner, due_at, nth_try, stage_job('pos-sync', jsonb_build_object('syncId', id), caused_by, due_at)
  from (select new_id() as id) as sync
  returning id
$$;

-- How long a sync waits that nobody waits for: a POS that tells of one change often tells of more.
create or replace function pos_sync_delay() returns interval
language sql immutable parallel safe
as $$ select interval '3 seconds' $$;

-- Asks for a sync of a partner's menu and answers its id; null when the partner has no POS, or is suspended or rejected: nobody
-- sees its menu then, and no POS is called for it. Whoever asks joins the one that
-- is open, if there is: a person has it start at once, where it waits; what the POS tells while it runs (`by_user` is
-- false) has another one follow.
create or replace function request_pos_sync(of_partner uuid, by_user boolean, caused_by text) returns uuid
language plpgsql
as $$
declare
  pending pos_syncs;
begin
  -- those who ask for the same partner take turns
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

-- Settles an open sync, if its last start is `of_run` (null: whichever it is), and has another one follow: at `retry_at`
-- when that is given, else when something changed in the meantime, at once where that were the credentials; none where the
-- partner is suspended or rejected by now. False when there was nothing to settle.
create or replace function settle_pos_sync(
  settled uuid, of_run integer, outcome pos_sync_status, of_failure pos_sync_failure, told text, retry_at timestamptz, caused_by text
) returns boolean
language plpgsql
as $$
declare
  sync pos_syncs;
begin
  perform from pos_credentials c join pos_syncs s using (partner_id) where s.id = settled for no key update of c;
  update pos_syncs
  set status = outcome, failure = of_failure, reason = told, settled_at = now()
  where id = settled and settled_at is null and (of_run is null or run = of_run)
  returning * into sync;
  if not found then
    return false;
  end if;
  perform from partners where id = sync.partner_id and status in ('PENDING_REVIEW', 'ACTIVE');
  if not found then
    null;
  elsif retry_at is not null then
    perform insert_pos_sync(sync.partner_id, retry_at, sync.try + 1, caused_by);
  elsif sync.again then
    perform insert_pos_sync(
      sync.partner_id, case when of_failure = 'REPLACED' then now() else now() + pos_sync_delay() end, 1, caused_by
    );
  end if;
  perform pg_notify('signals', 'pos-sync ' || settled);
  return true;
end
$$;
