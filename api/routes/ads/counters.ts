import { randomUUID } from "node:crypto";
import { config } from "../../../lib/process/config.js";
import { dayOf } from "../../../lib/domain/days.js";
import { describeError } from "../../../lib/process/describe-error.js";
import { log } from "../../../lib/process/log.js";
import { sql } from "../../../sql/db.js";
import { insertAdBatch, type AdBatch, type AdCount } from "../../../sql/queries/ad-batches.js";

const flushMs = 1_000;
/** What a process holds at most when it is killed, besides what is counted while Postgres does not take it. */
const maxHeld = 10_000;
/** Different answers that are told apart between two flushes. */
const maxAnswers = 1_000;

/** A batch to be; once it has been handed in, whatever came of it, it stays as it is. */
interface Counts {
  id: string;
  day: string;
  handedIn: boolean;
  byBanner: Map<string, AdCount>;
}

const handInBatch = (batch: AdBatch): Promise<void> => insertAdBatch(sql, batch);

/**
 * Counts impressions and clicks in memory and hands them in as batches, one a second while there are any. A batch that
 * Postgres may or may not have taken is handed in again under the same id, so it counts once; meanwhile counting goes on.
 * A process that stops hands in what it has; one that is killed loses what it counted since the last flush.
 */
export class AdCounters {
  /** How often each list of banners was an answer: one addition an answer, however many banners there are in it. */
  #answers = new Map<readonly string[], number>();
  #clicks = new Map<string, number>();
  #held = 0;
  /** Oldest first. At most one of a day is still added to, and so there are few, for however long Postgres is away. */
  #batches: Counts[] = [];
  #flushing: Promise<void> = Promise.resolve();
  #nextFlush: NodeJS.Timeout | null = null;
  #running = false;
  #reachable = true;

  constructor(private readonly handIn: (batch: AdBatch) => Promise<void> = handInBatch) {}

  /** Counts an impression of each of these banners. An answer that is given again is to be the same array. */
  countAnswer(bannerIds: readonly string[]): void {
    if (bannerIds.length === 0) return;
    if (this.#answers.size >= maxAnswers) this.#sort();
    this.#answers.set(bannerIds, (this.#answers.get(bannerIds) ?? 0) + 1);
    this.#hold(bannerIds.length);
  }

  countClick(bannerId: string): void {
    this.#clicks.set(bannerId, (this.#clicks.get(bannerId) ?? 0) + 1);
    this.#hold(1);
  }

  /** Hands in what was counted until now, after what is being handed in already. Rejects when Postgres does not take it; it is kept then. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.catch(() => undefined).then(() => this.#handInAll());
    return this.#flushing;
  }

  #hold(events: number): void {
    this.#held += events;
    // it looks what has come meanwhile when it is through
    if (this.#running) return;
    if (this.#held >= maxHeld && this.#held - events < maxHeld) this.#schedule(0);
    else if (this.#nextFlush === null) this.#schedule(flushMs);
  }

  #schedule(ms: number): void {
    if (this.#nextFlush !== null) clearTimeout(this.#nextFlush);
    this.#nextFlush = setTimeout(() => void this.#flushAndGoOn(), ms).unref();
  }

  async #handInAll(): Promise<void> {
    this.#sort();
    for (let batch = this.#batches[0]; batch; batch = this.#batches[0]) {
      batch.handedIn = true;
      await this.handIn({ id: batch.id, day: batch.day, counts: [...batch.byBanner.values()] });
      this.#batches.shift();
    }
  }

  /** Puts what was counted into the batch of the day. */
  #sort(): void {
    if (this.#held === 0) return;
    const { byBanner } = this.#openBatch();
    const countOf = (bannerId: string): AdCount => {
      const known = byBanner.get(bannerId) ?? { bannerId, impressions: 0, clicks: 0 };
      byBanner.set(bannerId, known);
      return known;
    };
    for (const [bannerIds, times] of this.#answers) {
      for (const bannerId of bannerIds) countOf(bannerId).impressions += times;
    }
    for (const [bannerId, times] of this.#clicks) countOf(bannerId).clicks += times;
    this.#answers.clear();
    this.#clicks.clear();
    this.#held = 0;
  }

  #openBatch(): Counts {
    const day = dayOf(Date.now(), config.DEFAULT_TIMEZONE);
    const last = this.#batches.at(-1);
    if (last && !last.handedIn && last.day === day) return last;
    const batch = { id: randomUUID(), day, handedIn: false, byBanner: new Map<string, AdCount>() };
    this.#batches.push(batch);
    return batch;
  }

  /** What is counted during a flush waits for the next one, even when nothing more is counted. */
  async #flushAndGoOn(): Promise<void> {
    this.#running = true;
    try {
      await this.flush();
      if (!this.#reachable) log.info("impressions and clicks are handed in again");
      this.#reachable = true;
    } catch (error) {
      if (this.#reachable)
        log.warn({ error: describeError(error) }, "impressions and clicks are kept in memory: Postgres is away");
      this.#reachable = false;
    }
    this.#running = false;
    this.#nextFlush = null;
    if (this.#held > 0 || this.#batches.length > 0) this.#schedule(this.#held >= maxHeld ? 0 : flushMs);
  }
}

/** What this process counts. */
export const adCounters = new AdCounters();
