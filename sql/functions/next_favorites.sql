-- Up to `most` favourites of a partner or else of a box, in the order of their ids, that come after `last`. A user is `willing`
-- who has turned on notifications about offers, and has had fewer than `often` notifications of the kind `news` about it
-- within `recently`. Those that were dropped or failed do not count, except when the user has push off or no device: they
-- read their notifications all the same.
--
-- Planned for the few favourites that most partners have, it would read and sort all favourites of a popular partner, batch
-- by batch. They are read along an index that has them in this order, so nothing but that is allowed, and one plan serves for
-- all; preferences and notifications are looked up one by one ("offset 0"), never all of them for a hash.
create or replace function next_favorites(
  of_partner uuid, of_box uuid, news text, recently interval, often integer, last uuid, most integer
)
returns table (id uuid, user_id uuid, willing boolean)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  start constant uuid := coalesce(last, '00000000-0000-0000-0000-000000000000');
  since constant uuid := first_id_at(now() - recently);
begin
  if of_partner is not null then
    return query
      select f.id, f.user_id,
             case
               when exists (select from notification_preferences p where p.user_id = f.user_id and p.marketing offset 0)
               then (
                 select count(*) < often
                 from notifications n
                 where n.user_id = f.user_id and n.id >= since and n.kind = news and n.partner_id = of_partner
                   and (n.status not in ('DROPPED', 'FAILED') or n.reason in ('push is off', 'no device'))
               )
               else false
             end
      from favorites f
      where f.partner_id = of_partner and f.id > start
      order by f.id
      limit most;
  else
    return query
      select f.id, f.user_id,
             case
               when exists (select from notification_preferences p where p.user_id = f.user_id and p.marketing offset 0)
               then (
                 select count(*) < often
                 from notifications n
                 where n.box_id = of_box and n.user_id = f.user_id and n.id >= since and n.kind = news
                   and (n.status not in ('DROPPED', 'FAILED') or n.reason in ('push is off', 'no device'))
               )
               else false
             end
      from favorites f
      where f.box_id = of_box and f.id > start
      order by f.id
      limit most;
  end if;
end
$$;
