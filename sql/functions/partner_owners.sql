-- Whether a user owns or works for a partner. A rejected registration counts for nothing.
create or replace function has_partner(of_user uuid) returns boolean
language sql stable
as $$
  select exists (select from partners where owner_id = of_user and status <> 'REJECTED')
      or exists (select from partner_staff where user_id = of_user)
$$;

-- Suspends those of some partners that have neither an owner nor staff, and wait for no phone, if their status is one of
-- `suspendable`. The caller has locked them.
create or replace function suspend_deserted(candidates uuid[], actor uuid, suspendable partner_status[], why text) returns void
language plpgsql
as $$
begin
  with suspended as (
    update partners p set status = 'SUSPENDED', status_reason = why, updated_at = now()
    where id = any (candidates) and owner_id is null and owner_phone is null and status = any (suspendable)
      and not exists (select from partner_staff s where s.partner_id = p.id)
    returning id
  )
  insert into audit_events (actor_id, action, subject_id, details)
  select actor, 'PARTNER_SUSPEND', id, jsonb_build_object('reason', why) from suspended;
end
$$;

-- Takes partners from their owner, or from the phone that they wait for. One without staff is suspended if its status is one of
-- `suspendable`.
create or replace function release_partners(released uuid[], actor uuid, suspendable partner_status[], why text) returns void
language plpgsql
as $$
begin
  update partners set owner_id = null, owner_phone = null, owner_left_at = now(), updated_at = now()
  where id = any (released);
  perform suspend_deserted(released, actor, suspendable, why);
end
$$;

-- Releases a user's rejected registration, so that they can have another partner.
create or replace function release_rejected(of_user uuid) returns void
language sql
as $$
  select release_partners(array(select id from partners where owner_id = of_user and status = 'REJECTED' for update), of_user, '{}', '')
$$;

-- Makes a user the owner of the partner that waits for their phone: an approved one if there is one, else the latest
-- registration. They are notified, because anyone may have named their phone. Nothing happens when they own or work for a
-- partner. The caller has locked the user.
create or replace function claim_partner(of_user uuid, of_phone text) returns void
language plpgsql
as $$
declare
  waiting uuid;
begin
  select id into waiting
  from partners
  where owner_phone = of_phone and owner_id is null and status <> 'REJECTED'
  order by status = 'PENDING_REVIEW', id desc
  limit 1
  for update;
  if not found then
    return;
  end if;
  -- this waits for an admin who is approving it: then the user has a partner
  perform release_rejected(of_user);
  if has_partner(of_user) then
    return;
  end if;
  update partners set owner_id = of_user, updated_at = now() where id = waiting;
  perform stage_job('fan-out', jsonb_build_object('event', 'PARTNER_OWNED', 'subjectId', waiting));
end
$$;

-- Declines the partner that a user owns because somebody named their phone: the user loses it, and gets the next one that
-- waits for their phone. False when they own no such partner.
create or replace function decline_partner(of_user uuid, suspendable partner_status[]) returns boolean
language plpgsql
as $$
declare
  own_phone text;
  declined uuid[];
begin
  -- the lock keeps a user from becoming owner and staff concurrently
  select phone into own_phone from users where id = of_user and deleted_at is null for no key update;
  declined := array(select id from partners where owner_id = of_user and owner_phone is not null for update);
  if cardinality(declined) = 0 then
    return false;
  end if;
  perform release_partners(declined, of_user, suspendable, 'Its owner declined it.');
  update partners set phone = null where id = any (declined) and phone = own_phone;
  perform claim_partner(of_user, own_phone);
  return true;
end
$$;

-- Makes room for a partner that a user registers: it takes the place of registrations that only named their phone and still
-- wait for review, and of a rejected one. False when the user owns or works for another partner. The caller has locked the user.
create or replace function make_room_for_partner(of_user uuid, suspendable partner_status[]) returns boolean
language plpgsql
as $$
begin
  perform release_rejected(of_user);
  perform release_partners(
    array(
      select p.id from partners p
      join users u on u.id = of_user
      where p.status = 'PENDING_REVIEW' and p.owner_phone is not null
        and (p.owner_id = of_user or (p.owner_id is null and p.owner_phone = u.phone))
      for update of p
    ),
    of_user, suspendable, 'Its owner registered another partner.'
  );
  return not has_partner(of_user);
end
$$;
