-- Ensures that a job for an endpoint is due at `due_at` or earlier, but not while the endpoint is paused or stopped. An endpoint without
-- a job and without a run has all events up to `begins_after`, if that is given: its position moves there, so that the next run does
-- not scan events of others.
create or replace function schedule_webhooks(of_endpoint uuid, due_at timestamptz, begins_after bigint default null) returns void
language plpgsql
as $$
declare
  endpoint webhook_endpoints;
begin
  select * into endpoint from webhook_endpoints where id = of_endpoint for no key update;
  if not found or endpoint.stopped_at is not null then
    return;
  end if;
  due_at := greatest(due_at, endpoint.paused_until);
  if bring_job_forward(endpoint.job_id, due_at) then
    return;
  end if;
  -- an open job that this does not bring forward is due by then, or handed over: it reads events when it starts
  perform from open_jobs where id = endpoint.job_id;
  if not found then
    update webhook_endpoints
    set job_id = stage_job(
          'webhooks', jsonb_build_object('endpointId', of_endpoint), null, due_at, open_key => of_endpoint::text
        ),
        position = case when job_id is null and claim is null then greatest(position, begins_after) else position end
    where id = of_endpoint;
  end if;
end
$$;

-- Schedules a job for each endpoint that matches an event after one position, up to another.
create or replace function announce_events(after_position bigint, until_position bigint) returns void
language plpgsql
as $$
begin
  if not exists (select from webhook_endpoints where stopped_at is null) then
    return;
  end if;
  perform schedule_webhooks(concerned.id, now(), after_position)
  from (
    with batch as materialized (
      select distinct partner_id, type from events where position > after_position and position <= until_position
    )
    select w.id
    from batch
    join webhook_endpoints w on w.partner_id = batch.partner_id
    where w.stopped_at is null and (w.types is null or batch.type = any (w.types))
    union
    select w.id
    from webhook_endpoints w
    where w.partner_id is null and w.stopped_at is null
      and exists (select from batch where w.types is null or batch.type = any (w.types))
    order by id
  ) as concerned;
end
$$;

-- Returns the position of the next event for an endpoint: first a delivery whose retry is due, else the next of the log,
-- for which it inserts a delivery. Null when there is none now.
create or replace function next_webhook(of_endpoint uuid) returns bigint
language plpgsql
as $$
declare
  endpoint webhook_endpoints;
  upcoming events;
  log_end bigint;
  again bigint;
begin
  select d.position into again
  from webhook_deliveries d
  where d.endpoint_id = of_endpoint and d.next_attempt_at <= now()
  order by d.position
  limit 1;
  if found then
    return again;
  end if;
  select * into endpoint from webhook_endpoints where id = of_endpoint for no key update;
  select last_position into log_end from event_log;
  -- two statements, so that a partner's events are found by index
  if endpoint.partner_id is null then
    select * into upcoming
    from events e
    where e.position > endpoint.position and e.position <= log_end and (endpoint.types is null or e.type = any (endpoint.types))
    order by e.position
    limit 1;
  else
    select * into upcoming
    from events e
    where e.partner_id = endpoint.partner_id and e.position > endpoint.position and e.position <= log_end
      and (endpoint.types is null or e.type = any (endpoint.types))
    order by e.position
    limit 1;
  end if;
  update webhook_endpoints set position = coalesce(upcoming.position, greatest(endpoint.position, log_end)) where id = of_endpoint;
  if upcoming.position is null then
    return null;
  end if;
  insert into webhook_deliveries (endpoint_id, position, event_id, type, version, partner_id, at, data)
  values (of_endpoint, upcoming.position, upcoming.id, upcoming.type, upcoming.version, upcoming.partner_id, upcoming.at, upcoming.data);
  return upcoming.position;
end
$$;

-- Records an attempt. `again_in` is the time until the retry, null for none; `pause` is the endpoint's pause after a
-- failure. Returns the reason if the attempt stops the endpoint, null otherwise.
create or replace function settle_webhook(
  of_endpoint uuid, at_position bigint, accepted boolean, answered_status integer, answer_text text, took_ms integer,
  again_in interval, pause interval
) returns webhook_stop
language plpgsql
as $$
declare
  gone constant boolean := coalesce(answered_status = 410, false);
  endpoint webhook_endpoints;
  stop webhook_stop;
begin
  update webhook_deliveries
  set attempts = attempts + 1, attempted_at = now(), answered = answered_status, answer = answer_text, ms = took_ms,
      status = case when accepted then 'SENT' when gone or again_in is null then 'FAILED' else 'PENDING' end::webhook_status,
      next_attempt_at = case when not accepted and not gone then now() + again_in end
  where endpoint_id = of_endpoint and position = at_position;
  if accepted then
    update webhook_endpoints set failures = 0, failing_since = null, paused_until = null
    where id = of_endpoint and failures > 0;
    update webhook_endpoints set told_stopped = false where id = of_endpoint and told_stopped and stopped_at is null;
    if found then
      perform stage_job('fan-out', jsonb_build_object('event', 'WEBHOOK_BACK', 'subjectId', of_endpoint));
    end if;
    return null;
  end if;
  select * into endpoint from webhook_endpoints where id = of_endpoint for no key update;
  stop := case when gone then 'GONE' when endpoint.failing_since < now() - interval '24 hours' then 'FAILING' end;
  update webhook_endpoints
  set failures = failures + 1, failing_since = coalesce(failing_since, now()), paused_until = now() + pause,
      stopped_at = case when stop is null then stopped_at else coalesce(stopped_at, now()) end,
      stopped_why = coalesce(stopped_why, stop),
      told_stopped = told_stopped or stop is not null and stopped_at is null
  where id = of_endpoint;
  -- its owner has stopped it meanwhile, or it is deleted: no notification
  if stop is not null and endpoint.id is not null and endpoint.stopped_at is null then
    perform stage_job('fan-out', jsonb_build_object('event', 'WEBHOOK_STOPPED', 'subjectId', of_endpoint));
  end if;
  return stop;
end
$$;

-- Ends a run: releases the claim, and schedules the next run at `due_at`, or when a retry is due.
create or replace function end_webhook_run(of_endpoint uuid, run uuid, due_at timestamptz) returns void
language plpgsql
as $$
begin
  update webhook_endpoints set claim = null, claimed_until = null where id = of_endpoint and claim = run;
  due_at := coalesce(
    due_at,
    (select min(next_attempt_at) from webhook_deliveries where endpoint_id = of_endpoint and next_attempt_at is not null)
  );
  if due_at is not null then
    perform schedule_webhooks(of_endpoint, due_at);
  end if;
end
$$;

-- Trigger: stops the endpoints of a partner whose owner changes, because the former owner chose their addresses. The next owner may
-- start them.
create or replace function stop_webhooks_of_former_owner() returns trigger
language plpgsql
as $$
begin
  update webhook_endpoints set stopped_at = now(), stopped_why = 'BY_OWNER', updated_at = now()
  where id = any (array(
    -- in the order in which announce_events locks
    select id from webhook_endpoints where partner_id = new.id and stopped_at is null order by id for no key update
  ));
  return null;
end
$$;

-- Returns the users that changed an endpoint of the platform.
create or replace function webhook_editors(of_endpoint uuid) returns setof uuid
language sql stable
as $$
  select distinct e.actor_id
  from webhook_endpoints w
  join audit_events e on e.subject_id = w.id and e.actor_id is not null
  where w.id = of_endpoint and w.partner_id is null
$$;

-- Resends the events of a time to an endpoint, including those that it missed while it was stopped: the first `most` of
-- them after a position, in order. Returns their number and the last position. Events that the endpoint has not reached yet
-- are left to its run.
create or replace function resend_webhooks(
  of_endpoint uuid, since timestamptz, before timestamptz, after_position bigint, most integer, out resent integer, out last_position bigint
)
language plpgsql
as $$
declare
  endpoint webhook_endpoints;
  -- an event has a position of its own day or a later one
  from_position constant bigint := greatest(
    after_position, ((since at time zone 'UTC')::date - date '1970-01-01') * positions_a_day()
  );
begin
  select * into endpoint from webhook_endpoints where id = of_endpoint;
  -- only one of the two branches is executed, so that a partner's events are found by index
  with chosen as materialized (
    (
      select e.* from events e
      where endpoint.partner_id is null and e.position > from_position and e.position <= endpoint.position
        and e.at >= since and e.at < before and (endpoint.types is null or e.type = any (endpoint.types))
      order by e.position
      limit most
    )
    union all
    (
      select e.* from events e
      where e.partner_id = endpoint.partner_id and e.position > from_position and e.position <= endpoint.position
        and e.at >= since and e.at < before and (endpoint.types is null or e.type = any (endpoint.types))
      order by e.position
      limit most
    )
  ), again as (
    insert into webhook_deliveries (endpoint_id, position, event_id, type, version, partner_id, at, data)
    select of_endpoint, c.position, c.id, c.type, c.version, c.partner_id, c.at, c.data from chosen c
    -- in the lock order of runs, which lock a delivery and then the endpoint
    order by c.position
    on conflict (endpoint_id, position) do update set status = 'PENDING', attempts = 0, next_attempt_at = now()
    -- one without an attempt is due already, so that a repeated resend writes nothing
    where webhook_deliveries.attempts > 0
  )
  select count(*), max(c.position) into resent, last_position from chosen c;
  if resent > 0 then
    perform schedule_webhooks(of_endpoint, now());
  end if;
end
$$;

-- Returns the time of the first event after a position that matches an endpoint: of a partner, or of the platform (null),
-- with these types (null for all). Null without one.
create or replace function webhook_backlog_at(of_partner uuid, of_types text[], after_position bigint) returns timestamptz
language plpgsql stable
as $$
declare
  log_end constant bigint := (select last_position from event_log);
begin
  -- two statements, as in next_webhook
  if of_partner is null then
    return (
      select e.at from events e
      where e.position > after_position and e.position <= log_end and (of_types is null or e.type = any (of_types))
      order by e.position
      limit 1
    );
  end if;
  return (
    select e.at from events e
    where e.partner_id = of_partner and e.position > after_position and e.position <= log_end
      and (of_types is null or e.type = any (of_types))
    order by e.position
    limit 1
  );
end
$$;
