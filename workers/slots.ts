import { config } from "../lib/process/config.js";
import type { Contract } from "../queues/contract.js";

/** Returns how many jobs of a queue this process runs at once. */
export const slotsOf = ({ queue, concurrency }: Pick<Contract, "queue" | "concurrency">): number =>
  config.WORKER_CONCURRENCY[queue] ?? concurrency;
