import { randomUUID } from "node:crypto";
import { isNativeError } from "node:util/types";
import { setTimeout as delay } from "node:timers/promises";
import { withTimeout } from "../../lib/process/with-timeout.js";
import { toMajor } from "../../lib/domain/money.js";
import { sql } from "../../sql/db.js";
import type { Client, Reply } from "./api.js";
import { addMenuItem, admin, bakery, listBox, newPhone, user, type Character } from "./cast.js";
import { makeReachable } from "./notifications.js";
import type { OwnPostgres } from "./own-postgres.js";
import type { Random } from "./random.js";
import { newSecret, signed } from "./till.js";

const BAKERIES = 3;
const CUSTOMERS = 8;
const NEW_PHONES = 2;
/** Customers pause while more jobs than this are open, so that a slow machine does not look like a service that fails to recover. */
const LONGEST_BACKLOG = 150;
/** By then every request must have an answer or a broken connection. */
const ANSWER_LIMIT_MS = 180_000;

/** `unknown`: the client gave up without an answer. */
export type Outcome = "ok" | "refused" | "unknown";

export interface Product {
  id: string;
  priceMinor: number;
  /** The initial stock; null for a menu item, which has none. */
  stock: number | null;
}

export interface Seller {
  id: string;
  /** The webhook secret of its till. */
  tillSecret: string;
  /** The recipients of its orders' notifications. */
  peopleIds: string[];
  products: Product[];
}

export interface OrderTaken {
  /** The client's idempotency key, or the till's order number. */
  key: string;
  /** Null for an order at the till. */
  buyerId: string | null;
  seller: Seller;
  lines: { id: string; qty: number }[];
  outcome: Outcome;
  /** The order's id in the answers. */
  orderId: string | null;
  attempts: number;
}

export interface CodeAsked {
  phone: string;
  outcome: Outcome;
  attempts: number;
}

/** The clients' requests and their outcomes. */
export interface Traffic {
  sellers: Seller[];
  orders: OrderTaken[];
  codes: CodeAsked[];
}

/** The external id of the menu item. */
const ALWAYS = "roll";

/** Connects a seller's till; returns its webhook secret. The till has no menu, so syncs are put off. */
async function connectTill(partnerId: string, { client }: Character): Promise<string> {
  const webhookSecret = newSecret();
  const credentials = { accountId: partnerId, baseUrl: "https://till.test", token: "till-token", webhookSecret };
  const sent = { partnerId, adapterName: "generic", credentialsJson: JSON.stringify(credentials) };
  const reply = await client.put("/api/v1/pos/credentials", sent);
  if (reply.status !== 200) throw unexpected("a till", reply);
  await sql`update pos_credentials set next_sync_at = now() + interval '1 day' where partner_id = ${partnerId}::uuid`;
  return webhookSecret;
}

async function openSeller(client: Client, operator: Character): Promise<Seller> {
  const opened = await bakery(client);
  const staff = await user(client);
  await sql`insert into partner_staff (user_id, partner_id) values (${staff.id}::uuid, ${opened.id}::uuid)`;
  await makeReachable([opened.owner.id, staff.id]);
  const products: Product[] = [
    { id: await addMenuItem(opened, { price: 120, externalId: ALWAYS }), priceMinor: 12_000, stock: null },
    // some sell out during the storm, others do not
    ...(await Promise.all(
      [30, 300, 10_000].map(async (stock) => ({
        id: await listBox(opened, { price: 249.9, quantity: stock }),
        priceMinor: 24_990,
        stock,
      })),
    )),
  ];
  const tillSecret = await connectTill(opened.id, operator);
  return { id: opened.id, tillSecret, peopleIds: [opened.owner.id, staff.id], products };
}

/** The answer, or null when the connection broke or the service answered 503. */
async function answerTo(request: () => Promise<Reply>): Promise<Reply | null> {
  try {
    const reply = await withTimeout(ANSWER_LIMIT_MS, request());
    return reply.status === 503 ? null : reply;
  } catch (error) {
    // `fetch` throws this when there is no answer
    if (isNativeError(error) && error.name === "TypeError") return null;
    throw error;
  }
}

const unexpected = (what: string, { status, text }: Reply) => new Error(`${what}: ${status} ${text}`);

async function place(order: OrderTaken, { client }: Character): Promise<Outcome> {
  const prices = new Map(order.seller.products.map(({ id, priceMinor }) => [id, priceMinor]));
  const total = order.lines.reduce((sum, { id, qty }) => sum + (prices.get(id) ?? 0) * qty, 0);
  const body = {
    items: order.lines.map(({ id, qty }) => ({ menuItemId: id, qty })),
    totalAmount: toMajor(total),
    partnerId: order.seller.id,
  };
  const reply = await answerTo(() =>
    client.post("/api/v1/orders", body, { headers: { "idempotency-key": order.key } }),
  );
  if (reply === null) return "unknown";
  if (reply.status === 409 && reply.body["code"] === "CONFLICT" && "available" in reply.body) return "refused";
  if (reply.status !== 201 && reply.body["code"] !== "DUPLICATE") throw unexpected("an order", reply);
  order.orderId = reply.string("orderId");
  return "ok";
}

async function sendEvent({ key, lines, seller }: OrderTaken, client: Client): Promise<Outcome> {
  const qty = lines[0]?.qty ?? 0;
  const data = { items: [{ externalId: ALWAYS, qty }], totalAmount: 120 * qty };
  const event = { type: "order.created", externalId: key, partnerExternalId: seller.id, data };
  const { body, headers } = signed(event, seller.tillSecret);
  const reply = await answerTo(() => client.send("post", "/api/v1/pos/webhooks/generic", body, { headers }));
  if (reply === null) return "unknown";
  if (reply.status !== 200) throw unexpected("an event", reply);
  return "ok";
}

async function sendCode({ phone }: CodeAsked, client: Client): Promise<Outcome> {
  const reply = await answerTo(() => client.post("/api/v1/auth/otp/send", { phone }));
  if (reply === null) return "unknown";
  if (reply.status === 429) return "refused";
  if (reply.status !== 200) throw unexpected("a code", reply);
  return "ok";
}

/** Retries until the outcome is known; sometimes gives up earlier, as clients do. */
async function settle(
  work: { outcome: Outcome; attempts: number },
  attempt: () => Promise<Outcome>,
  random: Random,
): Promise<void> {
  for (;;) {
    work.attempts += 1;
    work.outcome = await attempt();
    if (work.outcome !== "unknown" || random.between(1, 20) === 1) return;
    await delay(random.between(50, 300));
  }
}

/** Running clients. */
export interface Clients {
  /** Orders a menu item; resolves when the order is acknowledged. */
  placeOne(): Promise<OrderTaken>;
  /** Lets every client finish its current request; returns all requests and outcomes. */
  finish(): Promise<Traffic>;
}

/** Runs concurrent clients that place orders, send orders of tills, and request codes, until `finish` is called. */
export async function startTraffic(client: Client, ask: OwnPostgres["ask"], random: Random): Promise<Clients> {
  const operator = await admin(client);
  const sellers = await Promise.all(Array.from({ length: BAKERIES }, () => openSeller(client, operator)));
  const customers = await Promise.all(Array.from({ length: CUSTOMERS }, () => user(client)));
  await makeReachable(customers.map(({ id }) => id));
  const traffic: Traffic = { sellers, orders: [], codes: [] };
  let enough = false;
  let backlog = 0;
  const goesOn = () => !enough;

  const watchBacklog = async (): Promise<void> => {
    while (goesOn()) {
      const [jobs] = await ask<{ open: number }>(
        "select count(*)::integer as open from staged_jobs where done_at is null and dead_at is null and payload ->> 'event' is distinct from 'PICKUP_SOON'",
      );
      backlog = jobs?.open ?? 0;
      await delay(250);
    }
  };

  const newOrder = (buyerId: string | null, seller: Seller, products: readonly Product[]): OrderTaken => {
    const lines = products.map(({ id }) => ({ id, qty: random.between(1, 2) }));
    const order: OrderTaken = {
      key: randomUUID(),
      ...{ buyerId, seller, lines },
      ...{ outcome: "unknown", orderId: null, attempts: 0 },
    };
    traffic.orders.push(order);
    return order;
  };

  const keepOrdering = async (customer: Character): Promise<void> => {
    while (goesOn()) {
      const seller = random.pick(sellers);
      const products = random.shuffle(seller.products).slice(0, random.between(1, 2));
      const order = newOrder(customer.id, seller, products);
      await settle(order, () => place(order, customer), random);
      do await delay(random.between(20, 150));
      while (backlog > LONGEST_BACKLOG && goesOn());
    }
  };

  const keepSendingEvents = async (seller: Seller): Promise<void> => {
    const always = seller.products.filter(({ stock }) => stock === null);
    while (goesOn()) {
      const order = newOrder(null, seller, always);
      await settle(order, () => sendEvent(order, client), random);
      // POS systems send some events twice, whatever the answer
      if (random.between(1, 3) === 1) await sendEvent(order, client);
      do await delay(random.between(50, 300));
      while (backlog > LONGEST_BACKLOG && goesOn());
    }
  };

  const askForCodes = async (): Promise<void> => {
    while (goesOn()) {
      const code: CodeAsked = { phone: newPhone(), outcome: "unknown", attempts: 0 };
      traffic.codes.push(code);
      await settle(code, () => sendCode(code, client), random);
      await delay(random.between(50, 300));
    }
  };

  const running = Promise.all([
    watchBacklog(),
    ...customers.map(keepOrdering),
    ...sellers.map(keepSendingEvents),
    ...Array.from({ length: NEW_PHONES }, askForCodes),
  ]);
  running.catch(() => (enough = true));
  return {
    placeOne: async () => {
      const customer = random.pick(customers);
      const seller = random.pick(sellers);
      const order = newOrder(
        customer.id,
        seller,
        seller.products.filter(({ stock }) => stock === null),
      );
      while (order.outcome !== "ok") await settle(order, () => place(order, customer), random);
      return order;
    },
    finish: async () => {
      enough = true;
      await running;
      return traffic;
    },
  };
}
