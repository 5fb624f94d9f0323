import { createECDH, randomBytes, randomUUID } from "node:crypto";
import { Agent, request } from "undici";
import webPush from "web-push";
import { config } from "../../../lib/process/config.js";
import { sha256 } from "../../../lib/security/crypto.js";
import { log } from "../../../lib/process/log.js";
import { sql } from "../../../sql/db.js";
import { deliverPush } from "../../../workers/push.js";
import { DeliveryPlan } from "../messages.js";
import { answerParent } from "./answer.js";

// Sends Web Push messages: those of notifications, as the worker does; or the same text, with web-push alone.

const vapidDetails = config.VAPID ?? undefined;
if (!vapidDetails) throw new Error("there is no key to sign with");

function newSubscription(service: string) {
  const ecdh = createECDH("prime256v1");
  const [p256dh, auth] = [ecdh.generateKeys("base64url"), randomBytes(16).toString("base64url")];
  return { endpoint: `${service}/send/${randomUUID()}`, keys: { p256dh, auth } };
}

/** Gives each of so many users a browser and something to be told of; answers what is to be done for each. */
async function prepareWorker(service: string, count: number): Promise<(() => Promise<void>)[]> {
  const users = await sql<{ id: string }[]>`
    insert into users (service_id, phone)
    select 'SF-' || id, id from (select gen_random_uuid()::text as id from generate_series(1, ${count}::integer)) as ids
    returning id`;
  const subscriptions = users.map(() => newSubscription(service));
  await sql`
    insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
    select id, true, true, true, false, '00:00', '00:00' from unnest(${users.map(({ id }) => id)}::uuid[]) as id`;
  await sql`
    insert into devices (user_id, platform, address, address_digest, p256dh, auth, locale)
    select user_id, 'web', address, decode(digest, 'hex'), p256dh, auth, 'ru-RU'
    from unnest(
      ${users.map(({ id }) => id)}::uuid[],
      ${subscriptions.map(({ endpoint }) => endpoint)}::text[],
      ${subscriptions.map(({ endpoint }) => sha256(endpoint).toString("hex"))}::text[],
      ${subscriptions.map(({ keys }) => keys.p256dh)}::text[],
      ${subscriptions.map(({ keys }) => keys.auth)}::text[]
    ) as subscription (user_id, address, digest, p256dh, auth)`;
  const notifications = await sql<{ id: string }[]>`
    insert into notifications (user_id, kind, partner_id)
    select id, 'ORDER_READY', (select id from partners limit 1) from unnest(${users.map(({ id }) => id)}::uuid[]) as id
    returning id`;
  return notifications.map(
    ({ id }) =>
      () =>
        deliverPush({
          payload: { notificationId: id },
          log,
          requestId: undefined,
          attempt: 1,
          signal: new AbortController().signal,
          done: () => Promise.resolve(),
        }),
  );
}

const dispatcher = new Agent();
const text = JSON.stringify({
  title: "Заказ готов",
  body: "«Bakery 1»: можно забирать.",
  tag: "order-AZ4FbH8wcAGAAAAAAAAAAA",
  data: { partnerId: randomUUID(), notificationId: randomUUID(), kind: "ORDER_READY" },
});

function prepareBare(service: string, count: number): (() => Promise<void>)[] {
  return Array.from({ length: count }, () => {
    const subscription = newSubscription(service);
    return async () => {
      const { endpoint, headers, body } = webPush.generateRequestDetails(subscription, text, {
        vapidDetails,
        TTL: 86_400,
        urgency: "high",
        topic: "order-AZ4FbH8wcAGAAAAAAAAAAA",
      });
      const answer = await request(endpoint, { method: "POST", headers, body, dispatcher });
      await answer.body.dump();
      if (answer.statusCode !== 201) throw new Error(`the push service answered ${answer.statusCode}`);
    };
  });
}

answerParent(DeliveryPlan, async ({ how, service, messages, atOnce }) => {
  const waiting = how === "worker" ? await prepareWorker(service, messages) : prepareBare(service, messages);
  const [start, cpuBefore] = [performance.now(), process.cpuUsage()];
  const sendNext = async () => {
    for (let send = waiting.pop(); send; send = waiting.pop()) await send();
  };
  await Promise.all(Array.from({ length: atOnce }, sendNext));
  const { user, system } = process.cpuUsage(cpuBefore);
  return { perSecond: (messages * 1_000) / (performance.now() - start), cpuMicros: (user + system) / messages };
});
