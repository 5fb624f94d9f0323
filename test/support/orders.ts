import { sql } from "../../sql/db.js";
import type { Reply } from "./api.js";
import type { Bakery, Character } from "./cast.js";

export interface Line {
  menuItemId?: string | null;
  boxId?: string;
  qty: number;
}

export const order = (
  buyer: Character,
  seller: Bakery,
  items: Line[],
  totalAmount: number,
  key?: string,
  more: object = {},
) =>
  buyer.client.post(
    "/api/v1/orders",
    { items, totalAmount, partnerId: seller.id, ...more },
    key === undefined ? {} : { headers: { "idempotency-key": key } },
  );

export const stockOf = async (boxId: string) => {
  const [row] = await sql<{ available: number; reserved: number; status: string }[]>`
    select quantity_available as available, quantity_reserved as reserved, status::text from boxes where id = ${boxId}::uuid`;
  if (!row) throw new Error("no such box");
  return row;
};

/** The number of this partner's rows in each table that placing an order writes. */
export const traces = async (partnerId: string) => {
  const [row] = await sql<Record<string, number>[]>`
    select
      (select count(*)::integer from orders where partner_id = ${partnerId}::uuid) as orders,
      (select count(*)::integer from order_items i join orders o on o.id = i.order_id where o.partner_id = ${partnerId}::uuid) as items,
      (select count(*)::integer from order_events e join orders o on o.id = e.order_id where o.partner_id = ${partnerId}::uuid) as events,
      (select count(*)::integer from idempotency_keys k join orders o on o.id = k.order_id where o.partner_id = ${partnerId}::uuid) as keys,
      (
        select count(*)::integer from staged_jobs j
        join orders o on o.id::text = j.payload ->> 'subjectId' and o.partner_id = ${partnerId}::uuid
        where j.queue = 'fan-out'
      ) as jobs`;
  return row;
};

export const statuses = (replies: Reply[]) => replies.map(({ status }) => status).sort();
