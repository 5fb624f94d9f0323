-- Returns when a phone's wrong guesses no longer count: a day after the first of them.
create or replace function otp_guesses_end(o otp) returns timestamptz
language sql stable parallel safe
as $$
  select o.guesses_since + interval '1 day'
$$;

-- Whether a phone had too many wrong guesses: then it gets no code, and none of its codes is compared.
create or replace function otp_is_locked(o otp) returns boolean
language sql stable parallel safe
as $$
  select o.wrong_guesses >= 50 and otp_guesses_end(o) > now()
$$;

-- Counts a send and returns null. When that would exceed the limit per 5 minutes, it counts nothing and returns the end of that
-- window. A null limit counts nothing.
create or replace function count_otp_send(counter_name text, send_limit integer) returns timestamptz
language plpgsql
as $$
declare
  send_window constant interval := '5 minutes';
begin
  if send_limit is null then
    return null;
  end if;
  insert into otp_send_counts as counts (counter, window_start, sends)
  values (counter_name, now(), 1)
  on conflict (counter) do update set
    sends = case when counts.window_start > now() - send_window then counts.sends + 1 else 1 end,
    window_start = case when counts.window_start > now() - send_window then counts.window_start else now() end
  where counts.sends < send_limit or counts.window_start <= now() - send_window;
  if found then
    return null;
  end if;
  return (select window_start + send_window from otp_send_counts where counter = counter_name);
end
$$;

-- Makes a code the phone's only valid one, unless a limit is reached: then `id` is null. `retry_after_seconds` is when the
-- client should allow the next send.
create or replace function start_otp(
  for_phone text, hash bytea, encrypted_code text, address text, address_limit integer, total_limit integer
) returns table (id uuid, retry_after_seconds integer)
language plpgsql
as $$
declare
  max_sends constant integer := 3;
  send_window constant interval := '5 minutes';
  known otp;
  recent timestamptz[];
  next_send timestamptz;
begin
  -- one send per phone at a time; a new phone has no row to lock
  perform pg_advisory_xact_lock(hashtextextended('otp ' || for_phone, 0));
  select * into known from otp where otp.phone = for_phone;
  recent := array(select at from unnest(known.sends) as at where at > now() - send_window order by at desc);

  if cardinality(recent) >= max_sends then
    next_send := recent[max_sends] + send_window;
  elsif otp_is_locked(known) then
    next_send := otp_guesses_end(known);
  else
    -- the counter that all sends share comes last, so that it is locked for the shortest time
    next_send := coalesce(
      count_otp_send('address ' || left(address, 64), address_limit),
      count_otp_send('total', total_limit)
    );
  end if;
  if next_send is not null then
    return query select null::uuid, greatest(1, ceil(extract(epoch from next_send - now())))::integer;
    return;
  end if;

  recent := now() || recent;
  insert into otp (phone, code_hash, sealed_code, expires_at, sends)
  values (for_phone, hash, encrypted_code, now() + interval '5 minutes', recent)
  on conflict (phone) do update set
    id = default, code_hash = excluded.code_hash, sealed_code = excluded.sealed_code, expires_at = excluded.expires_at,
    tries = 0, used_at = null, claimed_at = null, sent_at = null, sends = excluded.sends
  returning otp.id into known.id;
  -- an SMS gets a minute to arrive; without a send left in the window, the wait lasts until there is one
  next_send := case when cardinality(recent) < max_sends then now() else recent[max_sends] + send_window end;
  return query select known.id, greatest(60, ceil(extract(epoch from next_send - now())))::integer;
end
$$;
