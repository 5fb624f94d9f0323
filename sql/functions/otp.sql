-- Returns when a phone's wrong guesses no longer count: a day after the first of them.
create or replace function otp_guesses_end(o otp) returns timestamptz
language sql stable parallel safe
as $$
  select o.guesses_since + interval '1 day'
$$;

-- Whether strangers have guessed at a phone's codes so often that a code takes one guess from the place that requested it, and
-- one each from two others. The phone is not locked: that would let anyone keep its holder from logging in.
create or replace function otp_is_guarded(o otp) returns boolean
language sql stable parallel safe
as $$
  select o.wrong_guesses >= 50 and otp_guesses_end(o) > now()
$$;

-- Returns when a phone may get another code after these sends, newest first; null: at once. There are 3 in any 5 minutes. After
-- `daily_limit` in a day there is one each half an hour, so that strangers who use them up cannot keep its holder waiting.
create or replace function next_otp_send(sends timestamptz[], daily_limit integer) returns timestamptz
language sql stable parallel safe
as $$
  select greatest(
    sends[3] + interval '5 minutes',
    case when sends[daily_limit] > now() - interval '1 day' then sends[1] + interval '30 minutes' end
  )
$$;

-- Makes a code the phone's only valid one, unless a limit is reached: then `id` is null. `retry_after_seconds` is when the
-- client should allow the next send. `place` is where the request comes from: a client's network, or the session of an earlier
-- login: `is_known`, which the limit of a day does not concern.
create or replace function start_otp(
  for_phone text, hash bytea, encrypted_code text, from_place text, is_known boolean, daily_limit integer,
  place_limit integer, total_limit integer
) returns table (id uuid, retry_after_seconds integer)
language plpgsql
as $$
declare
  send_window constant interval := '5 minutes';
  latest timestamptz[];
  next_send timestamptz;
  started uuid;
  moment timestamptz;
begin
  -- one send per phone at a time; a new phone has no row to lock
  perform pg_advisory_xact_lock(hashtextextended('otp ' || for_phone, 0));
  -- a login may hold the row: it is waited for before the counters, which others need
  select sends into latest from otp where otp.phone = for_phone for update;
  -- not now(): the send that this one waited for may be later than that
  moment := clock_timestamp();
  next_send := next_otp_send(latest, case when is_known then null else daily_limit end);
  if next_send is null or next_send <= moment then
    -- the counter that all sends share comes last, so that it is locked for the shortest time
    next_send := coalesce(
      count_action('code to ' || from_place, place_limit, send_window),
      count_action('code', total_limit, send_window)
    );
  end if;
  if next_send is not null then
    return query select null::uuid, greatest(1, ceil(extract(epoch from next_send - moment)))::integer;
    return;
  end if;

  latest := (moment || latest)[1:greatest(3, daily_limit)];
  insert into otp (phone, code_hash, encrypted_code, expires_at, sends, place)
  values (for_phone, hash, encrypted_code, moment + interval '5 minutes', latest, from_place)
  on conflict (phone) do update set
    id = default, code_hash = excluded.code_hash, encrypted_code = excluded.encrypted_code, expires_at = excluded.expires_at,
    place = excluded.place, guesses = '{}', late = '{}',
    proven = case when otp_is_guarded(otp) then (otp.late || otp.proven)[1:4] else '{}' end, used_at = null, claimed_at = null, sent_at = null, sends = excluded.sends
  returning otp.id into started;
  -- an SMS gets a minute to arrive; without a send left, the wait lasts until there is one
  next_send := next_otp_send(latest, case when is_known then null else daily_limit end);
  return query select started, greatest(60, ceil(extract(epoch from next_send - moment)))::integer;
end
$$;

-- Counts a guess from a place before it is compared, so that concurrent guesses cannot exceed the limits. Outcomes: COMPARE, with
-- the code's id and hash; NO_CODE, also when this place has used up its guesses of the code; EXPIRED; TOO_MANY. `is_known`: the
-- place is the session of an earlier login, which other places' guesses do not affect. `place_limit` wrong guesses are
-- permitted from a place within `lasting`, whatever the phone. `hashes` are those that the guess may have.
--
-- Strangers at a few addresses could request all codes of a guarded phone and use up their guesses, and so keep its holder from
-- a new device. So a place that enters the right code too late gets the same answer as others, but a guess of later codes: only the
-- holder knows two codes in a row, and to guess both takes a million times as many guesses as to guess one.
create or replace function count_guess(
  for_phone text, hashes bytea[], from_place text, is_known boolean, place_limit integer, lasting interval
) returns table (outcome text, id uuid, hash bytea, retry_after_seconds integer)
language plpgsql
as $$
declare
  code otp;
  guarded boolean;
  spent integer;
  blocked_until timestamptz;
begin
  -- A lock takes a write. Only a valid code is locked, so that the time of the answer does not tell which phones had one.
  select * into code from otp where otp.phone = for_phone;
  if code.used_at is null and code.expires_at > now() then
    select * into code from otp where otp.phone = for_phone for update;
  end if;
  guarded := not is_known and otp_is_guarded(code);
  spent := coalesce((code.guesses ->> from_place)::integer, 0);
  if code.phone is null or code.used_at is not null or spent >= (case when guarded then 1 else 5 end) then
    return query select 'NO_CODE', null::uuid, null::bytea, null::integer;
    return;
  end if;
  if code.expires_at <= now() then
    return query select 'EXPIRED', null::uuid, null::bytea, null::integer;
    return;
  end if;
  if guarded and from_place <> all (code.place || code.proven)
    and (select count(*) from jsonb_object_keys(code.guesses - code.place) as place where place not like 'session %') >= 2
  then
    if count_action('late guess of ' || code.id || ' from ' || from_place, 1, interval '5 minutes') is null then
      -- a write in either case, so that the time of the answer does not reveal a right guess
      update otp set late = case when code_hash = any (hashes) then (from_place || late)[1:4] else late end
      where otp.phone = for_phone;
    end if;
    blocked_until := greatest(now() + interval '1 minute', next_otp_send(code.sends, null));
  else
    blocked_until := count_action('guess from ' || from_place, place_limit, lasting);
  end if;
  if blocked_until is not null then
    return query select 'TOO_MANY', null::uuid, null::bytea,
      greatest(1, ceil(extract(epoch from blocked_until - clock_timestamp())))::integer;
    return;
  end if;
  update otp set
    guesses = jsonb_set(guesses, array[from_place], to_jsonb(spent + 1)),
    wrong_guesses = case when otp_guesses_end(code) > now() then wrong_guesses else 0 end + case when is_known then 0 else 1 end,
    guesses_since = case when otp_guesses_end(code) > now() then guesses_since else now() end
  where otp.phone = for_phone;
  return query select 'COMPARE', code.id, code.code_hash, null::integer;
end
$$;
