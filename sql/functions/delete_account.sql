-- Deletes an account: revokes its sessions, deletes its devices, favourites, staff membership and invitations, and lets its data
-- exports expire. The partner that it owned has no owner from then on, and neither has one that waited for its phone. A partner
-- that this leaves with neither owner nor staff is suspended if its status is one of `suspendable`. `keyed_phone_hash` stays, for
-- log_in. erase_accounts erases the remaining personal data later. Returns false when there is no such account.
create or replace function delete_account(of_user uuid, keyed_phone_hash bytea, suspendable partner_status[]) returns boolean
language plpgsql
as $$
declare
  left_phone text;
begin
  update users set deleted_at = now(), phone_hash = keyed_phone_hash, is_admin = false, is_observer = false, updated_at = now()
  where id = of_user and deleted_at is null
  returning phone into left_phone;
  if not found then
    return false;
  end if;

  -- all that this may change, in id order: an admin who gives one of them another owner locks two as well
  perform from partners
  where owner_id = of_user or (owner_phone = left_phone and owner_id is null)
     or id = (select partner_id from partner_staff where user_id = of_user)
  order by id
  for update;
  update sessions set revoked_at = now() where user_id = of_user and revoked_at is null;
  delete from devices where user_id = of_user;
  delete from favorites where user_id = of_user;
  delete from staff_invitations where phone = left_phone;
  -- an upkeep task deletes them with their files
  update data_exports set expires_at = now() where user_id = of_user and expires_at > now();

  perform remove_staff(partner_id, of_user, of_user, suspendable) from partner_staff where user_id = of_user;
  perform release_partners(
    array(select id from partners where owner_id = of_user or (owner_phone = left_phone and owner_id is null) for update),
    of_user, suspendable, 'Its owner has left.'
  );
  return true;
end
$$;
