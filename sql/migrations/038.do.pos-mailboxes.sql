-- Whether anything is on its way to a mailbox is looked up for each that has an event waiting.
create index staged_jobs_to_mailboxes on staged_jobs ((payload ->> 'partnerId'))
  where queue = 'pos-events' and payload ->> 'eventId' is null and done_at is null and dead_at is null;

-- The type is part of every id now, so that no event can pass for one of another type. Where an event is there under both ids,
-- since it was told again, its older one stays as it is: it stands in nobody's way.
update pos_events e
set event_id = (e.change ->> 'kind') || ':' || e.event_id
where e.provider = 'generic'
  and (e.change ->> 'kind' = 'order.created' or not starts_with(e.event_id, (e.change ->> 'kind') || ':'))
  and not exists (
    select from pos_events other
    where other.partner_id = e.partner_id and other.provider = e.provider
      and other.event_id = (e.change ->> 'kind') || ':' || e.event_id
  );

-- Phones in events are as those of accounts, by which whoever closes theirs is found; what is none is dropped.
update pos_events
set change = change || jsonb_build_object(
  'customerPhone', '+7' || substring(regexp_replace(change ->> 'customerPhone', '[^0-9]', '', 'g') from '^[78]?([0-9]{10})$')
)
where change ->> 'customerPhone' is not null and change ->> 'customerPhone' !~ '^\+7[0-9]{10}$';
