import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Db } from "../../sql/db.js";
import type { Reply } from "../support/api.js";
import type { Bakery } from "../support/cast.js";
import { newSecret, signed, startTill } from "../support/till.js";

// no worker runs here
process.env["SYNC_WAIT_MS"] = "0";
process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const secret = newSecret();
process.env["POS_WEBHOOK_SECRETS"] = JSON.stringify({ generic: [secret] });

const { closeDatabase } = await import("../../sql/db.js");
const { closeSignals } = await import("../../sql/signals.js");
const { outcome, startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { countBlocked, lockRows } = await import("../support/locks.js");
const { order } = await import("../support/orders.js");
const { fileForm, pdf } = await import("../support/pictures.js");
const { until } = await import("../support/until.js");

const api = await startApi();
const till = await startTill();
let flooder: Bakery;
let other: Bakery;
const phone = cast.newPhone();
const account = "flooder";
const bun = { name: "Слойка", category: "Выпечка", price: 1 };
const csv = "name,category,price\nСлойка,Выпечка,90\n";

beforeAll(async () => {
  [flooder, other] = [await cast.bakery(api.client), await cast.bakery(api.client)];
  const admin = await cast.admin(api.client);
  const credentials = { adapterName: "generic", credentialsJson: till.credentials(account) };
  await admin.client.put("/api/v1/pos/credentials", { partnerId: flooder.id, ...credentials });
});

afterAll(async () => {
  await api.stop();
  await till.stop();
  await closeSignals();
  await closeDatabase();
});

const advisory = (tx: Db, key: string, space = 0) =>
  tx`select from pg_advisory_xact_lock(hashtextextended(${key}::text, ${space}::bigint))`;

const addItem = ({ owner }: Bakery) => owner.client.post("/api/v1/menu/items", bun);

const rename = ({ owner }: Bakery) => owner.client.put("/api/v1/users/me", { firstName: "Вера" });

async function orderFrom(seller: Bakery): Promise<Reply> {
  const menuItemId = await cast.addMenuItem(seller, { price: 1 });
  return order(seller.owner, seller, [{ menuItemId, qty: 1 }], 1);
}

interface Flood {
  /** How many of its requests may wait in Postgres. */
  atOnce: number;
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
    atOnce: 1,
    lock: (tx) => advisory(tx, flooder.owner.id, 1),
    prepare: async () => {
      const menuItemId = await cast.addMenuItem(flooder, { price: 1 });
      return () => order(flooder.owner, flooder, [{ menuItemId, qty: 1 }], 1);
    },
    ask: () => orderFrom(other),
  },
  uploads: {
    atOnce: 1,
    lock: (tx) => advisory(tx, `uploads ${flooder.owner.id}`),
    prepare: ready(() => flooder.owner.client.post("/api/v1/files/upload", fileForm(pdf, "application/pdf"))),
    ask: () => addItem(other),
  },
  "menu items": {
    atOnce: 1,
    lock: (tx) => tx`select from partners where id = ${flooder.id}::uuid for update`,
    prepare: ready(() => addItem(flooder)),
    ask: () => addItem(other),
  },
  imports: {
    atOnce: 1,
    lock: (tx) => advisory(tx, `menu imports ${flooder.id}`),
    prepare: ready(() =>
      flooder.owner.client.send("post", "/api/v1/menu/import/csv", csv, { headers: { "content-type": "text/csv" } }),
    ),
    ask: () => addItem(other),
  },
  codes: {
    atOnce: 1,
    lock: (tx) => advisory(tx, `otp ${phone}`),
    prepare: ready(() => api.client.post("/api/v1/auth/otp/send", { phone })),
    ask: () => addItem(other),
  },
  guesses: {
    atOnce: 1,
    lock: (tx) => tx`select from otp where phone = ${phone} for update`,
    prepare: ready(() => api.client.post("/api/v1/auth/otp/verify", { phone, code: "000000" })),
    ask: () => orderFrom(other),
  },
  registrations: {
    atOnce: 1,
    lock: (tx) => tx`select from cities where id = ${cast.bakeryProfile.cityId} for update`,
    prepare: ready(() => api.client.post("/api/v1/partners/register", { ...cast.bakeryProfile, name: "Flood" })),
    ask: () => addItem(other),
  },
  "menu syncs": {
    atOnce: 1,
    lock: (tx) => tx`select from pos_credentials where partner_id = ${flooder.id}::uuid for update`,
    prepare: ready(() => flooder.owner.client.post("/api/v1/menu/pos/sync")),
    ask: () => rename(other),
  },
  webhooks: {
    atOnce: 1,
    lock: (tx) => tx`insert into pos_inboxes (partner_id) values (${flooder.id}::uuid)`,
    prepare: ready(() => {
      const event = { type: "menu.updated", externalId: randomUUID(), partnerExternalId: account, data: {} };
      const { body, headers } = signed(event, secret);
      return api.client.send("post", "/api/v1/pos/webhooks/generic", body, { headers });
    }),
    ask: () => rename(other),
  },
  "profile changes": {
    atOnce: 4,
    lock: (tx) => tx`select from users where id = ${flooder.owner.id}::uuid for update`,
    prepare: ready(() => rename(flooder)),
    ask: () => rename(other),
  },
  "cancelled orders": {
    atOnce: 4,
    lock: (tx) => tx`select from boxes where partner_id = ${flooder.id}::uuid for update`,
    prepare: async () => {
      const hours = (count: number) => new Date(Date.now() + count * 3_600_000).toISOString();
      const windows = { pickupWindowStart: hours(5), pickupWindowEnd: hours(6) };
      const box = await cast.listBox(flooder, { price: 1, quantity: 15, ...windows });
      const orders = await Promise.all(
        Array.from({ length: 15 }, () => order(flooder.owner, flooder, [{ menuItemId: box, qty: 1 }], 1)),
      );
      return () => flooder.owner.client.post(`/api/v1/orders/${orders.pop()?.string("orderId")}/cancel`);
    },
    ask: () => orderFrom(other),
  },
};

test.each(Object.entries(floods))(
  "%s that one caller sends at once wait on few connections, and delay no one else",
  async (_name, { atOnce, lock, prepare, ask }) => {
    const send = await prepare();
    const unlock = await lockRows(lock);
    const waiting = Array.from({ length: 15 }, send);
    await until(async () => (await countBlocked()) >= atOnce);
    expect(outcome(await ask())).toMatch(/^20[01]$/);
    expect(await countBlocked()).toBe(atOnce);
    await unlock();
    for (const { status } of await Promise.all(waiting)) expect(status).toBeLessThan(500);
  },
);
