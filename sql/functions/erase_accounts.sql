-- Erases what is personal of up to `most` accounts that were deleted 30 days ago; answers how many. Orders, reviews and points
-- stay, of somebody whom nobody can name. What a request that came at the same time as the deletion left behind goes too, and
-- so does the contact of a partner whose owner left so long ago and whom nobody has run since, of up to `most` of them. Of a
-- partner that others run only the phone goes, where it is the account's: whose another contact is nobody has checked.
create or replace function erase_accounts(most integer) returns integer
language plpgsql
as $$
declare
  gone constant uuid[] := array(
    select id from users
    where deleted_at < now() - interval '30 days' and erased_at is null
    order by deleted_at
    limit most
    for no key update skip locked
  );
  -- what is told of a phone that is somebody's again is theirs
  phones constant text[] := array(
    select phone from users former
    where id = any (gone) and phone is not null
      and not exists (select from users present where present.phone = former.phone and present.deleted_at is null)
  );
begin
  -- their deliveries go with them, and jobs that find none have nothing to do
  delete from notifications where user_id = any (gone);
  delete from notification_preferences where user_id = any (gone);
  delete from devices where user_id = any (gone);
  delete from favorites where user_id = any (gone);
  delete from sessions where user_id = any (gone);
  delete from promo_attachments where user_id = any (gone);
  update pos_events set change = change || '{"customerPhone": null, "address": null}'
  where change ->> 'customerPhone' = any (phones);
  update partners set phone = null, email = null, owner_phone = null, updated_at = now()
  where owner_phone = any (phones) and owner_id is null and status = 'REJECTED';
  -- a registration that waits for the phone is newer than the account
  update partners set phone = null, updated_at = now()
  where phone = any (phones) and owner_phone is distinct from phone;
  update orders set address = null where user_id = any (gone) and address is not null;
  -- what nothing else shows is cleared away
  update files set loose_since = now() where user_id = any (gone) and status = 'READY' and loose_since is null;
  update users
  set phone = null, first_name = null, last_name = null, email = null, avatar_url = null, avatar = null, locale = default, timezone = null,
      erased_at = now(), updated_at = now()
  where id = any (gone);
  update partners p set phone = null, email = null, updated_at = now()
  where p.id = any (array(
    select left_behind.id from partners left_behind
    where left_behind.owner_left_at < now() - interval '30 days' and left_behind.owner_id is null
      and (left_behind.phone is not null or left_behind.email is not null)
      and left_behind.owner_phone is null
      and not exists (select from partner_staff s where s.partner_id = left_behind.id)
    order by left_behind.owner_left_at
    limit most
    for no key update skip locked
  ));
  return cardinality(gone);
end
$$;
