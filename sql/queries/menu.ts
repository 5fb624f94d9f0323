import type { Enum } from "../../lib/domain/enums.js";
import type { Db } from "../db.js";
import { firstRow, hasRows, type Changes } from "../rows.js";

export interface NewMenuItem {
  name: string;
  category: string;
  priceMinor: number;
  description: string | null;
  weightGrams: number | null;
  externalId: string | null;
  available: boolean;
}

export interface MenuItemRow extends NewMenuItem {
  id: string;
  source: Enum<"itemSource">;
  archived: boolean;
}

/**
 * Inserts a manual item, and its category on first use; an item with the same external id is updated and restored from the
 * archive. `ownItems`: how many the partner has made so far, archived ones too; null when this one existed.
 */
export const insertMenuItem = (db: Db, partnerId: string, item: NewMenuItem) =>
  firstRow(db<(MenuItemRow & { ownItems: number | null })[]>`
    with category as (
      -- the no-op update makes "returning" return the existing row, with its spelling
      insert into menu_categories as existing (partner_id, name)
      values (${partnerId}::uuid, ${item.category})
      on conflict (partner_id, lower(name)) do update set name = existing.name
      returning id, name
    ), item as (
      insert into menu_items (partner_id, category_id, name, price_minor, description, weight_grams, external_id, available)
      select ${partnerId}::uuid, category.id, ${item.name}, ${item.priceMinor}::bigint, ${item.description},
             ${item.weightGrams}::integer, ${item.externalId}, ${item.available}::boolean
      from category
      on conflict (menu_item_key(partner_id, external_id)) do update
      set category_id = excluded.category_id, name = excluded.name, price_minor = excluded.price_minor,
          description = excluded.description, weight_grams = excluded.weight_grams, available = excluded.available,
          source = 'MANUAL', archived_at = null, updated_at = now()
      returning id, name, price_minor, description, weight_grams, external_id, source, available, archived_at,
                -- an updated row has the id of its transaction there
                xmax = 0 as is_new,
                case when xmax = 0 then record_event('menu_item.created', partner_id, menu_item_facts(menu_items)) end
    ), counted as (
      update partners set own_items = own_items + 1
      from item
      where partners.id = ${partnerId}::uuid and item.is_new
      returning own_items
    )
    select item.id, item.name, category.name as category, item.price_minor, item.description, item.weight_grams,
           item.external_id, item.source, item.available, item.archived_at is not null as archived,
           (select own_items from counted)::integer as own_items
    from item, category`);

/** Finds how many items a partner has made by hand and by CSV, archived ones too; null for an unknown partner. */
export async function findOwnItems(db: Db, partnerId: string): Promise<number | null> {
  const [partner] = await db<{ ownItems: number }[]>`select own_items from partners where id = ${partnerId}::uuid`;
  return partner?.ownItems ?? null;
}

/** Counts items that were made by CSV. Nothing that locks a menu may follow in the transaction. */
export const addOwnItems = (tx: Db, partnerId: string, made: number) =>
  tx`update partners set own_items = own_items + ${made}::integer where id = ${partnerId}::uuid`;

/** Lists a partner's items, oldest first, after the one with id `after`; with `archived` also archived ones. */
export const listMenuItems = (db: Db, partnerId: string, archived: boolean, after: string | null, limit: number) =>
  db<MenuItemRow[]>`
    select i.id, i.name, c.name as category, i.price_minor, i.description, i.weight_grams, i.external_id, i.source,
           i.available, i.archived_at is not null as archived
    from menu_items i
    join menu_categories c on c.id = i.category_id
    where i.partner_id = ${partnerId}::uuid
      and (${archived}::boolean or i.archived_at is null)
      and (${after}::uuid is null or i.id > ${after}::uuid)
    order by i.id
    limit ${limit}`;

/** Lists a partner's categories, oldest first, after the one with id `after`. */
export const listMenuCategories = (db: Db, partnerId: string, after: string | null, limit: number) =>
  db<{ id: string; name: string }[]>`
    select id, name
    from menu_categories
    where partner_id = ${partnerId}::uuid and (${after}::uuid is null or id > ${after}::uuid)
    order by id
    limit ${limit}`;

/** Deletes a partner's categories that have no item, as imports leave them; a concurrent use of one keeps it. */
export const deleteUnusedCategories = (db: Db, partnerId: string) =>
  db`
    delete from menu_categories
    where id in (
      select c.id from menu_categories c
      where c.partner_id = ${partnerId}::uuid
        and not exists (select from menu_items i where i.category_id = c.id)
      for update of c skip locked
    )`;

type MenuItemChanges = Changes<Omit<NewMenuItem, "priceMinor" | "externalId"> & { price: number }>;

/** Updates a partner's item (null clears a field), and inserts its new category on first use; undefined without such an item. */
export const updateMenuItem = (db: Db, partnerId: string, id: string, changes: MenuItemChanges) =>
  firstRow(db<MenuItemRow[]>`
    with category as (
      insert into menu_categories as existing (partner_id, name)
      select ${partnerId}::uuid, ${changes.category ?? null}::text
      where ${changes.category ?? null}::text is not null
        and exists (select from menu_items where id = ${id}::uuid and partner_id = ${partnerId}::uuid)
      on conflict (partner_id, lower(name)) do update set name = existing.name
      returning id, name
    ), item as (
      update menu_items
      set name = coalesce(${changes.name ?? null}, name),
          category_id = coalesce((select id from category), category_id),
          price_minor = coalesce(${changes.price ?? null}::bigint, price_minor),
          description = case when ${changes.description !== undefined}::boolean then ${changes.description ?? null}::text else description end,
          weight_grams = case when ${changes.weightGrams !== undefined}::boolean then ${changes.weightGrams ?? null}::integer else weight_grams end,
          available = coalesce(${changes.available ?? null}::boolean, available),
          updated_at = now()
      where id = ${id}::uuid and partner_id = ${partnerId}::uuid
      returning id, category_id, name, price_minor, description, weight_grams, external_id, source, available, archived_at
    )
    select item.id, item.name, c.name as category, item.price_minor, item.description, item.weight_grams,
           item.external_id, item.source, item.available, item.archived_at is not null as archived
    from item
    cross join lateral (
      select name from category
      union all
      select name from menu_categories where id = item.category_id
      limit 1
    ) as c
    where c.name is not null`);

/** Archives a partner's item; false when the partner has no such item. */
export const archiveMenuItem = (db: Db, partnerId: string, id: string) =>
  hasRows(db<{ id: string }[]>`
    update menu_items
    set archived_at = coalesce(archived_at, now()), updated_at = now()
    where id = ${id}::uuid and partner_id = ${partnerId}::uuid
    returning id`);
