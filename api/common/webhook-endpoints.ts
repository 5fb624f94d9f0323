import { sql, transaction, type Db } from "../../sql/db.js";
import { insertAuditEvent } from "../../sql/queries/audit-events.js";
import {
  listWatchedEndpoints,
  resendWebhooks,
  type ResentRange,
  type WatchedEndpoint,
} from "../../sql/queries/webhook-operations.js";
import { scheduleWebhooks, updateWebhookEndpoint } from "../../sql/queries/webhooks.js";
import { refusal } from "../http/refusal.js";
import type { By } from "./operate.js";

/** Actions on webhook endpoints that owners and operators share. */

/** Limit of events that one request resends, because each is a row to insert. */
export const MOST_RESENT = 10_000;

export const endpointStopped = refusal(
  409,
  "CONFLICT",
  "WEBHOOK_ENDPOINT_STOPPED",
  "Nothing is sent to this endpoint now.",
  "Enable the endpoint first.",
);

/** The events of a resend. */
export interface Resent {
  events: number;
  /** The position of the last one; null when there was none. */
  after: number | null;
  /** Whether more may be left to resend. */
  more: boolean;
}

/** Resends the events of a time to an endpoint. */
export async function resendEvents(tx: Db, id: string, range: ResentRange): Promise<Resent> {
  const { events, last } = await resendWebhooks(tx, id, range, MOST_RESENT);
  return { events, after: last, more: events === MOST_RESENT };
}

/** Returns an endpoint of any owner, as operators see it; undefined without one. */
export const watchedEndpoint = async (id: string): Promise<WatchedEndpoint | undefined> =>
  (await listWatchedEndpoints(sql, { failing: false, id }, null, 1))[0];

/**
 * Stops or starts an endpoint; returns whether that was a change, undefined without such an endpoint. One that is stopped for
 * another reason can be stopped too: then its owner cannot start it.
 */
export async function switchEndpoint(id: string, enabled: boolean, { actorId, why }: By): Promise<boolean | undefined> {
  const endpoint = await watchedEndpoint(id);
  if (!endpoint) return undefined;
  if (enabled ? endpoint.stoppedAt === null : endpoint.stoppedWhy === "BY_OPERATOR") return false;
  return transaction(async (tx) => {
    if (!(await updateWebhookEndpoint(tx, id, endpoint.partnerId, { enabled }, "BY_OPERATOR"))) return undefined;
    if (enabled) await scheduleWebhooks(tx, id);
    const action = enabled ? "WEBHOOK_ENDPOINT_START" : "WEBHOOK_ENDPOINT_STOP";
    await insertAuditEvent(tx, { actorId, action, subjectId: id, details: { why } });
    return true;
  });
}

/** Resends the events of a time for an operator; undefined without such an endpoint. Throws 409 when it is stopped. */
export async function resendForOperator(
  id: string,
  range: ResentRange,
  { actorId, why }: By,
): Promise<Resent | undefined> {
  const endpoint = await watchedEndpoint(id);
  if (!endpoint) return undefined;
  if (endpoint.stoppedAt !== null) throw endpointStopped();
  return transaction(async (tx) => {
    const resent = await resendEvents(tx, id, range);
    const details = { since: range.since.toISOString(), before: range.before.toISOString(), why };
    await insertAuditEvent(tx, {
      ...{ actorId, action: "WEBHOOKS_RESEND", subjectId: id },
      details: { ...details, events: String(resent.events) },
    });
    return resent;
  });
}
