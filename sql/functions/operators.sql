-- What operators do to jobs and POS events, one by one and in bulk, and how they find jobs.

-- Does something to those of these jobs that are in a state for it; returns their number. Dead ones are replayed, or dismissed: done
-- without their effect. Open ones are run now, snoozed until `until`, or cancelled: done without their effect, unless they are
-- running. A job that is running is superseded: it may have its effect, and runs again when it is to. They get `least_rank` at least,
-- and are handed over at `send_from` or later.
create or replace function settle_jobs(
  kind bulk_action_kind, job_ids bigint[], until timestamptz default null, least_rank integer default 0,
  send_from timestamptz default now()
) returns integer
language plpgsql
as $$
declare
  settled integer;
  due_at timestamptz := coalesce(until, now());
begin
  update staged_jobs
  set dead_at = null,
      done_at = case when kind in ('DISMISS', 'CANCEL') then now() end,
      generation = generation + 1, sends = 0,
      attempts = case when kind = 'REPLAY' then 0 else attempts end,
      last_error = case when kind in ('DISMISS', 'CANCEL') then concat_ws('; ', 'ended by an operator', last_error) else last_error end,
      run_at = due_at, next_send_at = greatest(due_at, send_from), priority = greatest(priority, least_rank)
  where id = any (job_ids) and done_at is null and (dead_at is not null) = (kind in ('REPLAY', 'DISMISS'));
  get diagnostics settled = row_count;
  if kind in ('REPLAY', 'RUN') and settled > 0 then
    perform wake_relays(now());
  end if;
  return settled;
end
$$;

-- Whether an operator means this job; null leaves a condition out.
create or replace function is_job_meant(
  job staged_jobs, of_queue text, error_part text, staged_from timestamptz, staged_before timestamptz, min_attempts integer,
  argument jsonb
) returns boolean
language sql immutable
as $$
  select (of_queue is null or job.queue = of_queue)
    and (error_part is null or strpos(lower(job.last_error), lower(error_part)) > 0)
    and (staged_from is null or job.created_at >= staged_from)
    and (staged_before is null or job.created_at < staged_before)
    and (min_attempts is null or job.attempts >= min_attempts)
    and (argument is null or job.payload @> argument)
$$;

-- Works on a bulk action: up to `most` of its jobs or events. Returns their number; with 0 the action is settled, if it was not.
create or replace function continue_bulk_action(action_id uuid, most integer) returns integer
language plpgsql
as $$
declare
  action bulk_actions;
  -- what is new need not wait for a hundred thousand jobs that were dead for hours
  behind_others constant integer := 100;
  -- two thousand are handed over each second, for the relay takes what is due first, whatever its rank
  hand_over_time constant interval := '0.5 ms';
  send_from timestamptz;
  chosen bigint[];
  settled integer;
begin
  -- one run at a time, so that the jobs that another one has locked are not taken for done
  select * into action from bulk_actions where id = action_id and settled_at is null for no key update;
  if not found then
    return 0;
  end if;
  send_from := coalesce(action.started_at, now()) + action.changed * hand_over_time;
  if action.state = 'PARKED' then
    chosen := array(
      select id
      from pos_events event
      where status = 'PARKED' and id > action.position and received_at < action.created_at
        and is_event_meant(
          event, action.partner_id, action.error, action.staged_from, action.staged_before, action.min_attempts
        )
      order by id
      limit most
    );
    settled := settle_parked_events(action.kind, chosen, null, 'dismissed: ' || action.why, null, most);
  elsif action.state = 'DEAD' then
    chosen := array(
      select id
      from staged_jobs job
      where dead_at <= action.created_at and dead_at is not null and done_at is null
        and is_job_meant(
          job, action.queue, action.error, action.staged_from, action.staged_before, action.min_attempts, action.argument
        )
      order by dead_at
      limit most
    );
    settled := settle_jobs(action.kind, chosen, action.until, behind_others, send_from);
  else
    chosen := array(
      -- by the index on open rows: by the key Postgres might walk through a day of done ones
      with open as materialized (
        select id
        from staged_jobs job
        -- the action's own job is not older than the action
        where done_at is null and dead_at is null and id > action.position and created_at < action.created_at
          and (run_at <= action.created_at) = (action.state = 'DUE')
          and is_job_meant(
            job, action.queue, action.error, action.staged_from, action.staged_before, action.min_attempts, action.argument
          )
      )
      select id from open order by id limit most
    );
    settled := settle_jobs(action.kind, chosen, action.until, behind_others, send_from);
  end if;
  update bulk_actions
  set changed = changed + settled, matched = greatest(matched, changed + settled), position = coalesce(chosen[cardinality(chosen)], position),
      started_at = coalesce(started_at, now()),
      settled_at = case when cardinality(chosen) = 0 then now() end
  where id = action_id;
  return cardinality(chosen);
end
$$;

-- Returns about the first id of the jobs that were staged at `moment` or later: ids ascend with the time, give or take the length of
-- a transaction. It reads a few dozen rows by key, so that no index on the time is needed.
create or replace function job_id_at(moment timestamptz) returns bigint
language plpgsql stable
as $$
declare
  below bigint;
  above bigint;
  next_id bigint;
  staged_at timestamptz;
begin
  select min(id) - 1, max(id) into below, above from staged_jobs;
  while below < above loop
    select id, created_at into next_id, staged_at from staged_jobs where id > (below + above) / 2 order by id limit 1;
    if staged_at < moment then
      below := next_id;
    else
      above := (below + above) / 2;
    end if;
  end loop;
  return coalesce(below, 0) + 1;
end
$$;

-- Returns the ids of the jobs that were staged by the changes of an order and by its notifications, by one notification, or when
-- something else was made: a little before, as these may wait for a lock, or just then. A loop, as a join may look for the ids of the times once for each job.
create or replace function job_ids_about(subject_id uuid) returns setof bigint
language plpgsql stable
as $$
declare
  cause record;
  first_id bigint;
  end_id bigint;
begin
  for cause in
    select order_id as id, at from order_events where order_id = subject_id
    union
    select id, created_at from notifications where order_id = subject_id and order_id is not null
    union
    select id, created_at from notifications where id = subject_id
    union
    select id, created_at from boxes where id = subject_id
    union
    select id, created_at from files where id = subject_id
    union
    select id, created_at from menu_imports where id = subject_id
    union
    select id, created_at from partners where id = subject_id
    union
    select id, created_at from pos_syncs where id = subject_id
  loop
    first_id := job_id_at(cause.at - interval '20 seconds');
    end_id := job_id_at(cause.at + interval '5 seconds');
    return query
      select job.id
      from staged_jobs job
      where job.id >= first_id and job.id < end_id
        and exists (select from jsonb_each_text(job.payload) fact where fact.value = cause.id::text);
  end loop;
end
$$;
