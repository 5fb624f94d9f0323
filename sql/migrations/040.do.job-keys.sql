-- A job may have a key by which it is found while it is open, instead of an index into the payloads of each queue.
alter table staged_jobs add column key text;

update staged_jobs set key = payload ->> 'partnerId'
where queue = 'pos-events' and payload ->> 'eventId' is null and done_at is null and dead_at is null;
update staged_jobs set key = payload ->> 'notificationId'
where queue = 'push' and run_at > created_at and done_at is null and dead_at is null;

create index staged_jobs_open_by_key on staged_jobs (key) where key is not null and done_at is null and dead_at is null;
drop index staged_jobs_to_mailboxes;
drop index staged_jobs_waiting_pushes;

-- They no longer answer whether they staged a job.
drop function if exists ring_pos_mailbox(uuid, bigint, timestamptz, text);
drop function if exists receive_pos_events(text, uuid[], text[], text[], jsonb, text);
