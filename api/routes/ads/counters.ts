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

/** Counts of one event, apart from invalid traffic. */
interface Tally {
  valid: number;
  invalid: number;
}

function countIn<Key>(tallies: Map<Key, Tally>, key: Key, isValid: boolean): void {
  const tally = tallies.get(key) ?? { valid: 0, invalid: 0 };
  tally[isValid ? "valid" : "invalid"] += 1;
  tallies.set(key, tally);
}

/** A batch that is not known to be in Postgres. Once `sent`, it never changes: Postgres may have it. */
interface PendingBatch {
  id: string;
  day: string;
  sent: boolean;
  byBanner: Map<string, AdCount>;
}

/**
 * Counts impressions and clicks in memory and inserts them into Postgres as batches, one a second while there are any. A
 * batch whose insert failed or got no reply is inserted again under the same id, so it counts once; meanwhile counting
 * continues. A process that stops flushes first; one that is killed loses the counts since its last flush.
 */
export class AdCounters {
  /** How often each list of banners was sent: one addition per response, however many banners it has. */
  #responses = new Map<readonly string[], Tally>();
  #clicks = new Map<string, Tally>();
  #pending = 0;
  /** Oldest first. Counts of a day go to its one unsent batch, so there are few, however long Postgres is unreachable. */
  #batches: PendingBatch[] = [];
  #flushing: Promise<void> = Promise.resolve();
  #nextFlush: NodeJS.Timeout | null = null;
  #running = false;
  #reachable = true;

  constructor(private readonly insert = (batch: AdBatch): Promise<void> => insertAdBatch(sql, batch)) {}

  /** Counts an impression of each of these banners. For a repeated response pass the same array: it is the key. */
  countImpressions(bannerIds: readonly string[], isValid: boolean): void {
    if (bannerIds.length === 0) return;
    if (this.#responses.size >= maxResponses) this.#fillBatch();
    countIn(this.#responses, bannerIds, isValid);
    this.#scheduleFor(bannerIds.length);
  }

  countClick(bannerId: string, isValid: boolean): void {
    countIn(this.#clicks, bannerId, isValid);
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
      const none = { impressions: 0, clicks: 0, invalidImpressions: 0, invalidClicks: 0 };
      const known = byBanner.get(bannerId) ?? { bannerId, ...none };
      byBanner.set(bannerId, known);
      return known;
    };
    for (const [bannerIds, { valid, invalid }] of this.#responses) {
      for (const count of bannerIds.map(countOf)) {
        count.impressions += valid;
        count.invalidImpressions += invalid;
      }
    }
    for (const [bannerId, { valid, invalid }] of this.#clicks) {
      const count = countOf(bannerId);
      count.clicks += valid;
      count.invalidClicks += invalid;
    }
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
