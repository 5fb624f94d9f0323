-- Invites whoever has this phone to a partner's staff; inviting them again changes nothing, and the answer is the same
-- whether or not anybody has this phone. No row when `acting` is not the partner's owner. FULL: there are `most` staff and
-- invitations already.
create or replace function invite_staff(employer uuid, acting uuid, staff_phone text, most integer)
returns table (outcome text, id uuid)
language plpgsql
as $$
#variable_conflict use_column
declare
  invitation_id uuid;
begin
  -- those who are invited at the same time count
  perform from partners p where p.id = employer and p.owner_id = acting for no key update;
  if not found then
    return;
  end if;
  select i.id into invitation_id from staff_invitations i where i.partner_id = employer and i.phone = staff_phone;
  if found then
    return query select 'KNOWN', invitation_id;
    return;
  end if;
  if (select count(*) from partner_staff s where s.partner_id = employer)
    + (select count(*) from staff_invitations i where i.partner_id = employer) >= most then
    return query select 'FULL', null::uuid;
    return;
  end if;
  return query
    insert into staff_invitations (partner_id, phone) values (employer, staff_phone)
    returning 'INVITED', staff_invitations.id;
end
$$;

-- Makes an invited user one of the staff. No row when the invitation is not for their phone (any more). TAKEN: they own or
-- work for a partner already.
create or replace function accept_invitation(invitation uuid, invited uuid)
returns table (outcome text, partner_id uuid)
language plpgsql
as $$
#variable_conflict use_column
declare
  employer uuid;
begin
  -- nobody comes to own a partner and to work for another at the same time
  perform from users u where u.id = invited for no key update;
  select i.partner_id into employer
  from staff_invitations i
  join users u on u.phone = i.phone and u.id = invited and u.deleted_at is null
  where i.id = invitation
  for update of i;
  if not found then
    return;
  end if;
  if exists (select from partners p where p.owner_id = invited)
    or exists (select from partner_staff s where s.user_id = invited) then
    return query select 'TAKEN', null::uuid;
    return;
  end if;
  insert into partner_staff (user_id, partner_id) values (invited, employer);
  delete from staff_invitations i where i.id = invitation;
  return query select 'JOINED', employer;
end
$$;
