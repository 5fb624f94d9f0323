import { log } from "../lib/process/log.js";
import { version } from "../lib/process/version.js";
import type { Contract, Payload } from "../queues/contract.js";
import * as queues from "../queues/index.js";
import { countAds } from "./ad-events.js";
import { checkAddress } from "./address-checks.js";
import { consume, type Consumer, type Handler } from "./consume.js";
import { exportData } from "./data-export.js";
import { fanOutEvent } from "./fan-out.js";
import { findAddress } from "./geocode.js";
import { convertUpload } from "./images.js";
import { importMenu } from "./menu-import.js";
import { applyPosEvents } from "./pos-events.js";
import { pullMenu } from "./pos-sync.js";
import { deliverPush } from "./push.js";
import { startRelay } from "./relay.js";
import { rollUp } from "./rollups.js";
import { startSchedules } from "./schedules.js";
import { slotsOf } from "./slots.js";
import { sendCode } from "./sms.js";
import { runUpkeep } from "./upkeep.js";

/** A queue and its consumer. */
interface Service {
  readonly contract: Contract;
  readonly serve: (signal: AbortSignal) => Consumer;
}

function service<P extends Payload>(contract: Contract<P>, handler: Handler<P>): Service {
  const concurrency = slotsOf(contract);
  return { contract, serve: (signal) => consume(contract, handler, { concurrency, signal }) };
}

/** Every queue with its handler. */
const services: readonly Service[] = [
  service(queues.adEvents, countAds),
  service(queues.addressChecks, checkAddress),
  service(queues.dataExport, exportData),
  service(queues.fanOut, fanOutEvent),
  service(queues.geocode, findAddress),
  service(queues.images, convertUpload),
  service(queues.menuImport, importMenu),
  service(queues.posEvents, applyPosEvents),
  service(queues.posSync, pullMenu),
  service(queues.push, deliverPush),
  service(queues.rollups, rollUp),
  service(queues.sms, sendCode),
  service(queues.upkeep, runUpkeep),
];

/** Returns the names that no queue has. */
export function unknownQueues(names: readonly string[]): string[] {
  return names.filter((name) => !services.some(({ contract }) => contract.queue === name));
}

/**
 * Starts the relay, the schedules and the workers of the named queues, or of all. `stop` takes no more jobs, aborts
 * the signal of the running ones, and resolves when they have ended; a job that does not end in time is run again by another process.
 */
export function startWorkers(names: readonly string[]): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const served = services.filter(({ contract }) => names.length === 0 || names.includes(contract.queue));
  const workers = served.map(({ serve }) => serve(stopping.signal));
  const relay = startRelay(queues.contracts);
  const schedules = startSchedules();
  log.info({ version, queues: served.map(({ contract }) => contract.queue) }, "workers started");
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all([relay.stop(), schedules.stop(), ...workers.map((worker) => worker.close())]);
    },
  };
}
