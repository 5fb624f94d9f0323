-- An account of a POS may become another partner's, who begins with a mailbox of their own.
alter table pos_events drop constraint pos_events_provider_account_event_id_key;
alter table pos_events add unique (partner_id, provider, event_id);

-- Orders from a counter whose customer nobody knows have an address all the same.
create index orders_with_counter_address on orders (created_at) where user_id is null and address is not null;
