-- What an operator does to every job, or parked POS event, that matches: an upkeep task works through them in batches and counts here. Who asked for
-- it is in the audit log.
create type bulk_action_kind as enum ('REPLAY', 'DISMISS', 'RUN', 'SNOOZE', 'CANCEL');
-- PARKED: POS events, not jobs
create type bulk_action_state as enum ('DEAD', 'DUE', 'WAITING', 'PARKED');

create table bulk_actions (
  id uuid primary key default new_id(),
  kind bulk_action_kind not null,
  -- which jobs are meant
  state bulk_action_state not null,
  -- null: of any queue
  queue text,
  -- null: whatever the error; else a part of it
  error text,
  -- null: whenever they were staged, and however often they were tried
  staged_from timestamptz,
  staged_before timestamptz,
  min_attempts integer,
  -- null: whatever the payload; else what it has among others
  argument jsonb,
  -- of parked events; null: of any partner
  partner_id uuid,
  -- when snoozed jobs are to run
  until timestamptz,
  why text not null,
  matched integer not null check (matched >= 0),
  changed integer not null default 0 check (changed >= 0),
  -- open jobs and parked events are worked through by their ids, as they may match again afterwards
  position bigint not null default 0,
  created_at timestamptz not null default now(),
  -- for the estimate of its end; actions are worked through one after the other
  started_at timestamptz,
  -- jobs that die after the request are left alone, so that one that dies again is not replayed for ever
  settled_at timestamptz,
  -- why an operator ended it before all jobs were changed
  stopped_why text,
  check (stopped_why is null or settled_at is not null),
  check ((kind = 'SNOOZE') = (until is not null)),
  check ((state in ('DEAD', 'PARKED')) = (kind in ('REPLAY', 'DISMISS'))),
  check (case when state = 'PARKED' then queue is null and argument is null else partner_id is null end)
);

create index bulk_actions_open on bulk_actions (id) where settled_at is null;

-- What operators have set for a queue while the service runs: here and not in the broker, so that it holds after the broker was
-- wiped. A queue without a row has the defaults.
create table queue_settings (
  queue text primary key,
  -- none of its jobs is handed to the broker, and none that the broker has is started; null: it is not paused
  paused_at timestamptz,
  paused_why text,
  -- jobs that a process runs at once; null: as configured
  concurrency integer check (concurrency between 1 and 1000),
  -- jobs that all processes together start a minute; null: no limit
  per_minute integer check (per_minute between 1 and 1000000),
  check ((paused_at is null) = (paused_why is null))
);

create type process_role as enum ('API', 'WORKER');

-- Processes that are alive, and those that died within a day: one that stops deletes its row.
create table processes (
  id text primary key,
  role process_role not null,
  version text not null,
  started_at timestamptz not null,
  beat_at timestamptz not null default now(),
  -- figures of its pools, its replicas and its calls to third parties
  facts jsonb not null
);

-- When each third party was last called, by any process; null: never with this result.
create table vendor_calls (
  vendor text primary key,
  succeeded_at timestamptz,
  failed_at timestamptz
);

-- The last run of each upkeep task.
create table upkeep_runs (
  task text primary key,
  started_at timestamptz not null,
  ms integer not null check (ms >= 0),
  -- rows, where the task counts them
  changed integer,
  -- null: it succeeded
  error text
);

-- What each queue did in each of the last minutes, for charts. There is no row where nothing happened, but for the queue upkeep: it
-- has one for each minute that was recorded.
create table queue_minutes (
  minute timestamptz not null,
  queue text not null,
  staged integer not null,
  done integer not null,
  -- at the end of the minute; null when it was recorded later
  oldest_due_seconds double precision,
  primary key (minute, queue)
);
