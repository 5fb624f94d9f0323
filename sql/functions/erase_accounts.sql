-- Erases the personal data of up to `max_rows` accounts that were deleted 30 days ago; returns their number. Orders, reviews
-- and points stay, anonymous. Rows that a request wrote during the deletion are erased too. Also erases the contacts of up to
-- `max_rows` partners that have had no owner for 30 days and have no staff. A partner with members loses only a phone that
-- equals the account's: the other contacts may be its members'.
create or replace function erase_accounts(max_rows integer) returns integer
language plpgsql
as $$
declare
  erased_ids constant uuid[] := array(
    select id from users
    where deleted_at < now() - interval '30 days' and erased_at is null
    order by deleted_at
    limit max_rows
    for no key update skip locked
  );
  -- a phone that another account has now is not erased: the data about it may be that account's
  phones constant text[] := array(
    select phone from users former
    where id = any (erased_ids) and phone is not null
      and not exists (select from users present where present.phone = former.phone and present.deleted_at is null)
  );
begin
  -- deletes their deliveries by cascade; a push job whose notification is gone does nothing
  delete from notifications where user_id = any (erased_ids);
  delete from notification_preferences where user_id = any (erased_ids);
  delete from devices where user_id = any (erased_ids);
  delete from favorites where user_id = any (erased_ids);
  delete from sessions where user_id = any (erased_ids);
  delete from promo_attachments where user_id = any (erased_ids);
  update pos_events set change = change || '{"customerPhone": null, "address": null}'
  where change ->> 'customerPhone' = any (phones);
  update partners set phone = null, email = null, owner_phone = null, updated_at = now()
  where owner_phone = any (phones) and owner_id is null and status = 'REJECTED';
  -- a registration with this owner_phone is newer than the account: it keeps its phone
  update partners set phone = null, updated_at = now()
  where phone = any (phones) and owner_phone is distinct from phone;
  update orders set address = null where user_id = any (erased_ids) and address is not null;
  -- an upkeep task deletes files that nothing else shows
  update files set loose_since = now() where user_id = any (erased_ids) and status = 'READY' and loose_since is null;
  update users
  set phone = null, first_name = null, last_name = null, email = null, avatar_url = null, avatar = null, locale = default, timezone = null,
      erased_at = now(), updated_at = now()
  where id = any (erased_ids);
  update partners p set phone = null, email = null, updated_at = now()
  where p.id = any (array(
    select left_behind.id from partners left_behind
    where left_behind.owner_left_at < now() - interval '30 days' and left_behind.owner_id is null
      and (left_behind.phone is not null or left_behind.email is not null)
      and left_behind.owner_phone is null
      and not exists (select from partner_staff s where s.partner_id = left_behind.id)
    order by left_behind.owner_left_at
    limit max_rows
    for no key update skip locked
  ));
  return cardinality(erased_ids);
end
$$;
