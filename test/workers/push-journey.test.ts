import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { newVapidKeys } from "../../lib/process/push-keys.js";
import type { Client } from "../support/api.js";
import type { Bakery, Character } from "../support/cast.js";
import { ended, startProcess } from "../support/processes.js";
import { startWebPush } from "../support/push/web-push.js";
import { until } from "../support/until.js";

const web = await startWebPush();
const vapid = newVapidKeys();
Object.assign(process.env, vapid, { ALLOW_PRIVATE_ADDRESSES: "1" });

// these modules read the configuration
const { closeBroker, openQueues } = await import("../../queues/broker.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { closeSignals } = await import("../../sql/signals.js");
const { startWorkers } = await import("../../workers/start.js");
const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");

let client: Client;
let stop: () => Promise<void>;
let shop: Bakery;
let rollId: string;
let anna: Character;
let workers: { stop(): Promise<void> } | undefined;

beforeAll(async () => {
  ({ client, stop } = await startApi());
  shop = await cast.bakery(client);
  rollId = await cast.addMenuItem(shop, { price: 60 });
});

beforeEach(async () => {
  anna = await cast.user(client);
});

afterEach(async () => {
  await workers?.stop();
  workers = undefined;
  for (const queue of openQueues()) await queue.obliterate({ force: true });
  await sql`truncate staged_jobs`;
  web.shown.length = 0;
  web.answerWith();
});

afterAll(async () => {
  await stop();
  await Promise.all([closeBroker(), closeSignals(), web.stop()]);
  await closeDatabase();
});

/** Reads the key, subscribes a browser with it, and registers the subscription. */
async function subscribe(): Promise<string> {
  const { body } = await client.get("/api/v1/notifications/vapid-public-key");
  const { address, keys } = web.subscribe(String(body["publicKey"]));
  const registered = await anna.client.post("/api/v1/notifications/devices", {
    pushToken: JSON.stringify({ endpoint: address, expirationTime: null, keys }),
    platform: "web",
    locale: "ru-RU",
  });
  expect(registered.status).toBe(201);
  return registered.string("id");
}

const prefer = (preferences: Record<string, unknown>) =>
  anna.client.put("/api/v1/users/me/notification-preferences", preferences);
const minutesFromNow = (minutes: number) =>
  new Date(Date.now() + minutes * 60_000).toLocaleTimeString("sv-SE", { timeZone: "Europe/Moscow" });
const noQuietHours = { quietHoursStart: "00:00:00", quietHoursEnd: "00:00:00" };
const quietNow = () => ({ quietHoursStart: minutesFromNow(-60), quietHoursEnd: minutesFromNow(60) });

async function orderRoll(): Promise<string> {
  const order = { items: [{ menuItemId: rollId, qty: 1 }], totalAmount: 60, partnerId: shop.id };
  return (await anna.client.post("/api/v1/orders", order)).string("orderId");
}

/** Waits until the only notification has this status; returns it. */
const untilStatus = (status: string) =>
  until(async () => (await anna.client.get("/api/v1/notifications")).list.find((row) => row["status"] === status));

interface PushJob {
  id: number;
  runAt: Date;
}

/** Anna's open push job. */
const pushJob = async () =>
  (
    await sql<PushJob[]>`
      select j.id, j.run_at as "runAt"
      from staged_jobs j
      join notifications n on n.id::text = j.payload ->> 'notificationId' and n.user_id = ${anna.id}::uuid
      where j.queue = 'push' and j.done_at is null`
  )[0];

/** Makes the waiting push jobs due. */
async function makeJobsDue(): Promise<void> {
  await sql`update staged_jobs set run_at = now(), next_send_at = now() where queue = 'push'`;
}

test("an order is shown once in each of its customer's browsers", async () => {
  await Promise.all([subscribe(), subscribe(), prefer(noQuietHours)]);
  workers = await startWorkers(["fan-out", "push"]);
  const orderId = await orderRoll();
  const notification = await untilStatus("SENT");
  expect(web.shown).toHaveLength(2);
  for (const shown of web.shown)
    expect(shown).toMatchObject({
      title: notification["title"],
      body: notification["body"],
      data: { orderId, kind: "ORDER_ACCEPTED" },
    });
  expect(new Set(web.shown.map(({ subscription }) => subscription)).size).toBe(2);
});

describe("during quiet hours", () => {
  let end: number;

  beforeEach(async () => {
    end = Date.now() + 60 * 60_000;
    await Promise.all([subscribe(), prefer(quietNow())]);
    workers = await startWorkers(["fan-out", "push"]);
    await orderRoll();
    await untilStatus("DEFERRED");
  });

  test("a message waits in its row until their end, and is then shown once", async () => {
    const { runAt } = (await pushJob())!;
    expect(Math.abs(runAt.getTime() - end)).toBeLessThan(5_000);
    expect(web.shown).toEqual([]);
    // her time zone is now two hours ahead, which no job has noticed yet
    await sql`update users set timezone = 'Asia/Yekaterinburg' where id = ${anna.id}::uuid`;
    await makeJobsDue();
    await untilStatus("SENT");
    expect(web.shown).toHaveLength(1);
    await until(async () => (await pushJob()) === undefined);
  });

  test("a message whose job runs too early waits again", async () => {
    const { id: first } = (await pushJob())!;
    await makeJobsDue();
    await until(async () => (await pushJob())!.id !== first);
    expect(web.shown).toEqual([]);
    expect((await pushJob())!.runAt.getTime()).toBeGreaterThan(Date.now() + 30 * 60_000);
  });

  test("a message is shown when they are switched off, but not when they change and still apply", async () => {
    await prefer({ quietHoursEnd: minutesFromNow(30) });
    await until(async () => (await pushJob())!.runAt.getTime() < Date.now() + 31 * 60_000);
    await until(async () => (await pushJob())!.runAt.getTime() > Date.now() + 29 * 60_000);
    expect(web.shown).toEqual([]);
    await prefer(noQuietHours);
    await untilStatus("SENT");
    expect(web.shown).toHaveLength(1);
    await until(async () => (await pushJob()) === undefined);
  });

  test("a message is shown when the user's new time zone ends them", async () => {
    await anna.client.put("/api/v1/users/me", { firstName: "Анна" });
    await anna.client.put("/api/v1/users/me", { timezone: "Asia/Yekaterinburg" });
    await untilStatus("SENT");
    expect(web.shown).toHaveLength(1);
  });

  test("a message is dropped as soon as the user switches pushes off", async () => {
    await prefer({ push: false });
    await untilStatus("DROPPED");
    expect(web.shown).toEqual([]);
  });

  test("a device registered meanwhile gets the message, a deleted one does not", async () => {
    const [{ id: first } = {}] = (await anna.client.get("/api/v1/notifications/devices")).list;
    await subscribe();
    await anna.client.delete(`/api/v1/notifications/devices/${String(first)}`);
    await prefer(noQuietHours);
    await untilStatus("SENT");
    expect(web.shown).toHaveLength(1);
  });

  test("a message to a deleted account is dropped", async () => {
    await anna.client.delete("/api/v1/users/me");
    await makeJobsDue();
    await until(async () => {
      const { count } = await sql`select from notifications where user_id = ${anna.id}::uuid and status = 'DROPPED'`;
      return count === 1;
    });
    expect(web.shown).toEqual([]);
  });
});

test("a message whose worker was killed while sending is not sent again", async () => {
  await Promise.all([subscribe(), prefer(noQuietHours)]);
  web.answerWith("hang");
  const before = web.attempts();
  const worker = startProcess("worker.ts", ["fan-out", "push"]);
  const arrived = web.arrival();
  await orderRoll();
  await arrived;
  worker.kill("SIGKILL");
  await ended(worker);
  expect(await sql`select status::text from notification_deliveries where status = 'SENDING'`).toHaveLength(1);

  // later, when the broker has noticed the loss too
  await sql`update notification_deliveries set started_at = now() - interval '1 minute' where status = 'SENDING'`;
  for (const queue of openQueues()) await queue.obliterate({ force: true });
  await makeJobsDue();
  workers = await startWorkers(["fan-out", "push"]);
  await untilStatus("SENT");
  expect(web.attempts()).toBe(before + 1);
  const [delivery] = await sql`
    select d.status::text, d.reason from notification_deliveries d
    join notifications n on n.id = d.notification_id and n.user_id = ${anna.id}::uuid`;
  expect(delivery).toEqual({ status: "UNKNOWN", reason: "cut short while it was sent" });
});
