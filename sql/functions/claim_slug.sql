-- Returns the first free slug for a name: base, base-2, base-3… A lock until the end of the transaction keeps another
-- registration from the same one. Names that can lead to the same slug (bar, bar-2) share the lock. Who does not get it at once
-- gets a random suffix, since hundreds that waited would hold the connections of others.
create or replace function claim_slug(base text) returns text
language plpgsql
as $$
declare
  taken integer := 1;
  free integer := 2;
  middle integer;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('slug ' || regexp_replace(base, '(-\d+)+$', ''), 0)) then
    return base || '-' || left(gen_random_uuid()::text, 8);
  end if;
  if not exists (select from partners where slug = base) then
    return base;
  end if;
  -- doubling, then binary search: the thousandth shop of a chain costs twenty index look-ups
  while exists (select from partners where slug = base || '-' || free) loop
    taken := free;
    free := free * 2;
  end loop;
  while free - taken > 1 loop
    middle := (taken + free) / 2;
    if exists (select from partners where slug = base || '-' || middle) then
      taken := middle;
    else
      free := middle;
    end if;
  end loop;
  return base || '-' || free;
end
$$;
