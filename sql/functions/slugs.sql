-- The first free slug for a name: base, base-2, base-3… Callers hold no lock, so the insert that uses it may still
-- collide and try again.
create or replace function free_slug(base text) returns text
language sql stable
as $$
  select case when n = 1 then base else base || '-' || n end
  from generate_series(1, (select count(*)::integer + 1 from partners where slug = base or slug like base || '-%')) as n
  where not exists (select from partners where slug = case when n = 1 then base else base || '-' || n end)
  order by n
  limit 1
$$;
