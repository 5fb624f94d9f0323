-- Invites the holder of a phone to a partner's staff; the result does not reveal whether the phone has an account. Outcomes:
-- INVITED; KNOWN, the invitation exists; FULL, the partner has `max_staff` staff and invitations. No row when `inviter` does
-- not own the partner.
create or replace function invite_staff(of_partner uuid, inviter uuid, staff_phone text, max_staff integer)
returns table (outcome text, id uuid)
language plpgsql
as $$
#variable_conflict use_column
declare
  invitation_id uuid;
begin
  -- the lock makes concurrent invitations count
  perform from partners p where p.id = of_partner and p.owner_id = inviter for no key update;
  if not found then
    return;
  end if;
  select i.id into invitation_id from staff_invitations i where i.partner_id = of_partner and i.phone = staff_phone;
  if found then
    return query select 'KNOWN', invitation_id;
    return;
  end if;
  if (select count(*) from partner_staff s where s.partner_id = of_partner)
    + (select count(*) from staff_invitations i where i.partner_id = of_partner) >= max_staff then
    return query select 'FULL', null::uuid;
    return;
  end if;
  return query
    insert into staff_invitations (partner_id, phone) values (of_partner, staff_phone)
    returning 'INVITED', staff_invitations.id;
end
$$;

-- Accepts an invitation: its user joins the partner's staff. Outcomes: JOINED; TAKEN, the user owns or works for a partner. No
-- row when there is no such invitation for the user's phone.
create or replace function accept_invitation(of_invitation uuid, invited uuid)
returns table (outcome text, partner_id uuid)
language plpgsql
as $$
#variable_conflict use_column
declare
  employer uuid;
begin
  -- the lock keeps a user from becoming owner and staff concurrently
  perform from users u where u.id = invited for no key update;
  select i.partner_id into employer
  from staff_invitations i
  join users u on u.phone = i.phone and u.id = invited and u.deleted_at is null
  where i.id = of_invitation
  for update of i;
  if not found then
    return;
  end if;
  -- this waits for an admin who is approving it: then the user has a partner
  perform release_rejected(invited);
  if has_partner(invited) then
    return query select 'TAKEN', null::uuid;
    return;
  end if;
  insert into partner_staff (user_id, partner_id) values (invited, employer);
  delete from staff_invitations i where i.id = of_invitation;
  return query select 'JOINED', employer;
end
$$;

-- Removes a member of a partner's staff. A partner that is left with neither owner nor staff is suspended if its status is one of
-- `suspendable`. False when the member does not work there.
create or replace function remove_staff(of_partner uuid, member uuid, actor uuid, suspendable partner_status[]) returns boolean
language plpgsql
as $$
begin
  -- before the removal: of the last two who leave at once, the second sees that the first has left
  perform from partners where id = of_partner for no key update;
  delete from partner_staff where user_id = member and partner_id = of_partner;
  if not found then
    return false;
  end if;
  perform suspend_deserted(array[of_partner], actor, suspendable, 'Its last member has left.');
  return true;
end
$$;
