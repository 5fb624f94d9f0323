-- Imports rows of a CSV file into a partner's menu. The result is the same as if each row were imported alone, in order. Rows
-- that do not affect each other are written together, because one by one takes at least twice as long: `npm run bench -- csv`
-- would miss its goal.

-- Returns the id of a menu's category by name, ignoring case.
create or replace function menu_category_of(of_partner uuid, category text) returns uuid
language sql stable parallel safe
as $$
  select c.id from menu_categories c where c.partner_id = of_partner and lower(c.name) = lower(category)
$$;

-- Returns the item that a row names: the one with its external id, else one with its category and name, ignoring
-- case, and no other external id. Among several of that name an item that is not from the POS comes before the POS's, one on
-- the menu before an archived one, and then one without an external id; an archived item of the POS never matches. It does not
-- count which item with an external id is older, as a batch may insert them in another order. Each branch reads one index in
-- its order, however many items share a name.
create or replace function menu_item_of_row(of_partner uuid, in_category uuid, row_external_id text, row_name_key text) returns setof menu_items
language sql stable parallel safe
as $$
  (
    select m.*
    from menu_items m
    where menu_item_key(m.partner_id, m.external_id) = menu_item_key(of_partner, row_external_id)
  )
  union all
  (
    select m.*
    from menu_items m
    where m.category_id = in_category and lower(m.name) = row_name_key
      and row_external_id is not null and m.external_id is null
      and (m.source <> 'POS' or m.archived_at is null)
    order by m.source = 'POS', m.archived_at is not null, m.id
    limit 1
  )
  union all
  (
    select m.*
    from menu_items m
    where m.category_id = in_category and lower(m.name) = row_name_key
      and row_external_id is null
      and (m.source <> 'POS' or m.archived_at is null)
    order by m.archived_at is not null, m.source = 'POS', m.external_id nulls first, m.id
    limit 1
  )
  limit 1
$$;

-- Returns each row with its item, whether the item differs from the row, and whether the row clashes: shares an external id or
-- a name with another row, or with the item that another row changes. A null in `available` does not differ, and neither do
-- description and weight where the file has no such column.
create or replace function match_menu_rows(
  of_partner uuid,
  rows menu_row[],
  has_description boolean,
  has_weight boolean
) returns setof matched_menu_row
language sql stable
as $$
  with incoming as materialized (
    select r.place, r.category, r.name, r.price_minor, r.external_id, r.description, r.weight_grams, r.available,
           lower(r.category) as category_key, lower(r.name) as name_key
    from unnest(rows) with ordinality
      as r (category, name, price_minor, external_id, description, weight_grams, available, place)
  ), categories as materialized (
    select named.category_key, c.id
    from (select distinct category_key from incoming) as named
    cross join lateral (
      select c.id from menu_categories c where c.partner_id = of_partner and lower(c.name) = named.category_key limit 1
    ) as c
  ), matched as materialized (
    select r.place, r.category, r.name, r.price_minor, r.external_id, r.description, r.weight_grams, r.available,
           r.category_key, r.name_key, c.id as category_id, m.id as item_id, m.source, lower(m.name) as old_name,
           (select lower(old.name) from menu_categories old where old.id = m.category_id) as old_category,
           (
             m.category_id, m.name, m.price_minor, m.external_id, m.description, m.weight_grams, m.available, m.source,
             m.archived_at
           ) is distinct from (
             c.id, r.name, r.price_minor, coalesce(r.external_id, m.external_id),
             case when has_description then r.description else m.description end,
             case when has_weight then r.weight_grams else m.weight_grams end,
             coalesce(r.available, m.available), 'CSV'::item_source, null::timestamptz
           ) as differs
    from incoming r
    left join categories c on c.category_key = r.category_key
    left join lateral menu_item_of_row(of_partner, c.id, r.external_id, r.name_key) m on true
  ), touched (place, thing) as (
    select place, 'key ' || external_id from matched where external_id is not null
    union all
    select place, 'name ' || category_key || ' ' || name_key from matched
    union all
    select place, 'name ' || old_category || ' ' || old_name from matched where item_id is not null
  ), shared as (
    select thing from touched group by thing having min(place) < max(place)
  )
  select place::integer, category, name, price_minor, external_id, description, weight_grams, available, category_id, item_id,
         source, differs, place in (select t.place from touched t join shared s on s.thing = t.thing)
  from matched
$$;

-- Imports the rows: at most `room` of them as new items, and at most `repeats` of those that clash. Returns how many inserted an
-- item, how many matched one, how many clashed, and the positions (from 1) of those that were refused: because their item belongs
-- to the partner's POS, for want of room, and because they clash once too often. An archived item is restored. Only index scans
-- are allowed: a plan from when there were a few items would read all items for each row.
create or replace function import_menu_rows(
  of_partner uuid, rows menu_row[], has_description boolean, has_weight boolean, room integer, repeats integer
)
returns table (
  created integer, updated integer, repeated integer, of_pos integer[], without_room integer[], beyond_repeats integer[]
)
language plpgsql
set enable_seqscan = off
as $$
declare
  matched constant matched_menu_row[] := array(
    select m from match_menu_rows(of_partner, rows, has_description, has_weight) m
  );
  excess constant integer[] := array(
    select r.place from unnest(matched) r where r.item_id is null and not r.clashes order by r.place offset greatest(room, 0)
  );
  clashing integer;
  result record;
begin
  -- 1. Lock in the order of every statement that changes menus: categories before items, and items by id.
  insert into menu_categories (partner_id, name)
  select distinct on (lower(r.category)) of_partner, r.category
  from unnest(matched) r
  where r.category_id is null and r.source is distinct from 'POS' and r.place <> all (excess)
    and (room > 0 or r.item_id is not null)
  order by lower(r.category), r.place
  on conflict (partner_id, lower(name)) do nothing;
  perform from menu_items m
  where m.id in (select r.item_id from unnest(matched) r where r.source <> 'POS' and r.differs)
  order by m.id
  for no key update;

  -- 2. Update matched items that differ; most rows of a menu that is sent every night do not.
  update menu_items m
  set category_id = coalesce(r.category_id, menu_category_of(of_partner, r.category)),
      name = r.name,
      price_minor = r.price_minor,
      external_id = coalesce(r.external_id, m.external_id),
      description = case when has_description then r.description else m.description end,
      weight_grams = case when has_weight then r.weight_grams else m.weight_grams end,
      available = coalesce(r.available, m.available),
      source = 'CSV',
      archived_at = null,
      updated_at = now()
  from unnest(matched) r
  where m.id = r.item_id and r.source <> 'POS' and r.differs and not r.clashes;

  -- 3. Insert new items, in row order. They have no event each: that of the import's end says how many there are.
  insert into menu_items (
    partner_id, category_id, name, price_minor, external_id, description, weight_grams, available, source
  )
  select of_partner, coalesce(r.category_id, menu_category_of(of_partner, r.category)), r.name, r.price_minor,
         r.external_id, r.description, r.weight_grams, coalesce(r.available, true), 'CSV'
  from unnest(matched) r
  where r.item_id is null and not r.clashes and r.place <> all (excess)
  order by r.place;

  select count(*) filter (where r.item_id is null) - cardinality(excess), count(*) filter (where r.source <> 'POS'), 0,
         coalesce(array_agg(r.place) filter (where r.source = 'POS'), '{}'), excess, '{}'
  into created, updated, repeated, of_pos, without_room, beyond_repeats
  from unnest(matched) r
  where not r.clashes;

  -- 4. Import clashing rows one by one: the item of each depends on the rows before it.
  for clashing in
    select r.place from unnest(matched) r where r.clashes order by r.place
  loop
    if repeated >= repeats then
      beyond_repeats := beyond_repeats || clashing;
      continue;
    end if;
    select s.created, s.updated, cardinality(s.of_pos) as of_pos, cardinality(s.without_room) as without_room
    into result
    from import_menu_rows(of_partner, rows[clashing:clashing], has_description, has_weight, room - created, 0) s;
    created := created + result.created;
    updated := updated + result.updated;
    repeated := repeated + 1;
    if result.of_pos > 0 then
      of_pos := of_pos || clashing;
    elsif result.without_room > 0 then
      without_room := without_room || clashing;
    end if;
  end loop;
  return next;
end
$$;
