import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { keptLog, log } from "../../lib/process/log.js";
import { JobDisplay } from "../../workers/progress.js";

/** A job of the broker that records its calls. */
class Job {
  readonly told: unknown[] = [];
  readonly opts: { keepLogs?: number } = {};
  /** The promise that calls wait for; null makes them fail. */
  answer: Promise<void> | null = Promise.resolve();

  async updateProgress(progress: unknown): Promise<void> {
    if (this.answer === null) throw new Error("Missing key for job 1");
    await this.answer;
    this.told.push(progress);
  }

  async log(line: string): Promise<number> {
    await this.updateProgress(line);
    return this.told.length;
  }
}

let now = 0;
let job = new Job();
let display = new JobDisplay(job, () => now);

beforeEach(() => {
  now = 0;
  job = new Job();
  display = new JobDisplay(job, () => now);
});

/** Waits until pending calls have ended. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

const line = (facts: object) =>
  JSON.stringify({ level: "info", time: "2026-06-01T12:00:00.000Z", queue: "trial", jobId: "1.0", ...facts });
const shown = (text: string) => `2026-06-01T12:00:00.000Z info ${text}`;

describe("a run of a job", () => {
  test("that is short and succeeds costs the broker nothing", async () => {
    display.report(1, 2);
    display.keep(line({ msg: "done" }));
    now = 999;
    expect(display.end(false)).toBeUndefined();
    await settle();
    expect(job.told).toEqual([]);
  });

  test("that is short and fails shows its lines and how far it came", async () => {
    display.report(1, 2);
    display.keep(line({ msg: "job failed", attempt: 1, error: "Error: broken\n    at x" }));
    await display.end(true);
    expect(job.told).toEqual([
      { done: 1, total: 2, progress: 50 },
      shown('job failed attempt=1 error="Error: broken\\n    at x"'),
    ]);
  });

  test("that takes long shows its progress once a second, and what is left at its end", async () => {
    for (now = 0; now < 3_000; now += 100) {
      display.report(now, 3_000);
      await settle();
    }
    expect(job.told).toEqual([
      { done: 1_000, total: 3_000, progress: 33, endsAt: 3_000 },
      { done: 2_000, total: 3_000, progress: 66, endsAt: 3_000 },
    ]);
    display.report(3_000, 3_000);
    await display.end(false);
    expect(job.told.at(-1)).toEqual({ done: 3_000, total: 3_000, progress: 100 });
  });

  test("that goes on where another stopped is estimated from its own pace", async () => {
    display.report(50, 100);
    now = 1_000;
    display.report(60, 100);
    await display.end(false);
    expect(job.told).toEqual([{ done: 60, total: 100, progress: 60, endsAt: 5_000 }]);
  });

  test("shows a count where it is unknown how much there is", async () => {
    now = 1_000;
    display.report(7, null);
    display.report(9, 0);
    await display.end(false);
    expect(job.told).toEqual([{ done: 7 }, { done: 9 }]);
  });

  test("shows the first hundred of its lines, cut after 500 characters", async () => {
    for (let n = 0; n < 150; n += 1) display.keep(line({ msg: `line ${n}`, text: "x".repeat(n === 0 ? 900 : 1) }));
    await display.end(true);
    expect(job.told).toHaveLength(100);
    expect(job.told[0]).toHaveLength(500);
    expect(job.told[0]).toMatch(/^2026-06-01T12:00:00\.000Z info line 0 text="x+…$/);
    expect(job.told[99]).toBe(shown('line 99 text="x"'));
    expect(job.opts.keepLogs).toBe(100);
  });

  test("is not failed by a broker that refuses, and shows the rest when it answers", async () => {
    job.answer = null;
    now = 1_000;
    display.report(1, 4);
    await settle();
    job.answer = Promise.resolve();
    now = 2_000;
    display.report(2, 4);
    await settle();
    job.answer = null;
    display.report(3, 4);
    await display.end(true);
    expect(job.told).toEqual([{ done: 2, total: 4, progress: 50, endsAt: 4_000 }]);
  });

  test("does not call a broker that has yet to answer", async () => {
    let answer = (): void => undefined;
    job.answer = new Promise<void>((resolve) => void (answer = resolve));
    now = 1_000;
    display.report(1, 4);
    now = 5_000;
    display.report(2, 4);
    display.report(3, 4);
    const ended = display.end(false);
    answer();
    await ended;
    expect(job.told).toEqual([
      { done: 1, total: 4, progress: 25 },
      { done: 3, total: 4, progress: 75, endsAt: 7_000 },
    ]);
  });
});

describe("a job's log", () => {
  const before = log.level;
  afterEach(() => void (log.level = before));

  test("keeps its lines from info on, redacted as in the process's log", () => {
    const lines: string[] = [];
    log.level = "trace";
    const child = keptLog({ queue: "trial" }, (text) => lines.push(text));
    child.debug("for developers");
    child.warn({ phone: "+79991234567", of: { token: "secret" } }, "a warning");
    child.child({ part: 2 }).info("an information");
    log.info("of the process");
    expect(lines.map((text): unknown => JSON.parse(text))).toEqual([
      expect.objectContaining({
        level: "warn",
        queue: "trial",
        phone: "[redacted]",
        of: { token: "[redacted]" },
        msg: "a warning",
      }),
      expect.objectContaining({ level: "info", queue: "trial", part: 2, msg: "an information" }),
    ]);
  });
});
