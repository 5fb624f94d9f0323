import { randomUUID } from "node:crypto";
import { sql, type Db } from "../../sql/db.js";

/** An id as created at that time. */
export function idAt(ms: number): string {
  const millis = ms.toString(16).padStart(12, "0");
  return `${millis.slice(0, 8)}-${millis.slice(8)}-7${randomUUID().slice(15)}`;
}

export interface PastBox {
  id: string;
  partnerId: string;
  title: string;
  at: Date;
  weightGrams: number | null;
}

export interface PastOrder {
  id: string;
  userId: string;
  partnerId: string;
  status: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
  at: Date;
  totalMinor: number;
  discountMinor: number;
  commissionMinor: number;
  lines: { boxId: string | null; menuItemId: string | null; priceMinor: number; qty: number }[];
}

/** Replaces all orders and boxes by these past ones. */
export async function makePast(boxes: readonly PastBox[], orders: readonly PastOrder[]): Promise<void> {
  await sql`truncate orders, boxes cascade`;
  await sql`truncate rollup_days, rollup_partners, rollup_items, rollup_hours, rollup_changes, weight_changes`;
  await addPast(sql, boxes, orders);
}

/** Adds past orders and boxes. */
export async function addPast(db: Db, boxes: readonly PastBox[], orders: readonly PastOrder[]): Promise<void> {
  await db`
    insert into boxes (
      id, partner_id, city_id, title, price_minor, weight_grams, quantity_available, pickup_window_start, pickup_window_end,
      created_at
    )
    select (b ->> 'id')::uuid, p.id, p.city_id, b ->> 'title', 1, (b ->> 'weightGrams')::integer, 1,
           (b ->> 'at')::timestamptz, (b ->> 'at')::timestamptz + interval '1 hour', (b ->> 'at')::timestamptz
    from jsonb_array_elements(${db.json(boxes.map((box) => ({ ...box, at: box.at.toISOString() })))}) b
    join partners p on p.id = (b ->> 'partnerId')::uuid`;
  const rows = db.json(orders.map((order) => ({ ...order, at: order.at.toISOString() })));
  await db`
    insert into orders (
      id, user_id, partner_id, status, total_minor, discount_minor, commission_percent, commission_minor, pickup_code,
      estimated_ready_at, no_show_at, created_at
    )
    select (o ->> 'id')::uuid, (o ->> 'userId')::uuid, (o ->> 'partnerId')::uuid, (o ->> 'status')::order_status,
           (o ->> 'totalMinor')::bigint, (o ->> 'discountMinor')::bigint, 15, (o ->> 'commissionMinor')::bigint, '000000',
           (o ->> 'at')::timestamptz, (o ->> 'at')::timestamptz + interval '25 hours', (o ->> 'at')::timestamptz
    from jsonb_array_elements(${rows}) o`;
  await db`
    insert into order_items (order_id, position, box_id, menu_item_id, name, price_minor, qty)
    select (o ->> 'id')::uuid, lines.position, (line ->> 'boxId')::uuid, (line ->> 'menuItemId')::uuid, 'x',
           (line ->> 'priceMinor')::bigint, (line ->> 'qty')::integer
    from jsonb_array_elements(${rows}) o,
         jsonb_array_elements(o -> 'lines') with ordinality as lines (line, position)`;
  await db`
    insert into order_events (order_id, position, actor_id, actor_role, to_status, at)
    select (o ->> 'id')::uuid, 1, (o ->> 'userId')::uuid, 'CUSTOMER', 'ACCEPTED', (o ->> 'at')::timestamptz
    from jsonb_array_elements(${rows}) o`;
}
