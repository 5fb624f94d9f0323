-- A UUID v7 to a quarter of a microsecond (RFC 9562, section 6.2, method 3): rows that are written one after the other in
-- the same millisecond have ids in that order too.
create or replace function new_id() returns uuid
language sql volatile parallel safe
as $$
  select (
    substr(millis, 1, 8) || '-' || substr(millis, 9, 4) || '-7' || fraction || substr(random, 19)
  )::uuid
  from (
    select lpad(to_hex(micros / 1000), 12, '0') as millis,
           lpad(to_hex(micros % 1000 * 4096 / 1000), 3, '0') as fraction,
           gen_random_uuid()::text as random
    from (select floor(extract(epoch from clock_timestamp()) * 1000000)::bigint as micros) as now
  ) as parts
$$;
