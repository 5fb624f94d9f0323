import { randomUUID } from "node:crypto";
import { Agent, request } from "undici";
import webPush from "web-push";
import { config } from "../../../lib/process/config.js";
import { log } from "../../../lib/process/log.js";
import { deliverPush } from "../../../workers/push.js";
import { DeliveryPlan } from "../messages.js";
import { answerParent } from "./answer.js";
import { insertRecipients, newSubscription } from "./recipients.js";

// Sends Web Push messages: of notifications, as the worker does; or with the same text through web-push alone.

const vapidDetails = config.VAPID ?? undefined;
if (!vapidDetails) throw new Error("there is no key to sign with");

/** Returns one delivery per user, to be started. */
async function prepareWorker(service: string, count: number): Promise<(() => Promise<void>)[]> {
  const notificationIds = await insertRecipients(Array.from({ length: count }, () => service));
  return notificationIds.map(
    (notificationId) => () =>
      deliverPush({
        payload: { notificationId },
        log,
        progress: () => undefined,
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
