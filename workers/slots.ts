import { config } from "../lib/process/config.js";
import { Bulkhead, type Shares } from "../lib/outbound/bulkhead.js";
import type { Contract } from "../queues/contract.js";

type Queue = Pick<Contract, "queue" | "concurrency">;

/** Returns how many jobs of a queue this process runs at once, unless an operator has set it. */
export const slotsOf = ({ queue, concurrency }: Queue): number => config.WORKER_CONCURRENCY[queue] ?? concurrency;

const bulkheads = new Map<string, Bulkhead>();

/** As many as are shown of each queue: clients may invent origins. */
const MOST_PAUSED = 20;

const watched = new Map<string, Bulkhead>();

/** Lets operators see which third parties are paused in this bulkhead of a queue. */
export function watchPauses(queue: string, bulkhead: Bulkhead): Bulkhead {
  watched.set(queue, bulkhead);
  return bulkhead;
}

/** Returns the third parties that are paused in this process. */
export function pausedOrigins() {
  const atStart = Date.now() - performance.now();
  return [...watched].flatMap(([queue, bulkhead]) =>
    bulkhead.paused(MOST_PAUSED).map(({ origin, since, until }) => ({
      queue,
      origin,
      since: new Date(atStart + since),
      until: new Date(atStart + until),
    })),
  );
}

/** Returns a bulkhead that shares the slots of a queue among third parties, however many there are. */
export function shareSlots(contract: Queue, isKnown: (origin: string) => boolean, shares?: Shares): Bulkhead {
  const bulkhead = new Bulkhead(slotsOf(contract), isKnown, shares);
  bulkheads.set(contract.queue, bulkhead);
  return watchPauses(contract.queue, bulkhead);
}

/** Shares so many slots of a queue from now on, as configured when it is null; returns their number. */
export function resizeSlots(contract: Queue, concurrency: number | null): number {
  const slots = concurrency ?? slotsOf(contract);
  bulkheads.get(contract.queue)?.resize(slots);
  return slots;
}
