-- Why nothing is sent to an endpoint: its owner or an operator has stopped it, it answered that it is gone, or it failed for a day.
create type webhook_stop as enum ('BY_OWNER', 'BY_OPERATOR', 'GONE', 'FAILING');

-- Where other systems want events to be sent.
create table webhook_endpoints (
  id uuid primary key default new_id(),
  -- whose events; null: those of all partners and of the platform
  partner_id uuid references partners (id),
  url text not null,
  description text,
  -- null: all
  types text[] check (cardinality(types) > 0),
  -- envelopes; the old secret signs too, until its time is over
  secret text not null,
  old_secret text,
  old_secret_until timestamptz,
  -- the events up to it have deliveries, or are not for it
  position bigint not null,
  stopped_at timestamptz,
  stopped_why webhook_stop,
  -- how often it failed in a row, since when, and until when it is left alone
  failures integer not null default 0,
  failing_since timestamptz,
  paused_until timestamptz,
  -- its owner was told that it was stopped, and is to be told when it works again
  told_stopped boolean not null default false,
  -- the job that will send to it and has not started
  job_id bigint,
  -- one run at a time sends to it; a claim that is not renewed lapses
  claim uuid,
  claimed_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((stopped_at is null) = (stopped_why is null)),
  check ((old_secret is null) = (old_secret_until is null)),
  check ((claim is null) = (claimed_until is null))
);

create index webhook_endpoints_by_partner on webhook_endpoints (partner_id, id);

create type webhook_status as enum ('PENDING', 'SENT', 'FAILED');

-- What was sent to whom, and what is to be. The event is copied, as its day of the log may be dropped before it is sent again.
create table webhook_deliveries (
  endpoint_id uuid not null references webhook_endpoints (id) on delete cascade,
  position bigint not null,
  event_id uuid not null,
  type text not null,
  version smallint not null,
  partner_id uuid,
  at timestamptz not null,
  data jsonb not null,
  status webhook_status not null default 'PENDING',
  attempts integer not null default 0,
  -- null: it is settled
  next_attempt_at timestamptz default now(),
  -- of the last attempt: the status is null without an answer, and the text then says why
  answered integer,
  answer text,
  ms integer,
  attempted_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (endpoint_id, position),
  check ((status = 'PENDING') = (next_attempt_at is not null))
);

-- by position: of thousands that are sent again at once the first is taken, again and again
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, position) include (next_attempt_at)
where next_attempt_at is not null;
create index webhook_deliveries_by_age on webhook_deliveries (created_at);
