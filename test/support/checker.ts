import type { OwnPostgres } from "./own-postgres.js";
import type { Line } from "./programs.js";
import type { OrderTaken, Outcome, Traffic } from "./traffic.js";

type Ask = OwnPostgres["ask"];

/** The differences between the answers that clients got and the database and workers' logs. */
export interface Verdict {
  /** One sentence per inconsistency. */
  wrong: string[];
  counts: Record<string, number>;
}

interface StoredOrder {
  id: string;
  key: string | null;
  buyerId: string | null;
  sellerId: string;
  lines: string[];
  events: string[];
  notifications: string[];
}

const listOrders = (ask: Ask) =>
  ask<StoredOrder>(`
    select o.id, coalesce(k.key, p.external_id) as key, o.user_id as "buyerId", o.partner_id as "sellerId",
      array(
        select coalesce(i.box_id, i.menu_item_id) || ' ' || i.qty
        from order_items i where i.order_id = o.id order by i.position
      ) as lines,
      array(
        select e.to_status || ' ' || coalesce(e.actor_id::text, 'none') from order_events e where e.order_id = o.id order by e.position
      ) as events,
      array(
        select n.kind || ' ' || n.user_id || ' ' || n.status || ' ' || (n.settled_at is not null)
        from notifications n where n.order_id = o.id
      ) as notifications
    from orders o
    left join idempotency_keys k on k.order_id = o.id
    left join pos_orders p on p.order_id = o.id
    order by o.id`);

const same = (a: readonly string[], b: readonly string[]) => a.length === b.length && a.every((x, i) => x === b[i]);

function* checkOrder(asked: OrderTaken, stored: readonly StoredOrder[]): Generator<string> {
  const [order, ...more] = stored;
  const { key, outcome, buyerId, seller } = asked;
  if (more.length > 0) yield `key ${key} has ${stored.length} orders`;
  if (outcome === "ok" && !order) yield `order ${String(asked.orderId)} was acknowledged but does not exist`;
  if (outcome === "refused" && order) yield `order ${order.id} was refused but exists`;
  if (!order) return;
  if (asked.orderId !== null && asked.orderId !== order.id) yield `key ${key} was answered with another order`;
  if (order.buyerId !== buyerId || order.sellerId !== seller.id) yield `order ${order.id} has another buyer or seller`;
  if (
    !same(
      order.lines,
      asked.lines.map(({ id, qty }) => `${id} ${qty}`),
    )
  )
    yield `order ${order.id} has other items`;
  if (!same(order.events, [`ACCEPTED ${buyerId ?? "none"}`]))
    yield `order ${order.id} has the events ${order.events.join()}`;
  // an order at a till notifies no one: its seller has made it, and it has no buyer
  const expected =
    buyerId === null ? [] : [`ORDER_ACCEPTED ${buyerId}`, ...seller.peopleIds.map((id) => `NEW_ORDER ${id}`)];
  if (!same(order.notifications.toSorted(), expected.map((each) => `${each} SENT true`).toSorted()))
    yield `order ${order.id} has the notifications ${order.notifications.join()}`;
}

async function* checkStock(ask: Ask, { sellers }: Traffic): AsyncGenerator<string> {
  const boxes = await ask<{ id: string; available: number; reserved: number; sold: number }>(`
    select b.id, b.quantity_available as available, b.quantity_reserved as reserved,
      coalesce((select sum(i.qty) from order_items i where i.box_id = b.id), 0)::integer as sold
    from boxes b`);
  const stocks = new Map(sellers.flatMap(({ products }) => products).map(({ id, stock }) => [id, stock]));
  for (const { id, available, reserved, sold } of boxes) {
    if (reserved !== sold) yield `box ${id} has ${reserved} reserved and ${sold} sold`;
    if (available + sold !== stocks.get(id)) yield `box ${id} has ${available} left after ${sold} sold`;
  }
}

async function* checkJobs(ask: Ask): AsyncGenerator<string> {
  const unfinished = await ask<{ id: string; queue: string; error: string | null; attempts: number; dead: boolean }>(`
    select id, queue, last_error as error, attempts, dead_at is not null as dead from staged_jobs
    where done_at is null and payload ->> 'event' is distinct from 'PICKUP_SOON'`);
  for (const { id, queue, error, attempts, dead } of unfinished)
    yield `job ${id} of ${queue} is ${dead ? "dead" : "open"} after ${attempts} attempts: ${String(error)}`;
  const wrong = await ask<{ what: string }>(`
    select 'order ' || o.id || ' has no job of its own' as what from orders o
    where (
      select count(*) from staged_jobs j
      where j.queue = 'fan-out' and j.payload ->> 'event' = 'ORDER_PLACED' and j.payload ->> 'subjectId' = o.id::text
    ) <> 1
    union all
    select 'notification ' || n.id || ' has no job of its own' from notifications n
    where (select count(*) from staged_jobs j where j.queue = 'push' and j.payload ->> 'notificationId' = n.id::text) <> 1
    union all
    select 'code ' || o.id || ' has no job of its own' from otp o
    where (select count(*) from staged_jobs j where j.queue = 'sms' and j.payload ->> 'otpId' = o.id::text) <> 1`);
  for (const { what } of wrong) yield what;
}

async function* checkEvents(ask: Ask): AsyncGenerator<string> {
  const unsettled = await ask<{ id: string; status: string; error: string | null }>(
    "select event_id as id, status, last_error as error from pos_events where status <> 'PROCESSED'",
  );
  for (const { id, status, error } of unsettled) yield `event ${id} of a till is ${status}: ${String(error)}`;
}

async function* checkCodes(ask: Ask, { codes }: Traffic): AsyncGenerator<string> {
  const phones = new Set((await ask<{ phone: string }>("select phone from otp")).map(({ phone }) => phone));
  for (const { phone, outcome } of codes) {
    if (outcome === "ok" && !phones.has(phone)) yield `a code was acknowledged but does not exist: ${phone}`;
  }
  const unsent = await ask<{ phone: string }>(
    "select phone from otp where encrypted_code is not null and claimed_at is null",
  );
  for (const { phone } of unsent) yield `a code was never claimed: ${phone}`;
}

const tally = (values: readonly string[]) => {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
};

/** Compares traffic and database; call it when no job is open. */
export async function check(ask: Ask, traffic: Traffic, workerLines: readonly Line[]): Promise<Verdict> {
  const stored = await listOrders(ask);
  const byKey = new Map<string | null, StoredOrder[]>();
  for (const order of stored) byKey.set(order.key, [...(byKey.get(order.key) ?? []), order]);
  const wrong: string[] = [];
  for (const asked of traffic.orders) wrong.push(...checkOrder(asked, byKey.get(asked.key) ?? []));
  const keys = new Set(traffic.orders.map(({ key }) => key));
  for (const { id, key } of stored)
    if (key === null || !keys.has(key)) wrong.push(`order ${id} was placed by no client`);
  for (const checked of [checkStock(ask, traffic), checkJobs(ask), checkEvents(ask), checkCodes(ask, traffic)])
    for await (const sentence of checked) wrong.push(sentence);

  const pushes = tally(workerLines.filter(({ msg }) => msg === "push").map((line) => String(line["notificationId"])));
  const texts = tally(workerLines.filter(({ msg }) => msg.startsWith("SMS to ")).map(({ msg }) => msg));
  // a message whose worker was killed while sending counts as sent, since it may have been
  const notificationIds = await ask<{ id: string }>(
    `select id from notifications n
     where not exists (select from notification_deliveries where notification_id = n.id and status = 'UNKNOWN')`,
  );
  for (const { id } of notificationIds) if (!pushes.has(id)) wrong.push(`notification ${id} was never sent`);
  for (const [text, times] of texts) if (times > 1) wrong.push(`a code was sent ${times} times: ${text}`);

  const outcomes = (of: readonly { outcome: Outcome }[], wanted: Outcome) =>
    of.filter(({ outcome }) => outcome === wanted).length;
  const { orders, codes } = traffic;
  return {
    wrong,
    counts: {
      "orders acknowledged": outcomes(orders, "ok"),
      "of them at tills": orders.filter(({ buyerId, outcome }) => buyerId === null && outcome === "ok").length,
      "orders refused": outcomes(orders, "refused"),
      "orders unknown": outcomes(orders, "unknown"),
      "orders tried more than once": orders.filter(({ attempts }) => attempts > 1).length,
      "orders stored": stored.length,
      "codes acknowledged": outcomes(codes, "ok"),
      "codes unknown": outcomes(codes, "unknown"),
      "codes texted": texts.size,
      notifications: notificationIds.length,
      "notifications sent again": [...pushes.values()].filter((times) => times > 1).length,
    },
  };
}
