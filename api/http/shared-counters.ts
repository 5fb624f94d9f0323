import { describeError } from "../../lib/process/describe-error.js";
import { log } from "../../lib/process/log.js";
import { sql } from "../../sql/db.js";
import { addRateHits } from "../../sql/queries/rate-counters.js";

export const windowMs = 60_000;
const exchangeMs = 1_000;
const maxKeys = 100_000;

interface Counter {
  total: number;
  unsent: number;
}

/**
 * Counts requests per key and minute in memory and exchanges the counts with the other processes through Postgres once
 * a second: no round trip per request, and a limit is exceeded by at most one second's requests. While Postgres is
 * unreachable, each process counts alone.
 */
export class SharedCounters {
  #windowStart = 0;
  #counters = new Map<string, Counter>();
  #nextExchange: NodeJS.Timeout | null = null;
  #reachable = true;

  /** Adds one and returns the total of this window, which ends at `resetAt` (milliseconds). */
  increment(key: string): { totalHits: number; resetAt: number } {
    const windowStart = Math.floor(Date.now() / windowMs) * windowMs;
    if (windowStart !== this.#windowStart) {
      this.#windowStart = windowStart;
      this.#counters = new Map();
    }
    const counter = this.#counterOf(key);
    counter.total += 1;
    counter.unsent += 1;
    if (this.#nextExchange === null) {
      this.#nextExchange = setTimeout(() => void this.#exchangeAndReschedule(), exchangeMs).unref();
    }
    return { totalHits: counter.total, resetAt: windowStart + windowMs };
  }

  /** Adds this process's counts to the shared ones and adopts the sums; one call at a time. Rejects when Postgres is unreachable. */
  async exchange(): Promise<void> {
    const counters = this.#counters;
    const sent = [...counters].flatMap(([key, { unsent }]) => (unsent > 0 ? [{ key, unsent }] : []));
    const rows = await addRateHits(
      sql,
      new Date(this.#windowStart),
      sent.map(({ key }) => key),
      sent.map(({ unsent }) => unsent),
    );
    const sums = new Map(rows.map(({ key, hits }) => [key, hits]));
    for (const { key, unsent } of sent) {
      const counter = counters.get(key);
      if (!counter) continue;
      counter.unsent -= unsent;
      counter.total = (sums.get(key) ?? 0) + counter.unsent;
    }
  }

  /** Hits counted during an exchange are sent with the next, even when no further request comes. */
  async #exchangeAndReschedule(): Promise<void> {
    try {
      await this.exchange();
      if (!this.#reachable) log.info("rate limits are shared between processes again");
      this.#reachable = true;
    } catch (error) {
      if (this.#reachable) {
        log.warn(
          { error: describeError(error) },
          "rate limits are counted by each process alone: Postgres is unreachable",
        );
      }
      this.#reachable = false;
    }
    const waiting = [...this.#counters.values()].some(({ unsent }) => unsent > 0);
    this.#nextExchange = waiting ? setTimeout(() => void this.#exchangeAndReschedule(), exchangeMs).unref() : null;
  }

  /** Past the bound all further keys share one counter, so memory stays bounded under a flood of addresses. */
  #counterOf(key: string): Counter {
    const bounded = this.#counters.has(key) || this.#counters.size < maxKeys ? key : "others";
    let counter = this.#counters.get(bounded);
    if (!counter) this.#counters.set(bounded, (counter = { total: 0, unsent: 0 }));
    return counter;
  }
}
