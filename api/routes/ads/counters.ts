import { randomUUID } from "node:crypto";
import { config } from "../../../lib/process/config.js";
import { dayOf } from "../../../lib/domain/days.js";
import { describeError } from "../../../lib/process/describe-error.js";
import { log } from "../../../lib/process/log.js";
import { sql } from "../../../sql/db.js";
import { insertAdBatch, type AdBatch, type AdCount } from "../../../sql/queries/ad-batches.js";

const flushMs = 1_000;
/** A flush starts at once at this many counts; it bounds what a killed process loses while Postgres is reachable. */
const maxPending = 10_000;
/** How many different responses are counted apart between two flushes. */
const maxResponses = 1_000;

/** A batch that is not known to be in Postgres. Once `sent`, it never changes: Postgres may have it. */
interface PendingBatch {
  id: string;
  day: string;
  sent: boolean;
  byBanner: Map<string, AdCount>;
}

const insertBatch = (batch: AdBatch): Promise<void> => insertAdBatch(sql, batch);

/**
 * Counts impressions and clicks in memory and inserts them into Postgres as batches, one a second while there are any. A
 * batch whose insert failed or got no reply is inserted again under the same id, so it counts once; meanwhile counting
 * continues. A process that stops flushes first; one that is killed loses the counts since its last flush.
 */
export class AdCounters {
  /** How often each list of banners was sent: one addition per response, however many banners it has. */
  #responses = new Map<readonly string[], number>();
  #clicks = new Map<string, number>();
  #pending = 0;
  /** Oldest first. Counts of a day go to its one unsent batch, so there are few, however long Postgres is unreachable. */
  #batches: PendingBatch[] = [];
  #flushing: Promise<void> = Promise.resolve();
  #nextFlush: NodeJS.Timeout | null = null;
  #running = false;
  #reachable = true;

  constructor(private readonly insert: (batch: AdBatch) => Promise<void> = insertBatch) {}

  /** Counts an impression of each of these banners. For a repeated response pass the same array: it is the key. */
  countImpressions(bannerIds: readonly string[]): void {
    if (bannerIds.length === 0) return;
    if (this.#responses.size >= maxResponses) this.#fillBatch();
    this.#responses.set(bannerIds, (this.#responses.get(bannerIds) ?? 0) + 1);
    this.#scheduleFor(bannerIds.length);
  }

  countClick(bannerId: string): void {
    this.#clicks.set(bannerId, (this.#clicks.get(bannerId) ?? 0) + 1);
    this.#scheduleFor(1);
  }

  /** Inserts all counts, after a flush that is running. Rejects when an insert fails; its counts are kept. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.catch(() => undefined).then(() => this.#insertBatches());
    return this.#flushing;
  }

  #scheduleFor(events: number): void {
    this.#pending += events;
    // a running flush schedules the next one itself
    if (this.#running) return;
    if (this.#pending >= maxPending && this.#pending - events < maxPending) this.#schedule(0);
    else if (this.#nextFlush === null) this.#schedule(flushMs);
  }

  #schedule(ms: number): void {
    if (this.#nextFlush !== null) clearTimeout(this.#nextFlush);
    this.#nextFlush = setTimeout(() => void this.#flushAndReschedule(), ms).unref();
  }

  async #insertBatches(): Promise<void> {
    this.#fillBatch();
    for (let batch = this.#batches[0]; batch; batch = this.#batches[0]) {
      batch.sent = true;
      await this.insert({ id: batch.id, day: batch.day, counts: [...batch.byBanner.values()] });
      this.#batches.shift();
    }
  }

  /** Moves all counts into the batch of the day. */
  #fillBatch(): void {
    if (this.#pending === 0) return;
    const { byBanner } = this.#openBatch();
    const countOf = (bannerId: string): AdCount => {
      const known = byBanner.get(bannerId) ?? { bannerId, impressions: 0, clicks: 0 };
      byBanner.set(bannerId, known);
      return known;
    };
    for (const [bannerIds, times] of this.#responses) {
      for (const bannerId of bannerIds) countOf(bannerId).impressions += times;
    }
    for (const [bannerId, times] of this.#clicks) countOf(bannerId).clicks += times;
    this.#responses.clear();
    this.#clicks.clear();
    this.#pending = 0;
  }

  #openBatch(): PendingBatch {
    const day = dayOf(Date.now(), config.DEFAULT_TIMEZONE);
    const last = this.#batches.at(-1);
    if (last && !last.sent && last.day === day) return last;
    const batch = { id: randomUUID(), day, sent: false, byBanner: new Map<string, AdCount>() };
    this.#batches.push(batch);
    return batch;
  }

  /** Counts made during a flush are inserted by the next one, even when no more follow. */
  async #flushAndReschedule(): Promise<void> {
    this.#running = true;
    try {
      await this.flush();
      if (!this.#reachable) log.info("impressions and clicks are written again");
      this.#reachable = true;
    } catch (error) {
      if (this.#reachable)
        log.warn({ error: describeError(error) }, "impressions and clicks are kept in memory: Postgres is unreachable");
      this.#reachable = false;
    }
    this.#running = false;
    this.#nextFlush = null;
    if (this.#pending > 0 || this.#batches.length > 0) this.#schedule(this.#pending >= maxPending ? 0 : flushMs);
  }
}

/** The counters of this process. */
export const adCounters = new AdCounters();
