-- Deletes an account: revokes its sessions and deletes its devices, favourites, staff membership and invitations. The partner
-- that it owned has no owner from then on, and neither has one that waited for its phone. Such a partner is suspended when it
-- has no staff and its status is one of `suspendable`. erase_accounts erases the remaining personal data later. Returns false
-- when there is no such account.
create or replace function delete_account(of_user uuid, suspendable partner_status[]) returns boolean
language plpgsql
as $$
declare
  left_phone text;
  left_partners uuid[];
begin
  update users set deleted_at = now(), is_admin = false, updated_at = now()
  where id = of_user and deleted_at is null
  returning phone into left_phone;
  if not found then
    return false;
  end if;

  update sessions set revoked_at = now() where user_id = of_user and revoked_at is null;
  delete from devices where user_id = of_user;
  delete from favorites where user_id = of_user;
  delete from partner_staff where user_id = of_user;
  delete from staff_invitations where phone = left_phone;

  with unowned as (
    update partners set owner_id = null, owner_phone = null, owner_left_at = now(), updated_at = now()
    where owner_id = of_user or (owner_phone = left_phone and owner_id is null)
    returning id
  )
  select array_agg(id) into left_partners from unowned;
  with suspended as (
    update partners p set status = 'SUSPENDED', status_reason = 'Its owner has left.'
    where id = any (left_partners) and status = any (suspendable)
      and not exists (select from partner_staff s where s.partner_id = p.id)
    returning id
  )
  insert into audit_events (actor_id, action, subject_id, details)
  select of_user, 'PARTNER_SUSPEND', id, '{"reason": "Its owner has left."}' from suspended;
  return true;
end
$$;
