import type { Db } from "../db.js";

export type BoxStatus = "ACTIVE" | "SOLD_OUT" | "EXPIRED";

export interface NewBox {
  title: string;
  description: string | null;
  priceMinor: number;
  originalPriceMinor: number | null;
  weightGrams: number | null;
  quantity: number;
  pickupWindowStart: Date;
  pickupWindowEnd: Date;
  /** Menu items of the same partner, each once. */
  items: { menuItemId: string; qty: number }[];
}

export interface CreatedBox {
  id: string;
  title: string;
  quantityAvailable: number;
  status: BoxStatus;
}

/** Lists a box; undefined, and nothing written, when one of its items is not on the partner's menu. */
export const insertBox = async (db: Db, partnerId: string, box: NewBox) =>
  (
    await db<CreatedBox[]>`
      with contents as (
        select m.id, wanted.qty
        from unnest(
          ${box.items.map(({ menuItemId }) => menuItemId)}::uuid[],
          ${box.items.map(({ qty }) => qty)}::integer[]
        ) as wanted (id, qty)
        join menu_items m on m.id = wanted.id and m.partner_id = ${partnerId}::uuid and m.archived_at is null
      ), new_box as (
        insert into boxes (
          partner_id, title, description, price_minor, original_price_minor, weight_grams, quantity_available,
          pickup_window_start, pickup_window_end
        )
        select ${partnerId}::uuid, ${box.title}, ${box.description}, ${box.priceMinor}::bigint, ${box.originalPriceMinor}::bigint,
               ${box.weightGrams}::integer, ${box.quantity}::integer, ${box.pickupWindowStart}::timestamptz,
               ${box.pickupWindowEnd}::timestamptz
        where (select count(*) from contents) = ${box.items.length}::integer
        returning id, title, quantity_available, status
      ), new_items as (
        insert into box_items (box_id, menu_item_id, qty)
        select new_box.id, contents.id, contents.qty from new_box, contents
      )
      select id, title, quantity_available as "quantityAvailable", status from new_box`
  )[0];

export interface BoxRow {
  id: string;
  partnerId: string;
  title: string;
  description: string | null;
  priceMinor: number;
  originalPriceMinor: number | null;
  weightGrams: number | null;
  quantityAvailable: number;
  pickupWindowStart: Date;
  pickupWindowEnd: Date;
  /** Null when the window is over, which counts as EXPIRED at once and not only when the sweep comes by. */
  status: BoxStatus | null;
  hidden: boolean;
}

export interface BoxItemRow {
  menuItemId: string;
  name: string;
  qty: number;
}

/** Finds a visible box with its contents, null when it has none. */
export const findBox = async (db: Db, id: string) =>
  (
    await db<(BoxRow & { items: BoxItemRow[] | null })[]>`
      select b.id, b.partner_id as "partnerId", b.title, b.description, b.price_minor as "priceMinor",
             b.original_price_minor as "originalPriceMinor", b.weight_grams as "weightGrams",
             b.quantity_available as "quantityAvailable", b.pickup_window_start as "pickupWindowStart",
             b.pickup_window_end as "pickupWindowEnd",
             case when b.pickup_window_end > now() then b.status end as status,
             b.hidden_at is not null as hidden,
             (
               select jsonb_agg(jsonb_build_object('menuItemId', m.id, 'name', m.name, 'qty', i.qty) order by m.id)
               from box_items i
               join menu_items m on m.id = i.menu_item_id
               where i.box_id = b.id
             ) as items
      from boxes b
      where b.id = ${id}::uuid and b.hidden_at is null`
  )[0];

/** Lists a partner's boxes, newest first, after the one with id `after`: those on offer, or with `all` also hidden and expired ones. */
export const listBoxesByPartner = (db: Db, partnerId: string, all: boolean, after: string | null, limit: number) =>
  db<BoxRow[]>`
    select b.id, b.partner_id as "partnerId", b.title, b.description, b.price_minor as "priceMinor",
           b.original_price_minor as "originalPriceMinor", b.weight_grams as "weightGrams",
           b.quantity_available as "quantityAvailable", b.pickup_window_start as "pickupWindowStart",
           b.pickup_window_end as "pickupWindowEnd",
           case when b.pickup_window_end > now() then b.status end as status,
           b.hidden_at is not null as hidden
    from boxes b
    join partners p on p.id = b.partner_id
    where b.partner_id = ${partnerId}::uuid
      and (
        ${all}::boolean
        or (b.hidden_at is null and b.status <> 'EXPIRED' and b.pickup_window_end > now() and p.status = 'ACTIVE')
      )
      and (${after}::uuid is null or b.id < ${after}::uuid)
    order by b.id desc
    limit ${limit}`;
