create table users (
  id uuid primary key default new_id(),
  -- the identifier that people read out to each other; never derived from the phone
  service_id text not null unique,
  phone text,
  first_name text,
  last_name text,
  email text,
  -- an address elsewhere
  avatar_url text,
  -- an uploaded file: 003 adds the reference
  avatar text,
  locale text not null default 'ru-RU',
  -- null: the deployment's default zone
  timezone text,
  is_admin boolean not null default false,
  -- may look at the operators' console, and do nothing there
  is_observer boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- when the personal data of a deleted account was erased
  erased_at timestamptz,
  -- the keyed hash of a deleted account's phone. It outlives the erasure: who comes back gets no promo or referral a second time.
  phone_hash bytea,
  -- the first of the deleted accounts of the same phone; null: this is the first
  first_account_id uuid references users (id),
  check (phone is not null or deleted_at is not null),
  check (erased_at is null or deleted_at is not null)
);

-- a deleted account frees its phone at once
create unique index users_by_phone on users (phone) where deleted_at is null;
create index users_by_avatar on users (avatar) where avatar is not null;
create index users_by_phone_hash on users (phone_hash) where phone_hash is not null;
create index users_by_first_account on users (first_account_id) where first_account_id is not null;
create index users_to_erase on users (deleted_at) where deleted_at is not null and erased_at is null;

-- One row per phone: its current code, and all counts that are limited per phone. Every change locks this one row, so a new
-- code replaces the old one and the limits hold under any concurrency.
create table otp (
  phone text primary key,
  -- names the current code in jobs; changes with every code
  id uuid not null unique default new_id(),
  code_hash bytea not null,
  -- the copy for the SMS; erased once it is sent or useless
  encrypted_code text,
  expires_at timestamptz not null,
  -- where it was requested from: the keyed hash of a client's network, or the session of an earlier login
  place text not null,
  -- how many guesses of this code were compared, by the place they came from
  guesses jsonb not null default '{}',
  -- places that entered this code too late, when others had used up its guesses, and places that did so with earlier codes
  late text[] not null default '{}',
  proven text[] not null default '{}',
  used_at timestamptz,
  -- the worker sets it before it sends, so that no code is sent twice
  claimed_at timestamptz,
  -- the run that claimed it: one that has lost the answer to its claim may claim it again
  claim uuid,
  sent_at timestamptz,
  -- the latest sends, newest first, never more than the limits count
  sends timestamptz[] not null,
  -- wrong guesses across codes from places that are not an earlier login, since guesses_since
  wrong_guesses integer not null default 0,
  guesses_since timestamptz not null default now()
);

create index otp_by_expiry on otp (expires_at);
-- for the task that erases the copies of expired codes every few minutes
create index otp_to_erase on otp (expires_at) where encrypted_code is not null;

-- One login on one device: the family of refresh tokens that descend from it. A revoked family never comes back.
create table sessions (
  id uuid primary key default new_id(),
  user_id uuid not null references users (id),
  -- a session of the dashboard opens nothing else, and no other session opens the dashboard
  for_dashboard boolean not null default false,
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

-- Credentials of machines. A revoked key is deleted; its audit events remain.
create table api_keys (
  id uuid primary key default new_id(),
  name text not null,
  digest bytea not null unique check (length(digest) = 32),
  scopes text[] not null check (cardinality(scopes) > 0 and scopes <@ '{ads:read,events:read,geo:write,ops:read,webhooks:write}'),
  created_at timestamptz not null default now()
);

-- What admins did, and who moved a partner: written in the transaction of the act.
create table audit_events (
  id uuid primary key default new_id(),
  -- null: the service itself
  actor_id uuid references users (id),
  action text not null,
  subject_id uuid,
  details jsonb not null default '{}',
  created_at timestamptz not null default now()
);

create index audit_events_by_subject on audit_events (subject_id, id);
create index audit_events_by_action on audit_events (action, id);
-- for a user's own data as a file
create index audit_events_by_actor on audit_events (actor_id, id) where actor_id is not null;
