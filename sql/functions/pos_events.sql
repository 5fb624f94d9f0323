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

-- Inserts the events that are new, each for the partner at the same index, and schedules jobs for inboxes that have queued events
-- but no open job. Behind the id of a request is its span (`withTrace`). One call is one statement: events and jobs are written together. Returns the inboxes with the number of their
-- new events. Unless `waits`, inboxes that another transaction has locked, or that the first event has yet to create, are left out.
create or replace function receive_pos_events(
  waits boolean, providers text[], partner_ids uuid[], accounts text[], event_ids text[], changes jsonb, request_ids text[]
) returns table (inbox uuid, added bigint)
language plpgsql
as $$
declare
  inboxes uuid[];
  of_partner uuid;
  current_job bigint;
  next_due_at timestamptz;
begin
  if waits then
    inboxes := array(select distinct partner_id from unnest(partner_ids) as partner_id order by partner_id);
    foreach of_partner in array inboxes loop
      perform lock_pos_inbox(of_partner);
    end loop;
  else
    inboxes := array(select i.partner_id from pos_inboxes i where i.partner_id = any (partner_ids) for no key update skip locked);
  end if;

  return query
    with inserted as (
      insert into pos_events (partner_id, provider, account, event_id, change, request_id, traceparent)
      select given.partner_id, given.provider, given.account, given.event_id, given.change,
             split_part(given.cause, ' ', 1), nullif(split_part(given.cause, ' ', 2), '')
      from rows from (unnest(partner_ids, providers, accounts, event_ids, request_ids), jsonb_array_elements(changes))
        with ordinality as given (partner_id, provider, account, event_id, cause, change, n)
      where given.partner_id = any (inboxes)
      order by given.n
      on conflict (partner_id, provider, account, event_id) do nothing
      returning partner_id
    )
    select i, (select count(*) from inserted where inserted.partner_id = i) from unnest(inboxes) as i;

  for of_partner, current_job in
    select i.partner_id, i.job_id
    from pos_inboxes i
    where i.partner_id = any (inboxes) and not is_job_due(i.job_id)
  loop
    -- the inbox is ordered: while its first event waits for a retry, the others wait behind it
    select next_attempt_at into next_due_at
    from pos_events
    where partner_id = of_partner and status = 'QUEUED'
    order by partner_id, id
    limit 1;
    if found then
      perform schedule_inbox_run(
        of_partner, current_job, greatest(next_due_at, now()), request_ids[array_position(partner_ids, of_partner)]
      );
    end if;
  end loop;
end
$$;

-- Whether an operator means this parked event; null leaves a condition out.
create or replace function is_event_meant(
  event pos_events, of_partner uuid, error_part text, received_from timestamptz, received_before timestamptz, min_attempts integer
) returns boolean
language sql immutable
as $$
  select (of_partner is null or event.partner_id = of_partner)
    and (error_part is null or strpos(lower(event.last_error), lower(error_part)) > 0)
    and (received_from is null or event.received_at >= received_from)
    and (received_before is null or event.received_at < received_before)
    and (min_attempts is null or event.attempts >= min_attempts)
$$;

-- Replays or dismisses up to `most` parked events, the oldest first: these, and of this partner (null: any). A replayed event is
-- queued again, with all its attempts; a dismissed one is processed without effect, with a remark. Returns their number.
create or replace function settle_parked_events(
  kind bulk_action_kind, event_ids bigint[], of_partner uuid, remark text, caused_by text, most integer
) returns integer
language plpgsql
as $$
declare
  chosen bigint[];
  inbox uuid;
begin
  chosen := array(
    select id
    from pos_events
    where status = 'PARKED' and (event_ids is null or id = any (event_ids)) and (of_partner is null or partner_id = of_partner)
    order by id
    limit most
    for update
  );
  if kind = 'DISMISS' then
    update pos_events
    set status = 'PROCESSED', settled_at = now(), last_error = remark
    where id = any (chosen);
    perform complete_job(job_id) from pos_events where id = any (chosen) and job_id is not null;
    return cardinality(chosen);
  end if;
  update pos_events
  set status = 'QUEUED', settled_at = null, attempts = 0, next_attempt_at = now()
  where id = any (chosen);
  for inbox in select distinct partner_id from pos_events where id = any (chosen) order by partner_id loop
    perform schedule_inbox_run(inbox, lock_pos_inbox(inbox), now(), caused_by);
  end loop;
  return cardinality(chosen);
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
