-- Whether anything is on its way to a mailbox is looked up for each that has an event waiting.
create index staged_jobs_to_mailboxes on staged_jobs ((payload ->> 'partnerId'))
  where queue = 'pos-events' and payload ->> 'eventId' is null and done_at is null and dead_at is null;
