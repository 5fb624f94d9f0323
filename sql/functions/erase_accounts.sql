-- Returns a text without a phone, in any of its usual spellings, and without names.
create or replace function redact(written text, phone text, names text[]) returns text
language plpgsql immutable
as $$
declare
  separator constant text := '[ ().-]*';
  name text;
begin
  written := regexp_replace(
    written,
    '(\+?[78]' || separator || ')?' || array_to_string(regexp_split_to_array(right(phone, 10), ''), separator),
    '…', 'g'
  );
  foreach name in array names loop
    if length(name) > 1 then
      written := regexp_replace(
        written, '\m' || regexp_replace(name, '([^[:alnum:][:space:]])', '\\\1', 'g') || '\M', '…', 'gi'
      );
    end if;
  end loop;
  return written;
end
$$;

-- Erases the personal data of up to `max_rows` accounts that were deleted 30 days ago; returns their number. Orders, reviews
-- and points stay, anonymous: a review loses mentions of its author's phone and names. Rows that a request wrote during the
-- deletion are erased too. Also erases the contacts of up to `max_rows` partners that have had no owner for 30 days and have no
-- staff, and what admins wrote about them. A partner with members loses only a phone that equals the account's: the other
-- contacts may be its members'.
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
  left_behind uuid[];
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
  left_behind :=
    array(select id from partners where owner_phone = any (phones) and owner_id is null and status = 'REJECTED' for no key update)
    || array(
      select p.id from partners p
      where p.owner_left_at < now() - interval '30 days' and p.owner_id is null
        and (p.phone is not null or p.email is not null or p.status_reason is not null)
        and p.owner_phone is null
        and not exists (select from partner_staff s where s.partner_id = p.id)
      order by p.owner_left_at
      limit max_rows
      for no key update skip locked
    );
  update partners set phone = null, email = null, owner_phone = null, status_reason = null, updated_at = now()
  where id = any (left_behind);
  update audit_events set details = details - 'reason' where subject_id = any (left_behind) and details ? 'reason';
  -- a registration with this owner_phone is newer than the account: it keeps its phone
  update partners set phone = null, updated_at = now()
  where phone = any (phones) and owner_phone is distinct from phone;
  update reviews r set text = redact(r.text, u.phone, array[u.first_name, u.last_name])
  from users u
  where u.id = any (erased_ids) and r.user_id = u.id and r.text is not null;
  update orders set address = null where user_id = any (erased_ids) and address is not null;
  -- upkeep tasks delete these exports with their files, and files that nothing else shows
  update data_exports set expires_at = now() where user_id = any (erased_ids) and expires_at > now();
  update files set unused_since = now() where user_id = any (erased_ids) and status = 'READY' and unused_since is null;
  update users
  set phone = null, first_name = null, last_name = null, email = null, avatar_url = null, avatar = null, locale = default, timezone = null,
      erased_at = now(), updated_at = now()
  where id = any (erased_ids);
  return cardinality(erased_ids);
end
$$;
