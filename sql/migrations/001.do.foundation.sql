-- Ids are UUID v7 (PostgreSQL 18 has it built in, 15 to 17 do not): 48 bits of Unix milliseconds, so that new rows land at the
-- end of an index and "by id" means "by time". The next 12 bits are a fraction of the millisecond (RFC 9562, section 6.2,
-- method 3): rows that are written one after the other in one millisecond are in that order too.
-- It is one expression that names the clock once, so that the planner puts it in the place of each call: called as a function it
-- would take ten times as long, and most columns of ids default to it.
create function new_id() returns uuid
language sql volatile parallel safe
as $$
  select (
    overlay(
      lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 4096000)::bigint), 15, '0') placing '7' from 13 for 0
    ) || substr(gen_random_uuid()::text, 20)
  )::uuid
$$;

-- The outbox. A job is a row, written with the change that causes it. The row outlives its hand-over to BullMQ: until it has a
-- done_at or a dead_at, the relay hands it over again.
create table staged_jobs (
  id bigint generated always as identity primary key,
  queue text not null,
  -- finds the job while it is open, without an index on the payloads of each queue
  key text,
  -- ids only: payloads can be read in Redis, in dumps and on the dashboard
  payload jsonb not null,
  -- the request that caused it
  request_id text,
  -- the span that staged it, as W3C writes it
  traceparent text,
  -- a delayed job waits here, never in the broker
  run_at timestamptz not null default now(),
  -- when the relay hands the row over next
  next_send_at timestamptz not null default now(),
  sends integer not null default 0,
  -- in the broker, jobs of a lower number run first
  priority integer not null default 0 check (priority >= 0),
  -- part of the broker's job id: it changes only when the job is to run again, not when it is handed over again. It begins
  -- anywhere, because ids come again when a failover loses rows, and the broker may still have the jobs of those
  generation integer not null default floor(random() * 1000000000)::integer,
  attempts integer not null default 0,
  last_error text,
  created_at timestamptz not null default now(),
  done_at timestamptz,
  dead_at timestamptz
);

create index staged_jobs_to_send on staged_jobs (next_send_at) where done_at is null and dead_at is null;
create index staged_jobs_open_by_key on staged_jobs (key) where key is not null and done_at is null and dead_at is null;
create index staged_jobs_dead on staged_jobs (dead_at) where dead_at is not null;
create index staged_jobs_done on staged_jobs (done_at) where done_at is not null;
-- for operators; open jobs come and go too fast for it
create index staged_jobs_dead_by_payload on staged_jobs using gin (payload jsonb_path_ops) where dead_at is not null and done_at is null;

-- When a part of the service was last alive, such as the canary job that goes through broker and worker.
create table heartbeats (
  name text primary key,
  beat_at timestamptz not null
);

-- Counts of actions whose limits are exact, such as codes sent to a phone, in windows that begin with an action.
create table action_counts (
  action text primary key,
  times integer not null,
  ends_at timestamptz not null
);

create index action_counts_by_end on action_counts (ends_at);

-- Counters of limits. Losing them in a crash costs nothing, so they are not logged.
create unlogged table rate_counters (
  -- a keyed hash: what is counted names a user or an address
  key text not null,
  window_end timestamptz not null,
  hits integer not null,
  primary key (key, window_end)
);
