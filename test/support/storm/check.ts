import sharp from "sharp";
import { toMajor } from "../../../lib/domain/money.js";
import type { OwnPostgres } from "../own-postgres.js";
import { checkWebhooks } from "./check-webhooks.js";
import { invariants } from "./invariants.js";
import { outcomes, type Journal, type Move, type OrderTaken, type Outcome, type Work } from "./journal.js";
import { posMenu, type Market } from "./market.js";
import type { StandIns } from "./stand-ins.js";

/** What is known after a storm. */
export interface Evidence {
  ask: OwnPostgres["ask"];
  market: Market;
  journal: Journal;
  standIns: StandIns;
}

/** The differences between the answers that clients got and what is in the database, and at third parties. */
export interface Verdict {
  /** One sentence per inconsistency. */
  wrong: string[];
  counts: Record<string, number>;
}

/** Yields a sentence for each inconsistency. */
type Check = (evidence: Evidence) => AsyncGenerator<string>;

interface StoredOrder {
  id: string;
  key: string | null;
  buyerId: string | null;
  sellerId: string;
  lines: string[];
  events: string[];
  notifications: string[];
  ratings: number[];
}

/** Without the notifications of points, which depend on the day's limit. */
const listOrders = (ask: OwnPostgres["ask"]) =>
  ask<StoredOrder>(`
    select o.id, coalesce(k.key, p.external_id) as key, o.user_id as "buyerId", o.partner_id as "sellerId",
      array(
        select coalesce(i.box_id, i.menu_item_id) || ' ' || i.qty
        from order_items i where i.order_id = o.id order by i.position
      ) as lines,
      array(
        select e.to_status || ' ' || coalesce(e.actor_id::text, 'none')
        from order_events e where e.order_id = o.id order by e.position
      ) as events,
      array(
        select n.kind || ' ' || n.user_id from notifications n where n.order_id = o.id and n.kind <> 'POINTS_EARNED'
      ) as notifications,
      array(select r.rating from reviews r where r.order_id = o.id) as ratings
    from orders o
    left join idempotency_keys k on k.order_id = o.id
    left join pos_orders p on p.order_id = o.id
    order by o.id`);

const same = (a: readonly unknown[], b: readonly unknown[]) => a.length === b.length && a.every((x, i) => x === b[i]);

const eventOf = ({ status, actorId }: Move) => `${status} ${actorId ?? "none"}`;

/** Who is notified of an order that took these moves. */
function notificationsOf({ buyerId, seller, review }: OrderTaken, moves: readonly Move[], reviewed: boolean): string[] {
  // an order at a till notifies no one: its seller has made it, and it has no buyer
  if (buyerId === null) return [];
  const toPeople = (kind: string) => seller.peopleIds.map((id) => `${kind} ${id}`);
  return [
    `ORDER_ACCEPTED ${buyerId}`,
    ...toPeople("NEW_ORDER"),
    ...moves.flatMap(({ status, by }) => {
      if (status === "READY") return [`ORDER_READY ${buyerId}`];
      if (status === "COMPLETED") return [];
      return by === "PARTNER" ? [`ORDER_CANCELLED ${buyerId}`] : toPeople("ORDER_CANCELLED_BY_CUSTOMER");
    }),
    ...(review && reviewed ? toPeople("REVIEW_RECEIVED") : []),
  ];
}

function* checkOrder(asked: OrderTaken, stored: readonly StoredOrder[]): Generator<string> {
  const [order, ...more] = stored;
  const { key, outcome, buyerId, seller, review } = asked;
  if (more.length > 0) yield `key ${key} has ${stored.length} orders`;
  if (outcome === "ok" && !order) yield `order ${String(asked.orderId)} was acknowledged but does not exist`;
  if (outcome === "refused" && order) yield `order ${order.id} was refused but exists`;
  if (!order) return;
  if (asked.orderId !== null && asked.orderId !== order.id) yield `key ${key} was answered with another order`;
  if (order.buyerId !== buyerId || order.sellerId !== seller.id) yield `order ${order.id} has another buyer or seller`;
  const lines = asked.lines.map(({ id, qty }) => `${id} ${qty}`);
  if (!same(order.lines, lines)) yield `order ${order.id} has other items`;

  // only the last move can have an unknown outcome
  const moves = asked.moves.slice(0, order.events.length - 1);
  if (!same(order.events, [`ACCEPTED ${buyerId ?? "none"}`, ...moves.map(eventOf)]))
    yield `order ${order.id} has the events ${order.events.join()}`;
  const missing = asked.moves.slice(moves.length).find((move) => move.outcome === "ok");
  if (missing) yield `order ${order.id} was acknowledged to be ${missing.status} but is not`;
  const [rating, ...others] = order.ratings;
  if (others.length > 0 || (rating !== undefined && rating !== review?.rating))
    yield `order ${order.id} has other reviews`;
  if (review?.outcome === "ok" && rating === undefined)
    yield `the review of order ${order.id} was acknowledged but is lost`;
  const expected = notificationsOf(asked, moves, rating !== undefined);
  if (!same(order.notifications.toSorted(), expected.toSorted()))
    yield `order ${order.id} has the notifications ${order.notifications.join()} instead of ${expected.join()}`;
}

async function* checkOrders({ ask, journal: { orders } }: Evidence): AsyncGenerator<string> {
  const byKey = new Map<string | null, StoredOrder[]>();
  for (const order of await listOrders(ask)) byKey.set(order.key, [...(byKey.get(order.key) ?? []), order]);
  for (const asked of orders) yield* checkOrder(asked, byKey.get(asked.key) ?? []);
  const keys = new Set<string | null>(orders.map(({ key }) => key));
  for (const [key, stored] of byKey)
    if (!keys.has(key)) yield `${stored.length} orders ${String(key)} are of no client`;
}

async function* checkStock({ ask, market: { sellers } }: Evidence): AsyncGenerator<string> {
  const boxes = await ask<{ id: string; total: number }>(
    "select id, quantity_available + quantity_reserved as total from boxes",
  );
  const stocks = new Map(sellers.flatMap(({ products }) => products).map(({ id, stock }) => [id, stock]));
  for (const { id, total } of boxes)
    if (total !== stocks.get(id)) yield `box ${id} has ${total} of ${String(stocks.get(id))}`;
}

async function* checkCodes({ ask, journal: { codes }, standIns: { sms } }: Evidence): AsyncGenerator<string> {
  const phones = new Set((await ask<{ phone: string }>("select phone from otp")).map(({ phone }) => phone));
  for (const { phone, outcome } of codes)
    if (outcome === "ok" && !phones.has(phone)) yield `a code was acknowledged but does not exist: ${phone}`;
  const unsent = await ask<{ phone: string }>(
    "select phone from otp where encrypted_code is not null and claimed_at is null",
  );
  for (const { phone } of unsent) yield `a code was never claimed: ${phone}`;
  for (const text of repeated(sms.accepted.map(({ body }) => body))) yield `a code was sent twice: ${text}`;
}

async function* checkMenus({ ask, journal: { menus } }: Evidence): AsyncGenerator<string> {
  const stored = await ask<{ id: string; rows: number; failed: number }>(
    "select id, rows_created + rows_updated as rows, rows_failed as failed from menu_imports",
  );
  const byId = new Map(stored.map((each) => [each.id, each]));
  const items = await ask<{ name: string }>("select name from menu_items where archived_at is null");
  const names = new Set(items.map(({ name }) => name));
  for (const { outcome, importId, names: sent } of menus) {
    if (outcome !== "ok") continue;
    const { rows, failed } = byId.get(String(importId)) ?? { rows: 0, failed: 0 };
    if (rows !== sent.length || failed !== 1)
      yield `import ${String(importId)} counts ${rows} rows and ${failed} wrong ones`;
    const lost = sent.filter((name) => !names.has(name));
    if (lost.length > 0) yield `import ${String(importId)} was acknowledged without ${lost.length} items`;
  }
}

async function* checkSyncs({ ask, market: { sellers } }: Evidence): AsyncGenerator<string> {
  const wanted = posMenu.map(({ externalId, price }) => `${externalId} ${price * 100}`);
  for (const { id } of sellers) {
    const synced = await ask("select from pos_syncs where partner_id = $1 and status = 'DONE' limit 1", [id]);
    const items = await ask<{ item: string }>(
      `select external_id || ' ' || price_minor as item
       from menu_items where partner_id = $1 and source = 'POS' and archived_at is null
       order by external_id`,
      [id],
    );
    const expected = synced.length === 0 ? [] : wanted;
    if (
      !same(
        expected,
        items.map(({ item }) => item),
      )
    )
      yield `partner ${id} has ${items.length} items of the POS`;
  }
}

async function* checkPictures({ ask, market, journal: { pictures } }: Evidence): AsyncGenerator<string> {
  const files = await ask<{ id: string; name: string; status: string }>("select id, name, status from files");
  const byId = new Map(files.map((file) => [file.id, file]));
  for (const { outcome, fileId } of pictures)
    if (outcome === "ok" && byId.get(String(fileId))?.status !== "READY")
      yield `picture ${String(fileId)} was acknowledged and is ${String(byId.get(String(fileId))?.status)}`;
  for (const { id, name, status } of files) {
    if (status !== "READY") continue;
    for (const address of [`${name}.webp`, `${name}-thumbnail.webp`]) {
      const response = await fetch(`${market.client.url}/files/${address}`);
      const { format } = await sharp(await response.arrayBuffer())
        .metadata()
        .catch(() => ({ format: "none" }));
      if (format !== "webp") yield `picture ${id} is not at its address: ${response.status}`;
    }
  }
}

/** A push to a device, as its push service knows it. */
const pushesOf = ({ fcm, web }: StandIns): string[] => [
  ...fcm.received.map(({ token, data }) => `${String(data?.["notificationId"])} ${token}`),
  ...web.shown.map(({ subscription, data }) => `${String(data["notificationId"])} ${subscription}`),
];

async function* checkDeliveries({ ask, standIns }: Evidence): AsyncGenerator<string> {
  const pushes = pushesOf(standIns);
  for (const twice of repeated(pushes)) yield `a push was sent twice: ${twice}`;
  const received = new Set(pushes);
  const sent = await ask<{ push: string }>(`
    select d.notification_id || ' ' || v.address as push
    from notification_deliveries d
    join devices v on v.id = d.device_id
    where d.status = 'SENT'`);
  for (const { push } of sent) if (!received.has(push)) yield `a push that is SENT was never received: ${push}`;
}

async function* checkReports({ ask, market: { operator, sellers } }: Evidence): AsyncGenerator<string> {
  const reports = [
    ["/api/v1/admin/analytics/dashboard", null],
    ...sellers.map(({ id }) => [`/api/v1/admin/analytics/partners/${id}`, id] as const),
  ] as const;
  for (const [path, sellerId] of reports) {
    const { body, status } = await operator.client.get(`${path}?period=7d`);
    const [counted] = await ask<{ orders: number; gmv: number }>(
      `select count(*)::integer as orders, coalesce(sum(amount_due_minor), 0)::float8 as gmv
       from orders where status <> 'CANCELLED' and ($1::uuid is null or partner_id = $1::uuid)`,
      [sellerId],
    );
    if (body["orders"] !== counted?.orders || body["gmv"] !== toMajor(counted?.gmv ?? 0))
      yield `${path} says ${status} ${String(body["orders"])} orders of ${String(counted?.orders)}`;
  }
}

async function* checkInvariants({ ask }: Evidence): AsyncGenerator<string> {
  for (const { rule, broken } of invariants)
    for (const { what } of await ask<{ what: string }>(broken)) yield `${what} (but ${rule})`;
}

async function* checkEvents({ ask, market }: Evidence): AsyncGenerator<string> {
  yield* checkWebhooks(ask, market);
}

const checks: readonly Check[] = [
  checkOrders,
  checkStock,
  checkCodes,
  checkMenus,
  checkSyncs,
  checkPictures,
  checkDeliveries,
  checkEvents,
  checkReports,
  checkInvariants,
];

/** The values that are there more than once. */
function repeated(values: readonly string[]): string[] {
  const seen = new Set<string>();
  return values.filter((value) => seen.size === seen.add(value).size);
}

/** Makes all checks. */
export async function check(evidence: Evidence): Promise<Verdict> {
  const wrong: string[] = [];
  for (const found of checks) for await (const sentence of found(evidence)) wrong.push(sentence);

  const { journal, standIns, ask } = evidence;
  const [unknown] = await ask<{ count: number }>(
    "select count(*)::integer from notification_deliveries where status = 'UNKNOWN'",
  );
  const { orders, codes, menus, syncs, pictures } = journal;
  const all: Record<string, readonly Work[]> = {
    orders: orders.filter(({ buyerId }) => buyerId !== null),
    "orders at tills": orders.filter(({ buyerId }) => buyerId === null),
    moves: orders.flatMap(({ moves }) => moves),
    reviews: orders.flatMap(({ review }) => review ?? []),
    ...{ codes, menus, syncs, pictures },
  };
  const withPromo = orders.filter(({ promoCode }) => promoCode !== null);
  const count = (works: readonly Work[], wanted: Outcome) => works.filter(({ outcome }) => outcome === wanted).length;
  const counts = Object.entries(all).flatMap(([name, works]) =>
    outcomes.map((outcome): [string, number] => [`${name} ${outcome}`, count(works, outcome)]),
  );
  return {
    wrong,
    counts: {
      acknowledged: count(Object.values(all).flat(), "ok"),
      ...Object.fromEntries(counts.filter(([, times]) => times > 0)),
      "promos used": count(withPromo, "ok"),
      pushes: pushesOf(standIns).length,
      "pushes unknown": unknown?.count ?? 0,
      texts: standIns.sms.accepted.length,
      webhooks: evidence.market.endpoints.reduce((sum, { receiver }) => sum + receiver.received.length, 0),
    },
  };
}
