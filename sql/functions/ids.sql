-- Returns the smallest id of a row created at an instant or later. Ids begin with the time, so a time range is an id range.
-- It is stable like the functions it calls, and so Postgres inlines it instead of calling it for each row.
create or replace function first_id_at(at timestamptz) returns uuid
language sql stable parallel safe
as $$
  select encode(substr(int8send((extract(epoch from at) * 1000)::bigint), 3) || '\x00000000000000000000'::bytea, 'hex')::uuid
$$;
