-- What a notification is about besides an order and a partner, and the facts that no row keeps: how many points, which level.
alter table notifications add column box_id uuid references boxes (id);
alter table notifications add column facts jsonb not null default '{}';
alter table notifications add column read_at timestamptz;

-- These come with another parameter: the request that caused what they stage.
drop function if exists move_order(uuid, order_status, order_status[], order_actor, uuid, uuid, uuid, text);
drop function if exists repeat_box(uuid, date, boolean);

create index notifications_by_box on notifications (box_id) where box_id is not null;
create index notifications_unread on notifications (user_id, id) where read_at is null;

-- SENDING: claimed, and nobody knows yet; UNKNOWN: nobody will ever know, which counts as sent.
create type delivery_status as enum ('SENDING', 'SENT', 'UNKNOWN', 'LATER', 'GONE', 'FAILED');

-- One notification on one device. The row is there before the message is sent, so that it is sent once at most.
create table notification_deliveries (
  notification_id uuid not null references notifications (id) on delete cascade,
  -- no reference: devices go, and what they were sent is still asked about
  device_id uuid not null,
  platform device_platform not null,
  status delivery_status not null default 'SENDING',
  reason text,
  attempts integer not null default 1 check (attempts > 0),
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (notification_id, device_id)
);

-- When nothing personal was left of a deleted account.
alter table users add column erased_at timestamptz check (erased_at is null or deleted_at is not null);
create index users_to_erase on users (deleted_at) where deleted_at is not null and erased_at is null;
