-- What the platform takes where no rate has been set, in percent.
create or replace function default_commission_percent() returns numeric
language sql immutable parallel safe
as $$
  select 15.0
$$;
