-- The reason of a stop: by the owner or an operator, by a response 410, or after a day of failures.
create type webhook_stop as enum ('BY_OWNER', 'BY_OPERATOR', 'GONE', 'FAILING');

-- Addresses of other systems that receive events.
create table webhook_endpoints (
  id uuid primary key default new_id(),
  -- null for the events of all partners and of the platform
  partner_id uuid references partners (id) on delete cascade,
  -- the service key that created it: revoked, it stops the endpoint
  api_key_id uuid references api_keys (id) on delete set null,
  url text not null,
  description text,
  -- null for all types
  types text[] check (cardinality(types) > 0),
  -- encrypted; the old secret also signs, until its time is over
  secret text not null,
  old_secret text,
  old_secret_until timestamptz,
  -- events up to here have deliveries, or do not match
  position bigint not null,
  stopped_at timestamptz,
  stopped_why webhook_stop,
  -- consecutive failures, the time of the first, and the end of the pause
  failures integer not null default 0,
  failing_since timestamptz,
  paused_until timestamptz,
  -- its owner was notified of the stop, and will be notified when it works again
  told_stopped boolean not null default false,
  -- the scheduled job that has not started
  job_id bigint,
  -- one run at a time; a claim that is not renewed expires
  claim uuid,
  claimed_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((stopped_at is null) = (stopped_why is null)),
  check ((old_secret is null) = (old_secret_until is null)),
  check ((claim is null) = (claimed_until is null))
);

create index webhook_endpoints_by_partner on webhook_endpoints (partner_id, id);
create index webhook_endpoints_by_api_key on webhook_endpoints (api_key_id) where api_key_id is not null;

create type webhook_status as enum ('PENDING', 'SENT', 'FAILED');

-- Deliveries, finished and pending. The event is copied, because its day of the log may be dropped before a retry.
create table webhook_deliveries (
  -- No foreign key: deleting an endpoint would delete its deliveries, perhaps millions, in one statement. Nobody can read them then,
  -- and upkeep deletes them after 30 days.
  endpoint_id uuid not null,
  position bigint not null,
  event_id uuid not null,
  type text not null,
  version smallint not null,
  partner_id uuid,
  at timestamptz not null,
  data jsonb not null,
  status webhook_status not null default 'PENDING',
  attempts integer not null default 0,
  -- null when it is finished
  next_attempt_at timestamptz default now(),
  -- of the last attempt; without a response the status is null, and the text is the error
  answered integer,
  answer text,
  ms integer,
  attempted_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (endpoint_id, position),
  check ((status = 'PENDING') = (next_attempt_at is not null))
);

-- by position, because a resend makes thousands due at once, which are taken one by one
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, position) include (next_attempt_at)
where next_attempt_at is not null;
create index webhook_deliveries_failed on webhook_deliveries (endpoint_id, position) where status = 'FAILED';
create index webhook_deliveries_by_age on webhook_deliveries (created_at);

-- Triggers need a function when they are created; functions/webhooks.sql has the body.
create function stop_webhooks_of_former_owner() returns trigger language plpgsql as $$ begin return null; end $$;

create trigger stop_webhooks_of_former_owner after update of owner_id on partners for each row
when (old.owner_id is not null and old.owner_id is distinct from new.owner_id)
execute function stop_webhooks_of_former_owner();
