import { randomUUID } from "node:crypto";
import { nextWait, pauseAfter } from "../lib/domain/webhook-retries.js";
import { Busy, SHARES_OF_OTHERS, takePlace } from "../lib/outbound/bulkhead.js";
import { recordCall } from "../lib/outbound/vendor-calls.js";
import { callWebhook, isAccepted, type WebhookOutcome } from "../lib/outbound/webhook.js";
import { Snooze } from "../lib/process/errors.js";
import { webhooks } from "../queues/webhooks.js";
import { sql } from "../sql/db.js";
import {
  claimWebhookEndpoint,
  decryptWebhookSecrets,
  endWebhookRun,
  findWebhookClaim,
  settleWebhook,
  takeNextWebhook,
  type ClaimedEndpoint,
  type WebhookRow,
} from "../sql/queries/webhooks.js";
import type { Handler } from "./consume.js";
import { shareSlots } from "./slots.js";

/** A run releases its slot to another endpoint after this time. */
const TURN_MS = 20_000;
/** Delay before a run checks again whether another one has ended. */
const CLAIMED_MS = 2_000;

/** Endpoints that do not answer leave a quarter of the slots to others. */
const receivers = shareSlots(webhooks, () => false, SHARES_OF_OTHERS);

const bodyOf = ({ type, version, position, partnerId, at, data }: WebhookRow): string =>
  JSON.stringify({ type, timestamp: at.toISOString(), version, position, partnerId, data });

/** Sends an event once; returns when to go on if there is no place for the call now. */
async function send(
  call: typeof callWebhook,
  id: string,
  endpoint: ClaimedEndpoint,
  event: WebhookRow,
): Promise<WebhookOutcome | Busy> {
  const { url, partnerId } = endpoint;
  // before the place is taken, which would be lost when the key is not there
  const secrets = decryptWebhookSecrets(id, endpoint);
  const place = await takePlace(receivers, { origin: new URL(url).origin, owner: partnerId ?? id });
  if (place instanceof Busy) return place;
  const outcome = await call({ url, id: event.eventId, body: bodyOf(event), secrets });
  place.leave(outcome.status !== null);
  recordCall("webhooks", !isAccepted(outcome));
  return outcome;
}

/**
 * Returns the handler that sends an endpoint its pending events. A failure pauses the endpoint, and its event has a retry
 * time of its own. So an event that always fails delays the others for seconds only, and an endpoint that is down is called
 * rarely.
 */
export const webhookSender =
  (call: typeof callWebhook): Handler<{ endpointId: string }> =>
  async ({ payload: { endpointId }, signal, log }) => {
    const run = randomUUID();
    const began = performance.now();
    for (;;) {
      // 1. Claim, or renew the claim.
      const endpoint = await claimWebhookEndpoint(sql, endpointId, run);
      if (!endpoint) {
        if (!(await findWebhookClaim(sql, endpointId))) {
          // it was stopped meanwhile: the claim would delay the first run after its start
          await endWebhookRun(sql, endpointId, run, null);
          return;
        }
        throw new Snooze(new Date(Date.now() + CLAIMED_MS));
      }
      // 2. Release the slot after its time, or while the endpoint pauses.
      if (signal.aborted || endpoint.isPaused || performance.now() - began > TURN_MS) {
        await endWebhookRun(sql, endpointId, run, new Date());
        return;
      }
      // 3. Send the next event.
      const event = await takeNextWebhook(sql, endpointId);
      if (!event) {
        await endWebhookRun(sql, endpointId, run, null);
        return;
      }
      const outcome = await send(call, endpointId, endpoint, event);
      if (outcome instanceof Busy) {
        await endWebhookRun(sql, endpointId, run, outcome.until);
        return;
      }
      // 4. Record the result, with the retry time and the pause.
      const { status, answer, ms, retryAfterSeconds } = outcome;
      const stop = await settleWebhook(sql, {
        endpointId,
        position: event.position,
        accepted: isAccepted(outcome),
        status,
        answer,
        ms,
        againIn: nextWait(event.attempts + 1, retryAfterSeconds, Math.random()),
        pause: pauseAfter(endpoint.failures + 1, retryAfterSeconds, Math.random()),
      });
      if (stop !== null) log.warn({ endpoint: endpointId, why: stop }, "no more events are sent to an endpoint");
    }
  };

/** Sends an endpoint its pending events. */
export const sendWebhooks = webhookSender(callWebhook);
