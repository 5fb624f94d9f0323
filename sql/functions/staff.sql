-- Adds whoever has this phone to a partner's staff, or invites them until they first log in; adding them again changes nothing.
-- No row when `acting` is not the partner's owner. TAKEN: they own or work for another partner, or own this one. FULL: there are `most` already.
create or replace function add_staff(employer uuid, acting uuid, staff_phone text, most integer)
returns table (outcome text, id uuid, user_id uuid)
language plpgsql
as $$
#variable_conflict use_column
declare
  member_id uuid;
  invitation_id uuid;
begin
  -- those who are added at the same time count
  perform from partners p where p.id = employer and p.owner_id = acting for no key update;
  if not found then
    return;
  end if;

  select u.id into member_id from users u where u.phone = staff_phone and u.deleted_at is null;
  if exists (select from partner_staff s where s.user_id = member_id and s.partner_id = employer) then
    return query select 'KNOWN', member_id, member_id;
    return;
  end if;
  if exists (select from partners p where p.owner_id = member_id)
    or exists (select from partner_staff s where s.user_id = member_id) then
    return query select 'TAKEN', null::uuid, null::uuid;
    return;
  end if;
  select i.id into invitation_id from staff_invitations i where i.partner_id = employer and i.phone = staff_phone;
  if member_id is null and invitation_id is not null then
    return query select 'KNOWN', invitation_id, null::uuid;
    return;
  end if;
  if (select count(*) from partner_staff s where s.partner_id = employer)
    + (select count(*) from staff_invitations i where i.partner_id = employer) >= most then
    return query select 'FULL', null::uuid, null::uuid;
    return;
  end if;

  if member_id is null then
    return query
      insert into staff_invitations (partner_id, phone) values (employer, staff_phone)
      returning 'ADDED', staff_invitations.id, null::uuid;
    return;
  end if;
  insert into partner_staff (user_id, partner_id) values (member_id, employer) on conflict (user_id) do nothing;
  if not found then
    return query select 'TAKEN', null::uuid, null::uuid;
    return;
  end if;
  delete from staff_invitations i where i.id = invitation_id;
  return query select 'ADDED', member_id, member_id;
end
$$;
