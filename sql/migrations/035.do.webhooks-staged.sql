-- Both answer more than before; Postgres replaces no function by one that answers something else.
drop function if exists receive_pos_events(text, uuid[], text[], text[], jsonb, text);
drop function if exists ring_pos_mailbox(uuid, bigint, timestamptz, text);
