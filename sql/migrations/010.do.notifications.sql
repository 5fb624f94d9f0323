-- A user without a row has the defaults.
create table notification_preferences (
  user_id uuid primary key references users (id),
  push boolean not null,
  sms boolean not null,
  email boolean not null,
  marketing boolean not null,
  -- in the user's zone; none when both are the same
  quiet_hours_start time(0) not null,
  quiet_hours_end time(0) not null,
  updated_at timestamptz not null default now()
);

create type device_platform as enum ('ios', 'android', 'web');

create table devices (
  id uuid primary key default new_id(),
  user_id uuid not null references users (id),
  platform device_platform not null,
  -- an FCM registration token, or the endpoint of a Web Push subscription
  address text not null,
  -- of the address, which is too long for an index
  address_digest bytea not null unique check (length(address_digest) = 32),
  -- the keys of a Web Push subscription
  p256dh text,
  auth text,
  locale text not null,
  -- how many deliveries in a row its push service gave no response to
  unanswered integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((p256dh is null) = (auth is null)),
  check (platform = 'web' or p256dh is null)
);

create index devices_by_user on devices (user_id, updated_at);

create type notification_status as enum ('QUEUED', 'DEFERRED', 'SENT', 'FAILED', 'DROPPED');

create table notifications (
  id uuid primary key default new_id(),
  user_id uuid not null references users (id),
  kind text not null,
  -- what it is about; its text is made from these rows when it is delivered
  order_id uuid references orders (id),
  -- may name a registration that is deleted: a foreign key would read all notifications for each
  partner_id uuid,
  box_id uuid references boxes (id),
  -- what no row keeps, such as how many points or which level
  facts jsonb not null default '{}',
  status notification_status not null default 'QUEUED',
  reason text,
  expires_at timestamptz,
  read_at timestamptz,
  created_at timestamptz not null default now(),
  settled_at timestamptz
);

create index notifications_by_user on notifications (user_id, id);
create index notifications_unread on notifications (user_id, id) where read_at is null;
-- an event of an order notifies a user once, however often its job runs
create unique index notifications_once_per_order on notifications (order_id, user_id, kind) where order_id is not null;
-- what each user was notified of a box is looked up user by user, because a popular box has many rows
create index notifications_by_box_and_user on notifications (box_id, user_id, id) where box_id is not null;

-- SENDING: claimed, with no result yet. UNKNOWN: there will be no result, which counts as sent.
create type delivery_status as enum ('SENDING', 'SENT', 'UNKNOWN', 'LATER', 'GONE', 'FAILED');

-- One notification on one device. The row is written before the push is sent, so that it is sent at most once.
create table notification_deliveries (
  notification_id uuid not null references notifications (id) on delete cascade,
  -- names the device: unlike its id, the address survives a new registration
  address_digest bytea not null check (length(address_digest) = 32),
  -- no foreign key: deliveries outlive devices
  device_id uuid not null,
  platform device_platform not null,
  status delivery_status not null default 'SENDING',
  reason text,
  -- the run that claimed it: one that has lost the answer to its claim may claim it again
  claim uuid not null default gen_random_uuid(),
  -- calls of the push service; none while there is no place for one
  attempts integer not null default 1 check (attempts >= 0),
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (notification_id, address_digest)
);
