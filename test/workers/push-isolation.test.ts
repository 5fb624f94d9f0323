import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startSilentServers } from "../support/silent-servers.js";
import { until } from "../support/until.js";
import { startWebPush } from "../support/push/web-push.js";
import {
  addBrowser,
  addPhone,
  deliver,
  deliveries,
  deviceIds,
  fcm,
  insertDevice,
  notify,
  recipient,
  snoozedTo,
  vapid,
  web,
} from "../support/push/recipient.js";

// these modules read the configuration
const { sha256 } = await import("../../lib/security/crypto.js");
const { closeBroker } = await import("../../queues/broker.js");
const { push } = await import("../../queues/index.js");
const { sql } = await import("../../sql/db.js");
const { stageJobs } = await import("../../sql/outbox.js");
const { closeSignals } = await import("../../sql/signals.js");
const { deliverPush } = await import("../../workers/push.js");
const { pausedOrigins } = await import("../../workers/slots.js");
const { notificationStatus } = await import("../support/notifications.js");
const { startQueueWorker } = await import("../support/queue-worker.js");

/** The slots for origins that have not answered. */
const UNPROVEN_SHARE = Math.ceil(push.concurrency / 4);

const ORIGINS = 50;
let silent: Awaited<ReturnType<typeof startSilentServers>>;
beforeAll(async () => void (silent = await startSilentServers(ORIGINS)));
afterAll(async () => {
  await silent.stop();
  await Promise.all([closeBroker(), closeSignals()]);
});

/** Inserts users with one device each, and `each` notifications of each; returns the notifications' ids. */
async function notifyOthers(
  targets: { address: string; keys: { p256dh: string; auth: string } | null }[],
  each: number,
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    with target as (
      select gen_random_uuid() as id, address, digest, p256dh, auth
      from unnest(
        ${targets.map(({ address }) => address)}::text[],
        ${targets.map(({ address }) => sha256(address).toString("hex"))}::text[],
        ${targets.map(({ keys }) => keys?.p256dh ?? null)}::text[],
        ${targets.map(({ keys }) => keys?.auth ?? null)}::text[]
      ) as target (address, digest, p256dh, auth)
    ), person as (
      insert into users (id, service_id, phone) select id, 'SF-' || id, id::text from target returning id
    ), preference as (
      insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
      select id, true, true, true, true, '00:00', '00:00' from person
    ), device as (
      insert into devices (user_id, platform, address, address_digest, p256dh, auth, locale)
      select id, 'web', address, decode(digest, 'hex'), p256dh, auth, 'ru-RU' from target
    )
    insert into notifications (user_id, kind)
    select id, 'ORDER_ACCEPTED' from person, generate_series(1, ${each}::integer)
    returning id`;
  const ids = rows.map(({ id }) => id);
  await stageJobs(
    sql,
    push,
    ids.map((notificationId) => ({ payload: { notificationId } })),
  );
  return ids;
}

const statuses = async (ids: readonly string[]) =>
  (
    await sql<{ status: string }[]>`
      select distinct status::text from notifications where id = any (${[...ids]}::uuid[]) order by status`
  ).map(({ status }) => status);

test("users of 50 push services that never answer do not hold up others", async () => {
  // a service that nobody listed, and that answers
  await addBrowser();
  await deliver(await notify());

  const worker = startQueueWorker(push, deliverPush, push.concurrency);
  const hanging = await notifyOthers(
    silent.urls.map((url) => ({ ...web.subscribe(vapid.VAPID_PUBLIC_KEY), address: `${url}/send` })),
    4,
  );
  await until(() => silent.open() === UNPROVEN_SHARE);
  const healthy = await notifyOthers(
    Array.from({ length: 30 }, (_, n) =>
      n % 3 === 0 ? web.subscribe(vapid.VAPID_PUBLIC_KEY) : { address: `phone:${n}-of-another`, keys: null },
    ),
    1,
  );
  await until(async () => (await statuses(healthy)).join() === "SENT");
  expect(silent.open()).toBeGreaterThan(0);
  expect(silent.most()).toBe(UNPROVEN_SHARE);
  // no job for them has failed, spent an attempt or counted as a call while it waited
  await until(async () => (await statuses(hanging)).includes("DEFERRED"));
  const waiting = await sql<{ attempts: number; tries: number; reason: string }[]>`
    select distinct j.attempts, d.attempts as tries, d.reason
    from notifications n
    join notification_deliveries d on d.notification_id = n.id
    join staged_jobs j on j.payload ->> 'notificationId' = n.id::text
    where n.id = any (${hanging}::uuid[]) and n.status = 'DEFERRED' and d.status = 'LATER' and j.run_at > now()`;
  expect(waiting).toEqual([{ attempts: 0, tries: 0, reason: "the push service is busy" }]);
  // the open calls end with their servers
  await silent.stop();
  await worker.stop();
  silent = await startSilentServers(1);
});

describe("a device whose push service leaves five deliveries in a row unanswered", () => {
  test("is deleted, and the service is paused for the devices of others", async () => {
    const own = await startWebPush();
    const gone = await insertDevice(own.subscribe(vapid.VAPID_PUBLIC_KEY));
    const others = await notifyOthers([own.subscribe(vapid.VAPID_PUBLIC_KEY)], 1);
    own.answerWith("drop", "drop", "drop", "drop");
    for (let n = 0; n < 4; n += 1) await deliver(await notify());
    expect(await deviceIds()).toEqual([gone]);
    // a response starts the count again
    await deliver(await notify());
    own.answerWith("drop", "drop", "drop", "drop", "drop");
    for (let n = 0; n < 4; n += 1) await deliver(await notify());
    expect(await deviceIds()).toEqual([gone]);
    const last = await notify();
    await deliver(last);
    expect(await deviceIds()).toEqual([]);
    expect(await notificationStatus(last)).toMatchObject({ status: "SENT" });

    const calls = own.attempts();
    snoozedTo((await deliver(others[0]!)).thrown);
    expect(own.attempts()).toBe(calls);
    expect(pausedOrigins().map(({ queue }) => queue)).toContain("push");
    expect(await deliveries(others[0]!)).toMatchObject([{ status: "LATER", attempts: 0 }]);
    expect(await notificationStatus(others[0]!)).toEqual({ status: "DEFERRED", reason: "the push service is busy" });
    await own.stop();
  });

  test("counts from zero once it is registered again", async () => {
    const browser = await addBrowser();
    await sql`update devices set unanswered = 4 where id = ${browser}::uuid`;
    const find = () =>
      sql<{ address: string; p256dh: string; auth: string; unanswered: number }[]>`
        select address, p256dh, auth, unanswered from devices where id = ${browser}::uuid`;
    const [{ address, p256dh, auth } = { address: "" }] = await find();
    const pushToken = JSON.stringify({ endpoint: address, keys: { p256dh, auth } });
    await recipient().client.post("/api/v1/notifications/devices", { pushToken, platform: "web" });
    expect(await find()).toMatchObject([{ unanswered: 0 }]);
  });

  test("is kept when the service is a known one: the outage is not the device's", async () => {
    const phone = await addPhone();
    fcm.answerWith("drop", "drop", "drop", "drop", "drop");
    for (let n = 0; n < 5; n += 1) await deliver(await notify());
    expect(await deviceIds()).toEqual([phone]);
    const calls = fcm.attempts();
    snoozedTo((await deliver(await notify())).thrown);
    expect(fcm.attempts()).toBe(calls);
  });
});
