import type { OrderStatus } from "../../lib/domain/order-moves.js";
import type { Db } from "../db.js";
import { firstRow } from "../rows.js";

/** What a customer's calendar shows of an order. */
export interface Pickup {
  id: string;
  status: OrderStatus;
  /** Larger after every change of status. */
  sequence: number;
  updatedAt: Date;
  startsAt: Date;
  /** Null for an order without boxes, which has no pickup window. */
  endsAt: Date | null;
  /** The customer's. */
  locale: string;
  partner: string;
  place: string;
  latitude: number;
  longitude: number;
  items: { name: string; qty: number }[] | null;
}

/** Finds when and where a customer picks up an order; undefined when the customer has no such order. */
export const findPickup = (db: Db, id: string, userId: string) =>
  firstRow(db<Pickup[]>`
    select o.id, o.status, coalesce(events.latest, 0) as sequence, o.updated_at,
           coalesce(o.pickup_window_start, o.estimated_ready_at) as starts_at, o.pickup_window_end as ends_at,
           u.locale, p.name as partner, p.address as place, p.latitude, p.longitude,
           (
             select jsonb_agg(jsonb_build_object('name', i.name, 'qty', i.qty) order by i.position)
             from order_items i
             where i.order_id = o.id
           ) as items
    from orders o
    join users u on u.id = o.user_id
    join partners p on p.id = o.partner_id
    cross join lateral (select max(e.position) as latest from order_events e where e.order_id = o.id) as events
    where o.id = ${id}::uuid and o.user_id = ${userId}::uuid`);
