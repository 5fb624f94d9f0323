-- Up to `most` favourites of a partner or else of a box, in the order of their ids, that come after `last`; and who of their
-- users wants to hear of offers, which nobody does who has not said so, and has not heard such `news` of it, of a kind of
-- notification, `often` enough in the time of `recently`. What did not come to anything is not heard: it was dropped or failed.
-- But who has push off, or no device, reads what there is all the same.
--
-- Most have few favourites, and what is planned for those reads and sorts all that there are, of a partner that everybody
-- likes too, batch by batch. They are read along an index that has them in this order, so nothing but that is allowed, and
-- one plan serves for all; preferences and what was heard are looked up one by one ("offset 0"), never all of them for a hash.
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
