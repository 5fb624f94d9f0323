-- Closes an account: its sessions end, and its devices, favourites and place in a partner's staff are gone. The partner that
-- it owned waits for a new owner, and so does one that waited for its phone or was rejected before it could be theirs; when
-- nobody is left there to serve its customers and its status is among `suspendable`, it is suspended. What remains personal
-- is erased later. False when there is no such account (any more).
create or replace function delete_account(leaving uuid, suspendable partner_status[]) returns boolean
language plpgsql
as $$
declare
  left_phone text;
  left_partners uuid[];
begin
  update users set deleted_at = now(), is_admin = false, updated_at = now()
  where id = leaving and deleted_at is null
  returning phone into left_phone;
  if not found then
    return false;
  end if;

  update sessions set revoked_at = now() where user_id = leaving and revoked_at is null;
  delete from devices where user_id = leaving;
  delete from favorites where user_id = leaving;
  delete from partner_staff where user_id = leaving;
  delete from staff_invitations where phone = left_phone;

  with unowned as (
    update partners set owner_id = null, owner_phone = null, owner_left_at = now(), updated_at = now()
    where owner_id = leaving or (owner_phone = left_phone and owner_id is null)
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
  select leaving, 'PARTNER_SUSPEND', id, '{"reason": "Its owner has left."}' from suspended;
  return true;
end
$$;
