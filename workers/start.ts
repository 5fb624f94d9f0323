import { config } from "../lib/process/config.js";
import { log } from "../lib/process/log.js";
import { version } from "../lib/process/version.js";
import type { Contract, Payload } from "../queues/contract.js";
import {
  adEvents,
  contracts,
  fanOut,
  geocode,
  images,
  menuImport,
  posEvents,
  posSync,
  push,
  rollups,
  sms,
  upkeep,
} from "../queues/index.js";
import { countAds } from "./ad-events.js";
import { consume, type Consumer, type Handler } from "./consume.js";
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
import { sendCode } from "./sms.js";
import { runUpkeep } from "./upkeep.js";

/** A queue and its consumer. */
interface Service {
  readonly contract: Contract;
  readonly serve: (signal: AbortSignal) => Consumer;
}

function service<P extends Payload>(contract: Contract<P>, handler: Handler<P>): Service {
  const concurrency = config.WORKER_CONCURRENCY[contract.queue] ?? contract.concurrency;
  return { contract, serve: (signal) => consume(contract, handler, { concurrency, signal }) };
}

/** Every queue with its handler. */
const services: readonly Service[] = [
  service(adEvents, countAds),
  service(fanOut, fanOutEvent),
  service(geocode, findAddress),
  service(images, convertUpload),
  service(menuImport, importMenu),
  service(posEvents, applyPosEvents),
  service(posSync, pullMenu),
  service(push, deliverPush),
  service(rollups, rollUp),
  service(sms, sendCode),
  service(upkeep, runUpkeep),
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
  const relay = startRelay(contracts);
  const schedules = startSchedules();
  log.info({ version, queues: served.map(({ contract }) => contract.queue) }, "workers started");
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all([relay.stop(), schedules.stop(), ...workers.map((worker) => worker.close())]);
    },
  };
}
