-- Inserts a city unless it is known, and keeps it from being deleted until the end of the transaction.
create or replace function keep_city(city_key text, zone text) returns void
language plpgsql
as $$
begin
  loop
    perform from cities where id = city_key for key share;
    exit when found;
    insert into cities (id, name, timezone) values (city_key, city_key, zone) on conflict (id) do nothing;
  end loop;
end
$$;
