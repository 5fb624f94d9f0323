-- Returns how long a refresh token is valid.
create or replace function refresh_token_lifetime() returns interval
language sql immutable parallel safe
as $$
  select interval '30 days'
$$;

-- Consumes a code and opens a session for its phone's user, whom the first login creates with the first of `new_service_ids`
-- that is free, and links to the phone's first account by one of `phone_hashes`, its keyed hashes. A partner that waits for this
-- phone gets the user as its owner (claim_partner). No row when the code was used or replaced, or the account deleted, in the meantime.
create or replace function log_in(
  otp_id uuid, new_service_ids text[], phone_hashes bytea[], token_digest bytea, to_dashboard boolean, from_place text,
  is_known boolean
) returns table (user_id uuid, session_id uuid)
language plpgsql
as $$
#variable_conflict use_column
declare
  login_phone text;
  member_id uuid;
  login_session uuid;
begin
  -- the guess was counted as wrong before it was compared, and was right
  update otp set used_at = now(), encrypted_code = null,
    wrong_guesses = greatest(wrong_guesses - case when is_known then 0 else 1 end, 0)
  where id = otp_id and used_at is null
  returning phone into login_phone;
  if not found then
    return;
  end if;

  update action_counts set times = times - 1 where action = 'guess from ' || from_place and times > 0;

  insert into users (service_id, phone, first_account_id)
  select candidate, login_phone, (
    select coalesce(former.first_account_id, former.id) from users former where former.phone_hash = any (phone_hashes) limit 1
  )
  from unnest(new_service_ids) as candidate
  where not exists (select from users where phone = login_phone and deleted_at is null)
    and not exists (select from users where service_id = candidate)
  limit 1
  on conflict (phone) where deleted_at is null do nothing;
  -- the lock keeps a user from becoming owner and staff concurrently, and from being deleted
  select id into member_id from users where phone = login_phone and deleted_at is null for no key update;
  if not found then
    return;
  end if;
  perform claim_partner(member_id, login_phone);

  insert into sessions (user_id, for_dashboard) values (member_id, to_dashboard) returning id into login_session;
  insert into refresh_tokens (digest, session_id, expires_at) values (token_digest, login_session, now() + refresh_token_lifetime());
  return query select member_id, login_session;
end
$$;

-- Exchanges a refresh token for its successor. `successors` are the digests of its possible successors, one per signing key in
-- force, the current key's first. No row when the token is unknown, expired or revoked. A token that was exchanged before
-- revokes its session, except once within 10 seconds while its successor is unused: then the response was probably lost, and
-- the same successor is returned.
create or replace function rotate_refresh_token(presented bytea, successors bytea[])
returns table (user_id uuid, session_id uuid, successor bytea)
language plpgsql
as $$
#variable_conflict use_column
declare
  token refresh_tokens;
  owner_id uuid;
begin
  select * into token from refresh_tokens where digest = presented and expires_at > now() for update;
  select sessions.user_id into owner_id
  from sessions join users on users.id = sessions.user_id and users.deleted_at is null
  where sessions.id = token.session_id and revoked_at is null and not for_dashboard;
  if owner_id is null then
    return;
  end if;

  if token.rotated_at is null then
    insert into refresh_tokens (digest, session_id, expires_at) values (successors[1], token.session_id, now() + refresh_token_lifetime());
    update refresh_tokens set rotated_at = now(), successor = successors[1] where digest = presented;
    return query select owner_id, token.session_id, successors[1];
  elsif token.replayed_at is null
    and token.rotated_at > now() - interval '10 seconds'
    and token.successor = any (successors)
    and exists (select from refresh_tokens where digest = token.successor and rotated_at is null)
  then
    update refresh_tokens set replayed_at = now() where digest = presented;
    return query select owner_id, token.session_id, token.successor;
  else
    update sessions set revoked_at = now() where id = token.session_id;
  end if;
end
$$;
