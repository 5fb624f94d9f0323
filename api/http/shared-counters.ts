import { describeError } from "../../lib/process/describe-error.js";
import { log } from "../../lib/process/log.js";
import { keyedHash } from "../../lib/security/crypto.js";
import { sql } from "../../sql/db.js";
import { addRateHits } from "../../sql/queries/rate-counters.js";

export const minuteMs = 60_000;
const exchangeMs = 1_000;
const maxKeys = 100_000;

interface Counter {
  total: number;
  unsent: number;
}

interface Options {
  windowMs?: number;
  /** Lower counts stay in their process, so that those of most clients are never written. */
  sharedFrom?: number;
  /** Past the bound on memory, a new key shares one counter with all further ones, or takes the place of the oldest. */
  whenFull?: "SHARE" | "FORGET";
}

/** The form in which a key is stored: hashed, as it names a user or an address, and apart from that of other windows. */
export const storedKey = (key: string, windowMs = minuteMs): string =>
  keyedHash("counter", `${windowMs} ${key}`).toString("base64url");

/**
 * Counts requests per key and window in memory and exchanges the counts with the other processes through Postgres once
 * a second: no round trip per request, and a limit is exceeded by at most one second's requests. While Postgres is
 * unreachable, each process counts alone.
 */
export class SharedCounters {
  /** Whether Postgres answered last, to any of them. */
  static #reachable = true;
  readonly #windowMs: number;
  readonly #sharedFrom: number;
  readonly #whenFull: "SHARE" | "FORGET";
  #windowStart = 0;
  #counters = new Map<string, Counter>();
  #nextExchange: NodeJS.Timeout | null = null;

  constructor({ windowMs = minuteMs, sharedFrom = 0, whenFull = "SHARE" }: Options = {}) {
    this.#windowMs = windowMs;
    this.#sharedFrom = sharedFrom;
    this.#whenFull = whenFull;
  }

  /** Adds one and returns the total of this window, which ends at `resetAt` (milliseconds). */
  increment(key: string): { totalHits: number; resetAt: number } {
    const windowStart = Math.floor(Date.now() / this.#windowMs) * this.#windowMs;
    if (windowStart !== this.#windowStart) {
      this.#windowStart = windowStart;
      this.#counters = new Map();
    }
    return { totalHits: this.#add(key, 1), resetAt: windowStart + this.#windowMs };
  }

  /** Takes back a hit of the window that ends at `resetAt`. */
  decrement(key: string, resetAt: number): void {
    if (resetAt === this.#windowStart + this.#windowMs) this.#add(key, -1);
  }

  #add(key: string, hits: number): number {
    const counter = this.#counterOf(key);
    counter.total += hits;
    counter.unsent += hits;
    if (this.#nextExchange === null && this.#isDue(counter)) this.#scheduleExchange();
    return counter.total;
  }

  #isDue({ total, unsent }: Counter): boolean {
    return unsent !== 0 && total >= this.#sharedFrom;
  }

  #scheduleExchange(): void {
    this.#nextExchange = setTimeout(() => void this.#exchangeAndReschedule(), exchangeMs).unref();
  }

  /** Adds this process's counts to the shared ones and adopts the sums; one call at a time. Rejects when Postgres is unreachable. */
  async exchange(): Promise<void> {
    const counters = this.#counters;
    const sent = [...counters]
      .filter(([, counter]) => this.#isDue(counter))
      .map(([key, counter]) => ({ key: storedKey(key, this.#windowMs), counter, hits: counter.unsent }));
    const rows = await addRateHits(
      sql,
      new Date(this.#windowStart + this.#windowMs),
      sent.map(({ key }) => key),
      sent.map(({ hits }) => hits),
    );
    const sums = new Map(rows.map(({ key, hits }) => [key, hits]));
    for (const { key, counter, hits } of sent) {
      counter.unsent -= hits;
      counter.total = (sums.get(key) ?? 0) + counter.unsent;
    }
  }

  /** Hits counted during an exchange are sent with the next, even when no further request comes. */
  async #exchangeAndReschedule(): Promise<void> {
    try {
      await this.exchange();
      if (!SharedCounters.#reachable) log.info("rate limits are shared between processes again");
      SharedCounters.#reachable = true;
    } catch (error) {
      if (SharedCounters.#reachable) {
        log.warn(
          { error: describeError(error) },
          "rate limits are counted by each process alone: Postgres is unreachable",
        );
      }
      SharedCounters.#reachable = false;
    }
    this.#nextExchange = null;
    if ([...this.#counters.values()].some((counter) => this.#isDue(counter))) this.#scheduleExchange();
  }

  /** Memory stays bounded under a flood of addresses. */
  #counterOf(key: string): Counter {
    const isFull = this.#counters.size >= maxKeys && !this.#counters.has(key);
    const [oldest] = isFull && this.#whenFull === "FORGET" ? this.#counters.keys() : [];
    if (oldest !== undefined) this.#counters.delete(oldest);
    const bounded = isFull && this.#whenFull === "SHARE" ? "others" : key;
    let counter = this.#counters.get(bounded);
    if (!counter) this.#counters.set(bounded, (counter = { total: 0, unsent: 0 }));
    return counter;
  }
}
