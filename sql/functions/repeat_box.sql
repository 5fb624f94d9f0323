-- Lists a box again on a day of its partner's zone, at the same local time (also when clocks change in between), with the
-- quantity it offered and the same contents. With `by_schedule` at most one box is listed per source and day. Returns the new
-- box's id; null when that day's box exists already, its window is over or there is nothing to list.
create or replace function repeat_box(source_id uuid, on_day date, by_schedule boolean, caused_by text default null) returns uuid
language plpgsql
as $$
declare
  repeated uuid;
begin
  insert into boxes (
    partner_id, city_id, title, description, price_minor, original_price_minor, weight_grams, quantity_available,
    max_per_customer, pickup_window_start, pickup_window_end, image, repeats_id, repeats_on
  )
  select b.partner_id, p.city_id, b.title, b.description, b.price_minor, b.original_price_minor, b.weight_grams,
         b.quantity_available + b.quantity_reserved, b.max_per_customer, moved.opens,
         moved.opens + (b.pickup_window_end - b.pickup_window_start), b.image,
         case when by_schedule then b.id end, case when by_schedule then on_day end
  from boxes b
  join partners p on p.id = b.partner_id and p.status = 'ACTIVE'
  join cities c on c.id = p.city_id
  cross join lateral (select local_zone(p.timezone, c.timezone) as zone) as local
  cross join lateral (
    select (on_day + (b.pickup_window_start at time zone local.zone)::time) at time zone local.zone as opens
  ) as moved
  where b.id = source_id and b.deleted_at is null
    and b.quantity_available + b.quantity_reserved > 0
    and moved.opens + (b.pickup_window_end - b.pickup_window_start) > statement_timestamp()
  on conflict (repeats_id, repeats_on) where repeats_id is not null do nothing
  returning id into repeated;
  insert into box_items (box_id, menu_item_id, qty)
  select repeated, i.menu_item_id, i.qty
  from box_items i
  join menu_items m on m.id = i.menu_item_id and m.archived_at is null
  where i.box_id = source_id and repeated is not null;
  if repeated is not null then
    perform stage_job('fan-out', jsonb_build_object('event', 'BOX_LISTED', 'subjectId', repeated), caused_by);
    perform record_event('box.listed', b.partner_id, box_facts(b)) from boxes b where b.id = repeated;
  end if;
  return repeated;
end
$$;
