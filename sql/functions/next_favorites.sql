-- Returns up to `max_rows` favourites of a partner, or else of a box, in id order after `after_id`. `willing` is whether the
-- user has turned on notifications about offers and had fewer than `max_recent` notifications of `of_kind` about it within
-- `recent`. Dropped and failed notifications do not count, unless the user has push off or no device: such users read
-- their notifications in the app.
--
-- A plan for the few favourites that most partners have would read and sort all favourites of a popular partner in every
-- batch. So only index scans are allowed, along an index in this order, and one generic plan serves all calls; "offset 0"
-- keeps preferences and notifications single look-ups and not a hash of the whole table. Notifications are compared by user and id:
-- by the id alone, a plan from when the table was empty would read all recent ones for each favourite.
create or replace function next_favorites(
  of_partner uuid, of_box uuid, of_kind text, recent interval, max_recent integer, after_id uuid, max_rows integer
)
returns table (id uuid, user_id uuid, willing boolean)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  start constant uuid := coalesce(after_id, '00000000-0000-0000-0000-000000000000');
  since constant uuid := first_id_at(now() - recent);
begin
  if of_partner is not null then
    return query
      select f.id, f.user_id,
             case
               when exists (select from notification_preferences p where p.user_id = f.user_id and p.marketing offset 0)
               then (
                 select count(*) < max_recent
                 from notifications n
                 where n.user_id = f.user_id and (n.user_id, n.id) >= (f.user_id, since)
                   and n.kind = of_kind and n.partner_id = of_partner
                   and (n.status not in ('DROPPED', 'FAILED') or n.reason in ('push is off', 'no device'))
               )
               else false
             end
      from favorites f
      where f.partner_id = of_partner and f.id > start
      order by f.id
      limit max_rows;
  else
    return query
      select f.id, f.user_id,
             case
               when exists (select from notification_preferences p where p.user_id = f.user_id and p.marketing offset 0)
               then (
                 select count(*) < max_recent
                 from notifications n
                 where n.box_id = of_box and n.user_id = f.user_id and (n.user_id, n.id) >= (f.user_id, since)
                   and n.kind = of_kind
                   and (n.status not in ('DROPPED', 'FAILED') or n.reason in ('push is off', 'no device'))
               )
               else false
             end
      from favorites f
      where f.box_id = of_box and f.id > start
      order by f.id
      limit max_rows;
  end if;
end
$$;
