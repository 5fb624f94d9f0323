import type { Contract, Payload } from "../../queues/contract.js";
import { closeBroker } from "../../queues/broker.js";
import { closeDatabase } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { consume, type Handler } from "../../workers/consume.js";
import { startRelay } from "../../workers/relay.js";

/** Works on one queue within the test's own process: hands its jobs over, and runs `concurrency` of them at once. */
export function startQueueWorker<P extends Payload>(contract: Contract<P>, handler: Handler<P>, concurrency = 1) {
  const relay = startRelay([contract]);
  const consumer = consume(contract, handler, { concurrency, signal: new AbortController().signal });
  return {
    async stop(): Promise<void> {
      await Promise.all([relay.stop(), consumer.close()]);
    },
  };
}

/** Ends every connection that the test's own process has with Postgres and the queue. */
export async function disconnect(): Promise<void> {
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
}
