-- The first free slug for a name: base, base-2, base-3… Held against others until the end of the transaction, so that
-- simultaneous registrations under one name get different slugs.
create or replace function take_slug(base text) returns text
language plpgsql
as $$
declare
  slug_taken text[];
  n integer := 1;
begin
  perform pg_advisory_xact_lock(hashtextextended('slug ' || base, 0));
  select coalesce(array_agg(slug), '{}') into slug_taken
  from partners where slug = base or slug like replace(base, '_', '\_') || '-%';
  while (case when n = 1 then base else base || '-' || n end) = any (slug_taken) loop
    n := n + 1;
  end loop;
  return case when n = 1 then base else base || '-' || n end;
end
$$;
