-- Returns the item of a partner's menu with an external id, by the index of external ids. A plain join looks items up by partner
-- alone when the planner takes the partner's menu for short: it compared each row with each item for a partner that had joined
-- since the last ANALYZE, which took a minute for 20,000. A range with an order is read in the order of that index, which an
-- equality is not, and `offset 0` hides whose menu it is. Only where statistics know about one item of each partner may the
-- index by partner still look as cheap, until the next ANALYZE.
create or replace function find_menu_item(of_partner uuid, of_external_id text) returns setof menu_items
language sql stable parallel safe
as $$
  select item.*
  from (select of_partner as partner_id, of_external_id as external_id offset 0) as wanted
  cross join lateral (
    select *
    from menu_items m
    where m.partner_id = wanted.partner_id and m.external_id between wanted.external_id and wanted.external_id
    order by m.external_id
    limit 1
  ) as item
$$;
