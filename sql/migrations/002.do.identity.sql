create table users (
  id uuid primary key default new_id(),
  -- the identifier that people read out to each other; never derived from the phone
  service_id text not null unique,
  phone text,
  first_name text,
  last_name text,
  email text,
  avatar_url text,
  locale text not null default 'ru-RU',
  -- null: the deployment's default zone
  timezone text,
  is_admin boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  check (phone is not null or deleted_at is not null)
);

-- A deleted account gives its phone free at once.
create unique index users_by_phone on users (phone) where deleted_at is null;

-- One row per phone: its current code, and everything that is limited per phone. A single row makes "a new code
-- replaces the old" and the limits hold under any concurrency, because every change has to lock it.
create table otp (
  phone text primary key,
  -- names the current code in jobs; changes with every code
  id uuid not null unique default new_id(),
  code_hash bytea not null,
  -- the copy for the SMS; erased as soon as it is sent or useless
  sealed_code text,
  expires_at timestamptz not null,
  -- comparisons made with this code
  tries integer not null default 0,
  used_at timestamptz,
  -- set by the worker before it sends, so that no code is sent twice
  claimed_at timestamptz,
  sent_at timestamptz,
  -- the latest sends, newest first, never more than the limit counts
  sends timestamptz[] not null,
  -- wrong guesses across codes, since guesses_since
  wrong_guesses integer not null default 0,
  guesses_since timestamptz not null default now()
);

create index otp_by_expiry on otp (expires_at);

-- Codes sent per client address and by the whole deployment, in windows of 5 minutes that begin with a send.
create table otp_send_counts (
  counter text primary key,
  window_start timestamptz not null,
  sends integer not null
);

create index otp_send_counts_by_age on otp_send_counts (window_start);

-- One login on one device: the family of refresh tokens that descend from it. A revoked family never comes back.
create table sessions (
  id uuid primary key default new_id(),
  user_id uuid not null references users (id),
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);

create index sessions_by_user on sessions (user_id);

create table refresh_tokens (
  digest bytea primary key check (length(digest) = 32),
  session_id uuid not null references sessions (id) on delete cascade,
  expires_at timestamptz not null,
  -- the token given in exchange for this one, and when
  successor bytea,
  rotated_at timestamptz,
  -- when the same exchange was answered a second time, because the first answer was lost
  replayed_at timestamptz,
  check ((successor is null) = (rotated_at is null))
);

create index refresh_tokens_by_session on refresh_tokens (session_id);
create index refresh_tokens_by_expiry on refresh_tokens (expires_at);
