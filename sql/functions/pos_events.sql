-- Ensures that a job drains a partner's inbox at `due_at` or before: `current_job` when it is open, brought forward if it is
-- due later, else a new one. `current_job` is from the inbox's row, which the caller has locked.
create or replace function schedule_inbox_run(of_partner uuid, current_job bigint, due_at timestamptz, caused_by text) returns void
language plpgsql
as $$
begin
  if bring_job_forward(current_job, due_at) then
    return;
  end if;
  -- an open job that is not brought forward is due by then, or handed over: it reads the inbox when it starts
  perform from open_jobs where id = current_job;
  if not found then
    update pos_inboxes
    set job_id = stage_job(
      'pos-events', jsonb_build_object('partnerId', of_partner), caused_by, due_at, open_key => of_partner::text
    )
    where partner_id = of_partner;
  end if;
end
$$;

-- Locks a partner's inbox, which the first event creates; returns the id of its job, if any.
create or replace function lock_pos_inbox(of_partner uuid) returns bigint
language plpgsql
as $$
declare
  current_job bigint;
begin
  select job_id into current_job from pos_inboxes where partner_id = of_partner for update;
  if not found then
    insert into pos_inboxes (partner_id) values (of_partner) on conflict do nothing;
    select job_id into current_job from pos_inboxes where partner_id = of_partner for update;
  end if;
  return current_job;
end
$$;

-- Inserts the events that are new, each for the partner at the same index, and schedules jobs for the inboxes of these and of
-- known events that are still queued, because their job may be dead. One call is one statement: events and jobs are written
-- together. Returns the number of new events.
create or replace function receive_pos_events(
  of_provider text, partner_ids uuid[], accounts text[], event_ids text[], changes jsonb, caused_by text
) returns integer
language plpgsql
as $$
declare
  of_partner uuid;
  current_job bigint;
  added integer := 0;
  added_to_inbox integer;
  next_due_at timestamptz;
begin
  for of_partner in select distinct partner_id from unnest(partner_ids) as partner_id order by partner_id loop
    current_job := lock_pos_inbox(of_partner);
    insert into pos_events (partner_id, provider, account, event_id, change, request_id)
    select of_partner, of_provider, given.account, given.event_id, changes -> (given.n - 1)::integer, caused_by
    from unnest(partner_ids, accounts, event_ids) with ordinality as given (partner_id, account, event_id, n)
    where given.partner_id = of_partner
    order by given.n
    on conflict (partner_id, provider, event_id) do nothing;
    get diagnostics added_to_inbox = row_count;
    added := added + added_to_inbox;
    if added_to_inbox > 0 or exists (
      select from pos_events known
      where known.partner_id = of_partner and known.provider = of_provider and known.status = 'QUEUED' and known.event_id = any (event_ids)
    ) then
      -- the inbox is ordered: while its first event waits for a retry, the others wait behind it
      select next_attempt_at into next_due_at from pos_events where partner_id = of_partner and status = 'QUEUED' order by id limit 1;
      perform schedule_inbox_run(of_partner, current_job, greatest(next_due_at, now()), caused_by);
    end if;
  end loop;
  return added;
end
$$;

-- Schedules jobs for up to `max_inboxes` stalled inboxes: their first event has been due for a minute and no job is open,
-- because the last one died. Returns their number.
create or replace function reschedule_stalled_inboxes(max_inboxes integer) returns integer
language plpgsql
as $$
declare
  of_partner uuid;
  rescheduled integer := 0;
begin
  for of_partner in
    with recursive first_events as (
      (
        select partner_id, next_attempt_at from pos_events where status = 'QUEUED' order by partner_id, id limit 1
      )
      union all
      -- one index look-up per partner, however many events are queued
      select following.partner_id, following.next_attempt_at
      from first_events
      cross join lateral (
        select e.partner_id, e.next_attempt_at from pos_events e
        where e.status = 'QUEUED' and e.partner_id > first_events.partner_id
        order by e.partner_id, e.id
        limit 1
      ) as following
    )
    select partner_id from first_events
    where next_attempt_at < now() - interval '1 minute'
      and not exists (select from open_jobs j where j.queue = 'pos-events' and j.key = first_events.partner_id::text)
    order by partner_id
    limit max_inboxes
  loop
    perform schedule_inbox_run(of_partner, lock_pos_inbox(of_partner), now(), null);
    rescheduled := rescheduled + 1;
  end loop;
  return rescheduled;
end
$$;
