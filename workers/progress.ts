import { z } from "zod";
import { estimateEnd, partOf, type ReportProgress } from "../lib/domain/progress.js";
import type { BrokerJob } from "../queues/broker.js";
import type { JobProgress } from "../queues/progress.js";

/** A run shows something at most this often, and nothing before it has taken so long: most jobs are a matter of milliseconds. */
const PAUSE_MS = 1_000;
const MOST_LINES = 100;
const LONGEST_LINE = 500;

const Line = z.record(z.string(), z.unknown());
/** What is known of every line of the job, or stands before the others. */
const HEAD = new Set(["time", "level", "msg", "queue", "jobId"]);

/** Writes a line of the log as people read it: "2026-06-01T12:00:00.000Z info days rolled up days=4". */
function readable(json: string): string {
  const line = Line.parse(JSON.parse(json));
  const facts = Object.entries(line).filter(([name]) => !HEAD.has(name));
  const shown = facts.map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const text = [line["time"], line["level"], line["msg"], ...shown].join(" ");
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE - 1)}…` : text;
}

/** The time in ms since 1970, by a clock that nobody sets. */
const monotonic = () => performance.timeOrigin + performance.now();

/**
 * What the queue dashboard shows of one run of a job: how far it is, and lines of its log. It is written to the broker while the run
 * takes longer than a second, and what is left at its end if it took so long or failed: so a short run that succeeds costs nothing.
 * No call throws or waits, as the run does not depend on it.
 */
export class JobDisplay {
  readonly #job: Pick<BrokerJob, "updateProgress" | "log" | "opts">;
  readonly #now: () => number;
  readonly #longAt: number;
  #nextAt: number;
  /** What the run found done when it first said so: its pace is that since then. */
  #first: { at: Date; part: number | null } | undefined;
  #progress: JobProgress | undefined;
  #lines: string[] | undefined;
  #taken = 0;
  #showing: Promise<void> | undefined;

  constructor(job: Pick<BrokerJob, "updateProgress" | "log" | "opts">, now = monotonic) {
    this.#job = job;
    this.#now = now;
    this.#longAt = now() + PAUSE_MS;
    this.#nextAt = this.#longAt;
  }

  /** Takes how far the run is. */
  readonly report: ReportProgress = (done, total) => {
    const part = partOf(done, total);
    const now = this.#now();
    this.#first ??= { at: new Date(now), part };
    const end = estimateEnd(part, this.#first.at, now, this.#first.part ?? 0);
    this.#progress = {
      done,
      ...(total !== null && part !== null && { total, progress: Math.floor(part * 100) }),
      ...(end && { endsAt: end.getTime() }),
    };
    this.#showIfDue();
  };

  /** Takes a line of the log, as `keptLog` has it; of one run the first MOST_LINES are shown. */
  readonly keep = (line: string): void => {
    if (this.#taken >= MOST_LINES) return;
    this.#taken += 1;
    (this.#lines ??= []).push(line);
    this.#showIfDue();
  };

  /** Shows what is left of a run that has ended. Without anything to show it returns nothing to wait for. */
  end(failed: boolean): Promise<void> | undefined {
    const hasMore = this.#progress !== undefined || this.#lines !== undefined;
    if (this.#showing === undefined && !(hasMore && (failed || this.#now() >= this.#longAt))) return undefined;
    return this.#showRest();
  }

  async #showRest(): Promise<void> {
    await this.#showing;
    await this.#show();
  }

  #showIfDue(): void {
    if (this.#showing !== undefined || this.#now() < this.#nextAt) return;
    this.#showing = this.#show().then(() => void (this.#showing = undefined));
  }

  async #show(): Promise<void> {
    this.#nextAt = this.#now() + PAUSE_MS;
    const [progress, lines = []] = [this.#progress, this.#lines];
    this.#progress = undefined;
    this.#lines = undefined;
    try {
      if (progress) await this.#job.updateProgress(progress);
      // those of all attempts
      this.#job.opts.keepLogs = MOST_LINES;
      for (const line of lines) await this.#job.log(readable(line));
    } catch {
      // the broker does not answer, or has another run of the job: nothing depends on what it shows
    }
  }
}
