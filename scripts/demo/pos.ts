import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import {
  connectPos,
  disconnectPos,
  done,
  listMenuItems,
  listPartnerOrders,
  readMenuSync,
  syncMenu,
  testPosConnection,
} from "../client/src/index.js";
import type { Caller } from "./http.js";

/** The clients that take part, and the demo's helpers. */
export interface Scene {
  anyone: Caller;
  admin: Caller;
  owner: Caller;
  partnerId: string;
  print: (line: string) => void;
  until: <T>(what: string, look: () => Promise<T | undefined>) => Promise<T>;
}

const menu = (soldOut: readonly string[] = []) =>
  [
    { externalId: "till-1", name: "Капучино", category: "Кофе", price: 220 },
    { externalId: "till-2", name: "Флэт уайт", category: "Кофе", price: 250 },
    { externalId: "till-3", name: "Тыквенный суп", category: "Горячее", price: 390.5 },
    { externalId: "till-4", name: "Зона доставки", category: "Служебное" },
  ].map((item) => ({ ...item, available: !soldOut.includes(item.externalId) }));

/** A local till that speaks the open protocol: it serves its menu to callers with the token, and signs its events. */
async function startTill() {
  const [accountId, token, key] = [`till-${randomUUID()}`, randomUUID(), randomBytes(24)];
  let items = menu();
  let pulls = 0;
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/menu")) pulls += 1;
    const known = request.headers.authorization === `Bearer ${token}`;
    response.writeHead(known ? 200 : 401, { "content-type": "application/json" });
    response.end(JSON.stringify(known ? { items } : {}));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;

  /** An event, with the signed headers of its webhook. */
  const event = (type: string, data: Record<string, unknown>, externalId: string = randomUUID()) => {
    const body = { type, externalId, partnerExternalId: accountId, data };
    const [id, timestamp] = [randomUUID(), String(Math.floor(Date.now() / 1_000))];
    const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${JSON.stringify(body)}`);
    const signature = `v1,${mac.digest("base64")}`;
    return { body, headers: { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature } };
  };

  return {
    credentials: {
      adapterName: "generic" as const,
      credentialsJson: JSON.stringify({
        accountId,
        baseUrl: `http://127.0.0.1:${port}`,
        token,
        webhookSecret: `whsec_${key.toString("base64")}`,
      }),
    },
    event,
    sellOut: (externalId: string) => void (items = menu([externalId])),
    pulls: () => pulls,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Connects the bakery's till, pulls its menu, and has the till report events, some of them twice. */
export async function connectTill({ anyone, admin, owner, partnerId, print, until }: Scene): Promise<void> {
  const till = await startTill();
  try {
    const tried = await done(testPosConnection({ body: till.credentials }, admin.session));
    if (!tried.ok) {
      print(`17:30  (The service cannot reach a till on this machine: ${tried.message})`);
      return;
    }
    await done(connectPos({ body: { partnerId, ...till.credentials } }, admin.session));
    print(`17:30  The admin tests the connection to the bakery's till and connects it: ${tried.message}`);

    const { syncId } = await done(syncMenu({}, owner.session));
    const sync = await until("the till's menu is there", async () => {
      const read = await done(readMenuSync({ id: syncId }, owner.session));
      return read.status === "DONE" ? read : undefined;
    });
    const [problem] = sync.errors;
    print(
      `17:31  Its menu arrives: ${sync.itemsSynced} items; ${sync.itemsFailed} is skipped (${problem?.message ?? ""}).`,
    );

    const send = ({ body, headers }: ReturnType<typeof till.event>, expected = 200) =>
      anyone.call("POST", "/pos/webhooks/generic", body, [expected], headers);
    const number = `counter-${randomUUID()}`;
    const sold = { items: [{ externalId: "till-1", qty: 2 }], totalAmount: 440 };
    const order = till.event("order.created", sold, number);
    await Promise.all([send(order), send(till.event("order.created", sold, number)), send(order)]);
    await send(till.event("order.status", { orderExternalId: number, status: "READY" }));
    till.sellOut("till-3");
    const soldOut = till.event("item.availability", { items: [{ externalId: "till-3", available: false }] });
    await Promise.all([send(soldOut), send(soldOut)]);
    const forged = await send({ ...order, body: { ...order.body, data: { ...sold, totalAmount: 1 } } }, 401);
    print(`17:32  It reports an order at the counter (three times), that it is ready, and that the soup is sold out.`);
    print(`       The same order with a forged total is refused: ${String(forged.body["code"])}.`);

    const taken = await until("the till's order is there", async () => {
      const list = await done(listPartnerOrders({}, owner.session));
      const fromTill = list.filter(({ totalAmount }) => totalAmount === 440);
      return fromTill.some(({ status }) => status === "READY") ? fromTill : undefined;
    });
    const soup = await until("the soup is sold out", async () => {
      const list = await done(listMenuItems({}, owner.session));
      return list.find(({ externalId, available }) => externalId === "till-3" && !available);
    });
    if (taken.length !== 1) throw new Error("one order of the till became several");
    await until("the service pulls the till's menu again", () => Promise.resolve(till.pulls() > 1 || undefined));
    print(
      `17:33  A worker has recorded ${taken.length} order, ${String(taken[0]?.status)}, and taken “${soup.name}” off sale.`,
    );
    // the till is about to stop, and scheduled syncs would only fail
    await done(disconnectPos({ partnerId }, admin.session));
  } finally {
    till.stop();
  }
}
