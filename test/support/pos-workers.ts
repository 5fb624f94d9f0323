import { closeBroker } from "../../queues/broker.js";
import { posEvents, posSync } from "../../queues/index.js";
import { sql } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { consume } from "../../workers/consume.js";
import { applyPosEvents } from "../../workers/pos-events.js";
import { syncMenu } from "../../workers/pos-sync.js";
import { startRelay } from "../../workers/relay.js";
import { until } from "./until.js";

/** Runs the POS workers in the test's process. */
export function startPosWorkers() {
  const { signal } = new AbortController();
  const relay = startRelay([posEvents, posSync]);
  const consumers = [
    consume(posEvents, applyPosEvents, { concurrency: 8, signal }),
    consume(posSync, syncMenu, { concurrency: 4, signal }),
  ];
  return {
    async stop() {
      await Promise.all([relay.stop(), ...consumers.map((consumer) => consumer.close())]);
      await Promise.all([closeBroker(), closeSignals()]);
    },
  };
}

/** Waits until no event of the partner is queued. */
export const allSettled = (partnerId: string) =>
  until(
    async () =>
      (await sql`select from pos_events where partner_id = ${partnerId}::uuid and status = 'QUEUED'`).count === 0,
  );

/** Waits until no sync of the partner is open. */
export const allSynced = (partnerId: string) =>
  until(
    async () =>
      (await sql`select from pos_syncs where partner_id = ${partnerId}::uuid and settled_at is null`).count === 0,
  );
