import type { PosMenuItem } from "../../lib/pos/adapter.js";
import type { Db } from "../db.js";
import { countRows, hasRows } from "../rows.js";
import { lockPosCredentials } from "./pos-syncs.js";

/**
 * Lets the transaction's statements look items up by an index only. Postgres keeps plans: one from when there were a few items
 * would read all items for each of a batch.
 */
const forLargeMenus = (tx: Db) => tx`set local enable_seqscan = off`;

/**
 * Upserts items of a partner's POS, each at most once, with their categories. Items of another source stay as they are; returns
 * their external ids. `tx` is a transaction.
 */
export async function upsertPosItems(tx: Db, partnerId: string, items: readonly PosMenuItem[]): Promise<string[]> {
  const categories = items.map(({ category }) => category);
  await forLargeMenus(tx);
  await tx`
    insert into menu_categories (partner_id, name)
    select ${partnerId}::uuid, name
    from (select distinct on (lower(name)) name from unnest(${categories}::text[]) as name order by lower(name)) as named
    on conflict (partner_id, lower(name)) do nothing`;
  const kept = await tx<{ externalId: string }[]>`
    with pulled as materialized (
      select external_id, name, category, price_minor, description, weight_grams, available
      from unnest(
        ${items.map(({ externalId }) => externalId)}::text[],
        ${items.map(({ name }) => name)}::text[],
        ${categories}::text[],
        ${items.map(({ priceMinor }) => priceMinor)}::bigint[],
        ${items.map(({ description }) => description)}::text[],
        ${items.map(({ weightGrams }) => weightGrams)}::integer[],
        ${items.map(({ available }) => available)}::boolean[]
      ) as pulled (external_id, name, category, price_minor, description, weight_grams, available)
    ), named as materialized (
      select spelled.category, c.id
      from (select distinct category from pulled) as spelled
      cross join lateral (
        select c.id from menu_categories c where c.partner_id = ${partnerId}::uuid and lower(c.name) = lower(spelled.category) limit 1
      ) as c
    ), compared as materialized (
      select p.external_id, n.id as category_id, p.name, p.price_minor, p.description, p.weight_grams,
             coalesce(p.available, m.available, true) as available, m.source,
             m.id is not null and not m.archived_by_sync
               and (m.category_id, m.name, m.price_minor, m.description, m.weight_grams, m.available)
                   is not distinct from
                   (n.id, p.name, p.price_minor, p.description, p.weight_grams, coalesce(p.available, m.available)) as same
      from pulled p
      join named n on n.category = p.category
      left join menu_items m on menu_item_key(m.partner_id, m.external_id) = menu_item_key(${partnerId}::uuid, p.external_id)
    ), upserted as (
      insert into menu_items as known (
        partner_id, category_id, name, price_minor, description, weight_grams, external_id, source, available
      )
      select ${partnerId}::uuid, category_id, name, price_minor, description, weight_grams, external_id, 'POS', available
      from compared
      where not same and (source is null or source = 'POS')
      order by external_id
      on conflict (menu_item_key(partner_id, external_id)) do update
      set category_id = excluded.category_id, name = excluded.name, price_minor = excluded.price_minor,
          description = excluded.description, weight_grams = excluded.weight_grams, available = excluded.available,
          archived_at = case when known.archived_by_sync then null else known.archived_at end,
          archived_by_sync = false, updated_at = now()
      where known.source = 'POS'
    )
    select coalesce(external_id, '') as external_id from compared where source <> 'POS'`;
  return kept.map(({ externalId }) => externalId);
}

/** Whether a partner's menu has items from the POS. */
export const hasPosItems = (db: Db, partnerId: string) =>
  hasRows(db`
      select from menu_items where partner_id = ${partnerId}::uuid and source = 'POS' and archived_at is null limit 1`);

/**
 * Archives the items from the POS that are not among `present`; returns their number. What is absent is found by grouping, and
 * archived by id: a join could compare each item with each one, which took seconds for 20,000.
 */
export const archiveAbsentItems = (tx: Db, partnerId: string, present: readonly string[]) =>
  countRows(tx`
    update menu_items m
    set archived_at = now(), archived_by_sync = true, updated_at = now()
    where m.source = 'POS' and m.archived_at is null
      and m.id = any (array(
        select (array_agg(id))[1]
        from (
          select external_id, id from menu_items
          where partner_id = ${partnerId}::uuid and source = 'POS' and archived_at is null
          union all
          select external_id, null from unnest(${[...present]}::text[]) as external_id
        ) as either
        group by external_id
        having count(id) = count(*)
      ))`);

/** Lists the partner's items with these external ids, without archived ones. */
export const listItemsByExternalId = (db: Db, partnerId: string, externalIds: readonly string[]) =>
  db<{ id: string; externalId: string }[]>`
    select m.id, coalesce(m.external_id, '') as external_id
    from unnest(${[...externalIds]}::text[]) as wanted (external_id)
    join menu_items m on menu_item_key(m.partner_id, m.external_id) = menu_item_key(${partnerId}::uuid, wanted.external_id)
    where m.archived_at is null`;

/**
 * Sets the availability of items from the POS, each at most once; items of another source stay as they are. Returns how many
 * of them the menu has. `tx` is a transaction.
 */
export async function updateAvailability(
  tx: Db,
  partnerId: string,
  items: readonly { externalId: string; available: boolean }[],
): Promise<number> {
  const externalIds = items.map(({ externalId }) => externalId);
  // the same lock order as in settling and requesting syncs: credentials, then items by external id
  await lockPosCredentials(tx, partnerId);
  await forLargeMenus(tx);
  return countRows(tx`
    with found as (
      select m.id, m.archived_at, given.available
      from unnest(${externalIds}::text[], ${items.map(({ available }) => available)}::boolean[]) as given (external_id, available)
      join menu_items m on menu_item_key(m.partner_id, m.external_id) = menu_item_key(${partnerId}::uuid, given.external_id)
      where m.source = 'POS'
      order by m.external_id
      for no key update of m
    ), changed as (
      update menu_items m set available = found.available, updated_at = now()
      from found
      where m.id = found.id and m.available <> found.available
    )
    select from found where archived_at is null`);
}
