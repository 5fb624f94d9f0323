import { z } from "zod";
import { estimateEnd, partOf, type ReportProgress } from "../lib/domain/progress.js";
import type { BrokerJob } from "../queues/broker.js";
import type { JobProgress } from "../queues/progress.js";

/** A run reports at most this often, and not before it has taken this long: most jobs take milliseconds. */
const PAUSE_MS = 1_000;
const MOST_LINES = 100;
const LONGEST_LINE = 500;

const Line = z.record(z.string(), z.unknown());
/** Fields that every line of the job has, or that the text shows first. */
const HEAD = new Set(["time", "level", "msg", "queue", "jobId"]);

/** Formats a line of the log for people: "2026-06-01T12:00:00.000Z info days rolled up days=4". */
function readable(json: string): string {
  const line = Line.parse(JSON.parse(json));
  const facts = Object.entries(line).filter(([name]) => !HEAD.has(name));
  const shown = facts.map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const text = [line["time"], line["level"], line["msg"], ...shown].join(" ");
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE - 1)}…` : text;
}

/** The time in ms since 1970, by a monotonic clock. */
const monotonic = () => performance.timeOrigin + performance.now();

/**
 * The progress and log lines of one run of a job, for the queue dashboard. They are written to the broker while the run
 * takes longer than a second. The rest is written at its end if it took that long or failed, so a short successful run
 * costs nothing. No call throws or waits, because the run does not depend on it.
 */
export class JobDisplay {
  readonly #job: Pick<BrokerJob, "updateProgress" | "log" | "opts">;
  readonly #now: () => number;
  readonly #longAt: number;
  #nextAt: number;
  /** The amount that was done at the first report: the pace is measured from there. */
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

  /** Reports the progress of the run. */
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

  /** Records a line of the log, as `keptLog` has it. The first MOST_LINES of a run are shown. */
  readonly keep = (line: string): void => {
    if (this.#taken >= MOST_LINES) return;
    this.#taken += 1;
    (this.#lines ??= []).push(line);
    this.#showIfDue();
  };

  /** Writes the rest of an ended run; returns undefined when there is nothing to write. */
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
      // the broker does not answer, or has another run of the job; the run does not depend on it
    }
  }
}
