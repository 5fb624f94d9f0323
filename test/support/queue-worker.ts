import type { Contract, Payload } from "../../queues/contract.js";
import { closeBroker } from "../../queues/broker.js";
import { closeDatabase } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { consume, type Handler } from "../../workers/consume.js";
import { startRelay } from "../../workers/relay.js";

/** Runs a relay and a worker for one queue in the test's process, with `concurrency` jobs at once. */
export function startQueueWorker<P extends Payload>(contract: Contract<P>, handler: Handler<P>, concurrency = 1) {
  const relay = startRelay([contract]);
  const consumer = consume(contract, handler, { concurrency, signal: new AbortController().signal });
  return {
    async stop(): Promise<void> {
      await Promise.all([relay.stop(), consumer.close()]);
    },
  };
}

/** Closes every connection of the test's process to Postgres and the broker. */
export async function disconnect(): Promise<void> {
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
}
