-- The zone of a partner by its own and its city's, for schedules that go through many partners: a name that this server does
-- not know (any more) must not stop the others.
create or replace function local_zone(own text, citys text) returns text
language plpgsql stable
as $$
begin
  perform now() at time zone coalesce(own, citys);
  return coalesce(own, citys);
exception
  when invalid_parameter_value then return 'UTC';
end
$$;
