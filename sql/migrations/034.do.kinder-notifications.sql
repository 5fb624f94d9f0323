-- What somebody has heard of a box is looked up for each who likes it; a box that everybody likes has many rows.
create index notifications_by_box_and_user on notifications (box_id, user_id, id) where box_id is not null;
drop index notifications_by_box;
-- it leaves out who has heard enough, and is made anew with that
drop function if exists next_favorites(uuid, uuid, uuid, integer);

-- The lowest price before the present one; null while there was no other.
alter table boxes add column lowest_price_minor bigint check (lowest_price_minor >= 0);

-- A message is brought to an address once, also when a device gives it again after it was forgotten and so has another id.
alter table notification_deliveries add column address_digest bytea check (length(address_digest) = 32);
update notification_deliveries delivery
set address_digest = coalesce(
  (select device.address_digest from devices device where device.id = delivery.device_id),
  sha256(convert_to(delivery.device_id::text, 'UTF8'))
);
alter table notification_deliveries alter column address_digest set not null;
alter table notification_deliveries drop constraint notification_deliveries_pkey;
alter table notification_deliveries add primary key (notification_id, address_digest);

-- A push that waits is found by its notification, to be brought forward.
create index staged_jobs_waiting_pushes on staged_jobs ((payload ->> 'notificationId'))
  where queue = 'push' and run_at > created_at and done_at is null and dead_at is null;

-- When its owner closed their account: its contact was theirs, and is erased as they are when nobody has taken it over.
alter table partners add column owner_left_at timestamptz;
update partners p
set owner_left_at = e.created_at
from audit_events e
where e.subject_id = p.id and e.action = 'PARTNER_SUSPEND' and e.details ->> 'reason' = 'Its owner has left.'
  and p.owner_id is null and p.owner_phone is null;
create index partners_left_with_contact on partners (owner_left_at)
  where owner_left_at is not null and owner_id is null and (phone is not null or email is not null);

-- Events name customers: they go 30 days after they came in, however often they are tried again.
create index pos_events_settled_by_age on pos_events (received_at) where settled_at is not null;
drop index pos_events_settled;
create index pos_events_of_customers on pos_events ((change ->> 'customerPhone')) where change ->> 'customerPhone' is not null;
