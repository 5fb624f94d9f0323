import type { OwnPostgres } from "../own-postgres.js";
import type { Endpoint, Market } from "./market.js";

interface LoggedEvent {
  id: string;
  type: string;
  /** The status of its delivery; null without one. */
  attempts: number | null;
}

/** Lists the events of the log that match an endpoint, in order. */
const listEventsFor = (ask: OwnPostgres["ask"], { id, partnerId }: Endpoint, since: Date) =>
  ask<LoggedEvent>(
    `select e.id, e.type, d.attempts
     from events e
     left join webhook_deliveries d on d.endpoint_id = $1 and d.position = e.position
     where e.at > $2 and ($3::uuid is null or e.partner_id = $3)
     order by e.position`,
    [id, since, partnerId],
  );

/**
 * Yields a sentence for each missing event, each event that arrived after a later one although neither failed, and each
 * wrong signature.
 */
export async function* checkWebhooks(ask: OwnPostgres["ask"], { endpoints, endpointsSince }: Market) {
  for (const endpoint of endpoints) {
    const { receiver, partnerId } = endpoint;
    const name = `the endpoint of ${partnerId ?? "the platform"}`;
    for (const reason of receiver.refused) yield `${name} refused a message: ${reason}`;
    const places = new Map<string, number>();
    for (const [place, { id }] of receiver.received.entries()) if (!places.has(id)) places.set(id, place);
    let latest = -1;
    for (const { id, type, attempts } of await listEventsFor(ask, endpoint, endpointsSince)) {
      const place = places.get(id);
      if (place === undefined) yield `event ${type} ${id} never arrived at ${name}`;
      else if (attempts === 1) {
        if (place < latest) yield `event ${type} ${id} arrived at ${name} after a later one`;
        latest = Math.max(latest, place);
      }
    }
  }
}

/** Makes all retries due now, as if the hours until then had passed. */
export async function sendWebhooksNow(ask: OwnPostgres["ask"]): Promise<void> {
  await ask("update webhook_endpoints set paused_until = null");
  await ask("update webhook_deliveries set next_attempt_at = now() where next_attempt_at is not null");
  await ask("select schedule_webhooks(id, now()) from webhook_endpoints");
}
