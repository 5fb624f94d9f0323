import { log } from "../lib/process/log.js";
import { version } from "../lib/process/version.js";
import type { Contract, Payload } from "../queues/contract.js";
import * as queues from "../queues/index.js";
import { consume, type Consumer, type Handler } from "./consume.js";
import { startNumbering } from "./number-events.js";
import { startRelay } from "./relay.js";
import { startSchedules } from "./schedules.js";
import { slotsOf } from "./slots.js";

/** A queue and its consumer, which is loaded only in processes that serve the queue. */
interface Service {
  readonly contract: Contract;
  readonly load: () => Promise<(signal: AbortSignal) => Consumer>;
}

function service<P extends Payload>(contract: Contract<P>, loadHandler: () => Promise<Handler<P>>): Service {
  const concurrency = slotsOf(contract);
  return {
    contract,
    load: async () => {
      const handler = await loadHandler();
      return (signal) => consume(contract, handler, { concurrency, signal });
    },
  };
}

/** Every queue with its handler. */
const services: readonly Service[] = [
  service(queues.adEvents, async () => (await import("./ad-events.js")).countAds),
  service(queues.addressChecks, async () => (await import("./address-checks.js")).checkAddress),
  service(queues.dataExport, async () => (await import("./data-export.js")).exportData),
  service(queues.fanOut, async () => (await import("./fan-out.js")).fanOutEvent),
  service(queues.geocode, async () => (await import("./geocode.js")).findAddress),
  service(queues.images, async () => (await import("./images.js")).convertUpload),
  service(queues.menuImport, async () => (await import("./menu-import.js")).importMenu),
  service(queues.posEvents, async () => (await import("./pos-events.js")).applyPosEvents),
  service(queues.posSync, async () => (await import("./pos-sync.js")).syncMenu),
  service(queues.push, async () => (await import("./push.js")).deliverPush),
  service(queues.rollups, async () => (await import("./rollups.js")).rollUp),
  service(queues.sms, async () => (await import("./sms.js")).sendCode),
  service(queues.statements, async () => (await import("./statements.js")).writeStatement),
  service(queues.upkeep, async () => (await import("./upkeep.js")).runUpkeep),
  service(queues.webhooks, async () => (await import("./webhooks.js")).sendWebhooks),
];

/** Returns the names that no queue has. */
export function unknownQueues(names: readonly string[]): string[] {
  return names.filter((name) => !services.some(({ contract }) => contract.queue === name));
}

/**
 * Loads and starts the workers of the named queues, or of all, the relay, the numbering of events and the schedules. `stop` takes no
 * more jobs, aborts the signal of the running ones, and resolves when they have ended; a job that does not end in time is run again by
 * another process.
 */
export async function startWorkers(names: readonly string[]): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController();
  const served = services.filter(({ contract }) => names.length === 0 || names.includes(contract.queue));
  const loaded: { contract: Contract; serve: (signal: AbortSignal) => Consumer }[] = [];
  for (const { contract, load } of served) loaded.push({ contract, serve: await load() });
  const workers = loaded.map(({ contract, serve }) => ({ contract, consumer: serve(stopping.signal) }));
  const relay = startRelay(queues.contracts);
  const numbering = startNumbering();
  const schedules = startSchedules(workers);
  log.info({ version, queues: served.map(({ contract }) => contract.queue) }, "workers started");
  return {
    stop: async () => {
      stopping.abort();
      const others = [relay.stop(), numbering.stop(), schedules.stop()];
      await Promise.all([...others, ...workers.map(({ consumer }) => consumer.close())]);
    },
  };
}
