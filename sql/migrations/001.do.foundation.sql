-- Ids are UUID v7: 48 bits of Unix milliseconds, so that new rows land at the end of an index. (PostgreSQL 18 has this built in; 15 to 17 have not.)
create function new_id() returns uuid
language sql volatile parallel safe
as $$
  select (
    substr(millis, 1, 8) || '-' || substr(millis, 9, 4) || '-7' || substr(random, 16)
  )::uuid
  from (
    select lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') as millis,
           gen_random_uuid()::text as random
  ) parts
$$;

-- A job is a row, written with the change that causes it. The row outlives its hand-over to BullMQ: it is
-- finished by done_at or dead_at only, and until then the relay hands it over again.
create table staged_jobs (
  id bigint generated always as identity primary key,
  queue text not null,
  -- ids only: this is readable in Redis, in dumps and on the dashboard
  payload jsonb not null,
  -- delayed work waits here, never in the broker
  run_at timestamptz not null default now(),
  -- when the relay may hand the row over (again)
  next_send_at timestamptz not null default now(),
  sends integer not null default 0,
  -- part of the broker's job id: it changes only when the job is deliberately run anew
  generation integer not null default 0,
  -- how often a handler has started on it
  tries integer not null default 0,
  last_error text,
  request_id text,
  created_at timestamptz not null default now(),
  done_at timestamptz,
  dead_at timestamptz
);

create index staged_jobs_to_send on staged_jobs (next_send_at) where done_at is null and dead_at is null;
create index staged_jobs_dead on staged_jobs (dead_at) where dead_at is not null;
create index staged_jobs_done on staged_jobs (done_at) where done_at is not null;
