-- Counts an action and returns null. When it has happened `most` times in the present window, it is not counted, and the end of
-- the window is returned. Without a limit (null) nothing is counted.
create or replace function count_action(counted text, most integer, lasting interval) returns timestamptz
language plpgsql
as $$
begin
  if most is null then
    return null;
  end if;
  insert into action_counts as counts (action, times, ends_at)
  values (counted, 1, now() + lasting)
  on conflict (action) do update set
    times = case when counts.ends_at > now() then counts.times + 1 else 1 end,
    ends_at = case when counts.ends_at > now() then counts.ends_at else now() + lasting end
  where counts.times < most or counts.ends_at <= now();
  if found then
    return null;
  end if;
  return (select ends_at from action_counts where action = counted);
end
$$;
