-- Returns a partner's time zone: its own, else its city's, else UTC when this server does not know that name. For statements
-- over many partners, which one unknown name must not fail.
create or replace function local_zone(partner_zone text, city_zone text) returns text
language plpgsql stable
as $$
begin
  perform now() at time zone coalesce(partner_zone, city_zone);
  return coalesce(partner_zone, city_zone);
exception
  when invalid_parameter_value then return 'UTC';
end
$$;
