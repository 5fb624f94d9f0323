-- Returns the platform's commission in percent where no rate is set.
create or replace function default_commission_percent() returns numeric
language sql immutable parallel safe
as $$
  select 15.0
$$;
