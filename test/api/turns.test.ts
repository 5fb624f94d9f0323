import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Db } from "../../sql/db.js";
import type { Reply } from "../support/api.js";
import type { Bakery } from "../support/cast.js";

// no worker runs here
process.env["SYNC_WAIT_MS"] = "0";

const { closeDatabase } = await import("../../sql/db.js");
const { closeSignals } = await import("../../sql/signals.js");
const { outcome, startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { countBlocked, lockRows } = await import("../support/locks.js");
const { order } = await import("../support/orders.js");
const { fileForm, pdf } = await import("../support/pictures.js");
const { until } = await import("../support/until.js");

const api = await startApi();
let flooder: Bakery;
let other: Bakery;
const phone = cast.newPhone();
const bun = { name: "Слойка", category: "Выпечка", price: 1 };
const csv = "name,category,price\nСлойка,Выпечка,90\n";

beforeAll(async () => {
  [flooder, other] = [await cast.bakery(api.client), await cast.bakery(api.client)];
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

const advisory = (tx: Db, key: string, space = 0) =>
  tx`select from pg_advisory_xact_lock(hashtextextended(${key}::text, ${space}::bigint))`;

const addItem = ({ owner }: Bakery) => owner.client.post("/api/v1/menu/items", bun);

async function orderFrom(seller: Bakery): Promise<Reply> {
  const menuItemId = await cast.addMenuItem(seller, { price: 1 });
  return order(seller.owner, seller, [{ menuItemId, qty: 1 }], 1);
}

interface Flood {
  /** Takes the lock that the flood waits for. */
  lock: (tx: Db) => Promise<unknown>;
  /** Prepares one of its requests. */
  prepare: () => Promise<() => Promise<Reply>>;
  /** A request of another caller over the same connections. */
  ask: () => Promise<Reply>;
}

const ready = (send: () => Promise<Reply>) => () => Promise.resolve(send);

const floods: Record<string, Flood> = {
  orders: {
    lock: (tx) => advisory(tx, flooder.owner.id, 1),
    prepare: async () => {
      const menuItemId = await cast.addMenuItem(flooder, { price: 1 });
      return () => order(flooder.owner, flooder, [{ menuItemId, qty: 1 }], 1);
    },
    ask: () => orderFrom(other),
  },
  uploads: {
    lock: (tx) => advisory(tx, `uploads ${flooder.owner.id}`),
    prepare: ready(() => flooder.owner.client.post("/api/v1/files/upload", fileForm(pdf, "application/pdf"))),
    ask: () => addItem(other),
  },
  "menu items": {
    lock: (tx) => advisory(tx, `menu size ${flooder.id}`),
    prepare: ready(() => addItem(flooder)),
    ask: () => addItem(other),
  },
  imports: {
    lock: (tx) => advisory(tx, `menu imports ${flooder.id}`),
    prepare: ready(() =>
      flooder.owner.client.send("post", "/api/v1/menu/import/csv", csv, { headers: { "content-type": "text/csv" } }),
    ),
    ask: () => addItem(other),
  },
  codes: {
    lock: (tx) => advisory(tx, `otp ${phone}`),
    prepare: ready(() => api.client.post("/api/v1/auth/otp/send", { phone })),
    ask: () => addItem(other),
  },
  guesses: {
    lock: (tx) => tx`select from otp where phone = ${phone} for update`,
    prepare: ready(() => api.client.post("/api/v1/auth/otp/verify", { phone, code: "000000" })),
    ask: () => orderFrom(other),
  },
  registrations: {
    lock: (tx) => advisory(tx, "slug flood"),
    prepare: ready(() => api.client.post("/api/v1/partners/register", { ...cast.bakeryProfile, name: "Flood" })),
    ask: () => addItem(other),
  },
};

test.each(Object.entries(floods))(
  "%s that one caller sends at once wait on one connection, and delay no one else",
  async (_name, { lock, prepare, ask }) => {
    const send = await prepare();
    const unlock = await lockRows(lock);
    const waiting = Array.from({ length: 15 }, send);
    await until(async () => (await countBlocked()) > 0);
    expect(outcome(await ask())).toBe("201");
    expect(await countBlocked()).toBe(1);
    await unlock();
    for (const { status } of await Promise.all(waiting)) expect(status).toBeLessThan(500);
  },
);
