import { afterAll, afterEach, beforeEach } from "@jest/globals";
import { newVapidKeys } from "../../../lib/process/push-keys.js";
import type { Character } from "../cast.js";
import { task } from "../task.js";
import { startFcm } from "./fcm.js";
import { startWebPush } from "./web-push.js";

/**
 * A recipient with devices at a Web Push service and at FCM, for tests of the push worker; each test gets a new recipient.
 * Import this before anything that reads the configuration.
 */
export const [web, fcm] = [await startWebPush(), await startFcm()];
export const vapid = newVapidKeys();
Object.assign(process.env, vapid, {
  ALLOW_PRIVATE_ADDRESSES: "1",
  FCM_URL: fcm.url,
  FCM_SERVICE_ACCOUNT: fcm.serviceAccount,
});

const { Snooze } = await import("../../../lib/process/errors.js");
const { sha256 } = await import("../../../lib/security/crypto.js");
const { closeDatabase, sql } = await import("../../../sql/db.js");
const { deliverPush } = await import("../../../workers/push.js");
const { startApi } = await import("../api.js");
const { user } = await import("../cast.js");

export const api = await startApi();

let anna: Character;

/** The recipient of this test. */
export const recipient = () => anna;

beforeEach(async () => {
  anna = await user(api.client);
  await prefer({});
});

afterEach(() => {
  web.shown.length = 0;
  fcm.received.length = 0;
  web.answerWith();
  fcm.answerWith();
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
  await Promise.all([web.stop(), fcm.stop()]);
});

/** Sets the recipient's preferences, by default without quiet hours. */
export async function prefer({ push = true, marketing = false, start = "00:00", end = "00:00" }): Promise<void> {
  await sql`
    insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
    values (${anna.id}::uuid, ${push}, true, true, ${marketing}, ${start}::text::time, ${end}::text::time)
    on conflict (user_id) do update set
      push = excluded.push, marketing = excluded.marketing,
      quiet_hours_start = excluded.quiet_hours_start, quiet_hours_end = excluded.quiet_hours_end`;
}

/** The recipient's local time in `minutes` minutes. */
export const clock = (minutes: number) =>
  new Date(Date.now() + minutes * 60_000).toLocaleTimeString("sv-SE", { timeZone: "Europe/Moscow" });

export async function insertDevice(
  device: { address: string; keys: { p256dh: string; auth: string } | null },
  locale = "ru-RU",
): Promise<string> {
  const { address, keys } = device;
  const [row] = await sql<{ id: string }[]>`
    insert into devices (user_id, platform, address, address_digest, p256dh, auth, locale)
    values (
      ${anna.id}::uuid, ${keys ? "web" : "ios"}::device_platform, ${address}, ${sha256(address)},
      ${keys?.p256dh ?? null}, ${keys?.auth ?? null}, ${locale}
    )
    returning id`;
  return row!.id;
}

export const addBrowser = (locale?: string) => insertDevice(web.subscribe(vapid.VAPID_PUBLIC_KEY), locale);
let phones = 0;
export const addPhone = (locale?: string) =>
  insertDevice({ address: `phone:${(phones += 1)}-of-this-test`, keys: null }, locale);

/** Inserts a notification for the recipient, without deliveries. */
export async function notify(
  kind = "ORDER_ACCEPTED",
  about: { orderId?: string; partnerId?: string; boxId?: string } = {},
): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into notifications (user_id, kind, order_id, partner_id, box_id)
    values (
      ${anna.id}::uuid, ${kind}, ${about.orderId ?? null}::uuid, ${about.partnerId ?? null}::uuid,
      ${about.boxId ?? null}::uuid
    )
    returning id`;
  return row!.id;
}

export const deviceIds = async () =>
  (await sql<{ id: string }[]>`select id from devices where user_id = ${anna.id}::uuid order by id`).map(
    ({ id }) => id,
  );

export const deliveries = (notificationId: string) =>
  sql<{ deviceId: string; status: string; reason: string | null; attempts: number }[]>`
    select device_id as "deviceId", status::text, reason, attempts
    from notification_deliveries
    where notification_id = ${notificationId}::uuid
    order by device_id`;

/** Runs a job; returns the error it threw and its log lines. */
export async function deliver(notificationId: string, attempt = 1) {
  const run = { ...task({ notificationId }), attempt };
  const thrown = await deliverPush(run).then(
    () => null,
    (error: unknown) => error,
  );
  return { thrown, lines: run.lines };
}

/** The time until which a job is snoozed, in milliseconds. */
export const snoozedTo = (thrown: unknown): number => {
  if (thrown instanceof Snooze) return thrown.until.getTime();
  throw new Error(`not snoozed: ${String(thrown)}`);
};
