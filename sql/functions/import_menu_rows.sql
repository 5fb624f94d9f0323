-- Puts rows of a CSV file into a partner's menu, as if one after the other. `refused` has the places (from 1) of those
-- whose item belongs to the partner's POS: what the POS says of it stays.
--
-- A row changes the item that has its external id; else the one of its category and name, ignoring case, which must not
-- have another external id. An archived item comes back. Where several items share a name, one that is not archived is
-- meant, and the POS's own last; what the POS has taken off its menu is not meant. Without a match the row makes an item.
--
-- category_names has each spelling once, category_nos says which one a row names. A column that the file does not have
-- leaves items as they are: has_description, has_weight; and so does a null in availables.
--
-- Rows that have nothing to do with each other are written together. Those that may, because they name the same key or
-- item, or one names what another renames, follow one by one, so that the file means the same wherever a batch ends.
-- Each of them leaves a version behind that all later ones of its transaction have to step over: after 200 it is enough.
-- So many rows, from the first on, as `done` says are dealt with; the others are for another transaction.
--
-- All categories come before any item, as with everyone who takes both: so no two wait for each other.
--
-- Plans are kept, and every look-up is by a key: a plan that was made while a menu was small must not read a large one
-- whole, or sort all items of one name, however tempting that looked then.
create or replace function import_menu_rows(
  importing uuid,
  category_names text[],
  category_nos integer[],
  names text[],
  prices bigint[],
  external_ids text[],
  descriptions text[],
  weights integer[],
  availables boolean[],
  has_description boolean,
  has_weight boolean
) returns table (created integer, updated integer, refused integer[], done integer)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  category_ids uuid[];
  category_keys text[];
  item_ids uuid[];
  sources item_source[];
  -- of each row: NEW, KNOWN, REFUSED, or AGAIN for one that follows by itself
  fates text[];
  made text[];
  place integer;
  single record;
begin
  select array_agg(c.id order by n.no), array_agg(lower(n.name) order by n.no)
  into category_ids, category_keys
  from unnest(category_names) with ordinality as n (name, no)
  left join lateral (
    select id from menu_categories where partner_id = importing and lower(name) = lower(n.name)
  ) c on true;

  with incoming as materialized (
    select r.place, r.external_id, lower(r.name) as name_key, category_ids[r.category_no] as category_id,
           coalesce(category_ids[r.category_no]::text, category_keys[r.category_no]) as category_key
    from unnest(category_nos, names, external_ids) with ordinality as r (category_no, name, external_id, place)
  ), matched as materialized (
    select i.place, i.external_id, i.name_key, i.category_key,
           item.id, item.source, item.category_id::text as old_category_key, item.name_key as old_name_key
    from incoming i
    left join lateral (
      (
        select m.id, m.source, m.category_id, lower(m.name) as name_key
        from menu_items m
        -- the same as being equal, but only one index has this order: while menus are small, another one looks as cheap
        where m.partner_id = importing and m.external_id >= i.external_id and m.external_id <= i.external_id
        order by m.external_id
        limit 1
      )
      union all
      (
        select m.id, m.source, m.category_id, i.name_key
        from menu_items m
        where m.category_id = i.category_id and lower(m.name) = i.name_key
          and i.external_id is not null and m.external_id is null
          and (m.source <> 'POS' or m.archived_at is null)
        order by m.source = 'POS', m.archived_at is not null, m.id
        limit 1
      )
      union all
      (
        select m.id, m.source, m.category_id, i.name_key
        from menu_items m
        where m.category_id = i.category_id and lower(m.name) = i.name_key
          and i.external_id is null
          and (m.source <> 'POS' or m.archived_at is null)
        order by m.archived_at is not null, m.source = 'POS', m.id
        limit 1
      )
      limit 1
    ) item on true
  ), clashing as (
    select distinct unnest(array_agg(t.place)) as place
    from (
      select m.place, 'key ' || m.external_id as thing from matched m where m.external_id is not null
      union all
      select m.place, 'name ' || m.category_key || ' ' || m.name_key from matched m
      union all
      select m.place, 'name ' || m.old_category_key || ' ' || m.old_name_key from matched m where m.id is not null
    ) t
    group by t.thing
    having min(t.place) < max(t.place)
  )
  select
    array_agg(m.id order by m.place),
    array_agg(m.source order by m.place),
    array_agg(
      case
        when m.place in (select c.place from clashing c) then 'AGAIN'
        when m.source = 'POS' then 'REFUSED'
        when m.id is null then 'NEW'
        else 'KNOWN'
      end
      order by m.place
    )
  into item_ids, sources, fates
  from matched m;

  done := coalesce((array_positions(fates, 'AGAIN'))[201] - 1, cardinality(fates));
  fates := fates[:done];

  -- a row that will be refused makes none: what it is refused for by name is in its category
  insert into menu_categories (partner_id, name)
  select distinct on (category_keys[r.category_no]) importing, category_names[r.category_no]
  from unnest(category_nos, fates, sources) with ordinality as r (category_no, fate, source, place)
  where category_ids[r.category_no] is null and r.fate in ('NEW', 'KNOWN', 'AGAIN') and r.source is distinct from 'POS'
  order by category_keys[r.category_no], r.place
  on conflict (partner_id, lower(name)) do nothing;

  select array_agg(c.id order by n.no)
  into category_ids
  from unnest(category_keys) with ordinality as n (key, no)
  left join lateral (select id from menu_categories where partner_id = importing and lower(name) = n.key) c on true;

  -- in the order of their ids, as everyone takes more than one of them
  update menu_items m
  set category_id = category_ids[r.category_no],
      name = r.name,
      price_minor = r.price,
      external_id = coalesce(r.external_id, m.external_id),
      description = case when has_description then r.description else m.description end,
      weight_grams = case when has_weight then r.weight else m.weight_grams end,
      available = coalesce(r.available, m.available),
      source = 'CSV',
      archived_at = null,
      updated_at = now()
  from (
    select k.id, k.category_no, k.name, k.price, k.external_id, k.description, k.weight, k.available
    from unnest(item_ids, fates, category_nos, names, prices, external_ids, descriptions, weights, availables)
      as k (id, fate, category_no, name, price, external_id, description, weight, available)
    where k.fate = 'KNOWN'
    order by k.id
  ) r
  where m.id = r.id
    -- most of a menu that is sent every night is as it was
    and (
      m.category_id, m.name, m.price_minor, m.external_id, m.description, m.weight_grams, m.available, m.source,
      m.archived_at
    ) is distinct from (
      category_ids[r.category_no], r.name, r.price, coalesce(r.external_id, m.external_id),
      case when has_description then r.description else m.description end,
      case when has_weight then r.weight else m.weight_grams end,
      coalesce(r.available, m.available), 'CSV'::item_source, null::timestamptz
    );

  with inserted as (
    insert into menu_items (
      partner_id, category_id, name, price_minor, external_id, description, weight_grams, available, source
    )
    select importing, category_ids[r.category_no], r.name, r.price, r.external_id, r.description, r.weight,
           coalesce(r.available, true), 'CSV'
    from unnest(fates, category_nos, names, prices, external_ids, descriptions, weights, availables) with ordinality
      as r (fate, category_no, name, price, external_id, description, weight, available, place)
    where r.fate = 'NEW'
    order by r.place
    on conflict (partner_id, external_id) where external_id is not null do nothing
    returning external_id
  )
  select count(*), array_agg(i.external_id) into created, made from inserted i;

  updated := cardinality(array_positions(fates, 'KNOWN'));
  refused := array_positions(fates, 'REFUSED');
  if created < cardinality(array_positions(fates, 'NEW')) then
    -- someone else has just made items with these keys
    select array_agg(
      case when r.fate = 'NEW' and r.external_id is not null and r.external_id <> all (coalesce(made, '{}')) then 'AGAIN' else r.fate end
      order by r.place
    )
    into fates
    from unnest(fates, external_ids) with ordinality as r (fate, external_id, place);
  end if;

  foreach place in array array_positions(fates, 'AGAIN') loop
    select s.created, s.updated, s.refused
    into single
    from import_menu_rows(
      importing, array[category_names[category_nos[place]]], array[1], names[place:place], prices[place:place],
      external_ids[place:place], descriptions[place:place], weights[place:place], availables[place:place],
      has_description, has_weight
    ) s;
    created := created + single.created;
    updated := updated + single.updated;
    if cardinality(single.refused) > 0 then
      refused := refused || place;
    end if;
  end loop;
  return next;
end
$$;
