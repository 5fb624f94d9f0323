-- The outbox: a job is a row of staged_jobs, written in the transaction of the change that causes it. Beside this
-- file only sql/outbox.ts and what operators see and do (sql/operators, operators.sql) name that table.

-- Wakes the relays after the commit if a job is due: on this notice the driver signals them (sql/driver/connection.ts). A NOTIFY
-- in the transaction itself would make commits wait for each other.
create or replace function wake_relays(due_at timestamptz) returns void
language plpgsql
as $$
begin
  if due_at <= now() then
    raise notice 'a job is due' using errcode = 'STAGE';
  end if;
end
$$;

-- Stages a job that is due at `due_at`; returns its id. `open_key` finds it among the open jobs of its queue. `caused_by` is the
-- id of the causing request, and behind a blank its span (`withTrace`). Of those that wait in the broker, jobs of a lower `rank` run first.
create or replace function stage_job(
  to_queue text, job_payload jsonb, caused_by text default null, due_at timestamptz default now(), open_key text default null,
  rank integer default 0
) returns bigint
language plpgsql
as $$
declare
  staged_id bigint;
begin
  insert into staged_jobs (queue, payload, request_id, traceparent, run_at, next_send_at, key, priority)
  values (
    to_queue, job_payload, nullif(split_part(caused_by, ' ', 1), ''), nullif(split_part(caused_by, ' ', 2), ''), due_at, due_at,
    open_key, rank
  )
  returning id into staged_id;
  -- wake_relays, inlined: every order runs this
  if due_at <= now() then
    raise notice 'a job is due' using errcode = 'STAGE';
  end if;
  return staged_id;
end
$$;

-- Stages one job per element of `job_payloads`, caused by the request (as above) and due at the time (null: now) at the same index.
create or replace function stage_jobs(
  to_queue text, job_payloads jsonb, caused_by text[], due_times timestamptz[] default null
) returns void
language plpgsql
as $$
begin
  insert into staged_jobs (queue, payload, request_id, traceparent, run_at, next_send_at)
  select to_queue, job.payload, nullif(split_part(job.cause, ' ', 1), ''), nullif(split_part(job.cause, ' ', 2), ''),
         coalesce(job.due_at, now()), coalesce(job.due_at, now())
  from rows from (jsonb_array_elements(job_payloads), unnest(caused_by), unnest(due_times)) as job (payload, cause, due_at);
  perform wake_relays(coalesce((select min(coalesce(at, now())) from unnest(due_times) as at), now()));
end
$$;

-- Jobs that are neither done nor dead.
create or replace view open_jobs as
select id, queue, key, priority
from staged_jobs
where done_at is null and dead_at is null;

-- Whether a job is open and due. Its conditions stand in the select list, so that only its key finds it: of many open jobs a join
-- would read all.
create or replace function is_job_due(job_id bigint) returns boolean
language sql stable
as $$
  select coalesce((select done_at is null and dead_at is null and run_at <= now() from staged_jobs where id = job_id), false)
$$;

-- Brings a waiting job forward to `due_at`; false when it does not wait for a later time.
create or replace function bring_job_forward(job_id bigint, due_at timestamptz default now()) returns boolean
language plpgsql
as $$
begin
  update staged_jobs
  set run_at = due_at, next_send_at = due_at
  where id = job_id and done_at is null and dead_at is null and sends = 0 and run_at > due_at;
  if not found then
    return false;
  end if;
  perform wake_relays(due_at);
  return true;
end
$$;

-- Makes the waiting jobs of a queue with one of these keys due now.
create or replace function bring_jobs_forward(of_queue text, keys text[]) returns void
language plpgsql
as $$
begin
  update staged_jobs
  set run_at = now(), next_send_at = now()
  where key = any (keys) and key is not null and queue = of_queue
    and done_at is null and dead_at is null and sends = 0 and run_at > now();
  if found then
    perform wake_relays(now());
  end if;
end
$$;

-- Marks a job done; false when it was done, or is not of `of_generation` (null: any).
create or replace function complete_job(job_id bigint, of_generation integer default null) returns boolean
language plpgsql
as $$
begin
  update staged_jobs
  set done_at = now(), dead_at = null, last_error = null
  where id = job_id and done_at is null and (of_generation is null or generation = of_generation);
  return found;
end
$$;

-- Marks jobs done, each of its generation; returns the ids of those that were open and that no other transaction has locked.
create or replace function complete_jobs(job_ids bigint[], generations integer[]) returns setof bigint
language plpgsql
as $$
begin
  return query
  with run as materialized (
    select job.id
    from unnest(job_ids, generations) as run (id, generation)
    join staged_jobs job on job.id = run.id and job.generation = run.generation and job.done_at is null
    for no key update of job skip locked
  )
  update staged_jobs job
  set done_at = now(), dead_at = null, last_error = null
  from run
  where job.id = run.id
  returning job.id;
end
$$;

-- Gives a dead job all its attempts again, due at `due_at`; false when it is not dead.
create or replace function replay_job(job_id bigint, due_at timestamptz default now()) returns boolean
language plpgsql
as $$
begin
  update staged_jobs
  set dead_at = null, generation = generation + 1, sends = 0, attempts = 0, run_at = due_at, next_send_at = due_at
  where id = job_id and dead_at is not null and done_at is null;
  if not found then
    return false;
  end if;
  perform wake_relays(due_at);
  return true;
end
$$;

-- Makes the jobs of a queue due that were held back while it was paused, up to `most`; returns their number. A held job is due again
-- within 14 minutes, as one that was handed over is.
create or replace function release_held_jobs(of_queue text, most integer) returns integer
language plpgsql
as $$
declare
  released integer;
begin
  update staged_jobs
  set sends = 0, next_send_at = now()
  where id = any (array(
    select id
    from staged_jobs
    where done_at is null and dead_at is null and next_send_at > now() and next_send_at < now() + interval '15 minutes'
      and run_at <= now() and queue = of_queue
    order by next_send_at
    limit most
  ));
  get diagnostics released = row_count;
  perform wake_relays(now());
  return released;
end
$$;
