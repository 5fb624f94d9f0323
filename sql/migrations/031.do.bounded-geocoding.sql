-- Addresses have one canonical form, which the provider is asked for, and its hash is the key: what lies under keys of
-- another kind is never looked at again.
delete from geocodes;

-- The job that asks for an address; it ends in staged_jobs and may be forgotten there.
alter table geocodes add column job_id bigint;

create index geocodes_waiting on geocodes (job_id) where status = 'ASKED';
