import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { describeProgress, drawBar, print, withProgress, type ReportStep } from "../../scripts/progress-bar.js";

const started = new Date("2026-06-01T12:00:00.000Z");
const after = (seconds: number) => started.getTime() + seconds * 1_000;
const days = (done: number, total: number | null = 31) => ({ what: "days", done, total });

const CLEAR = "\r\u001B[K";

/** A stream that records its output. */
function newScreen(isTTY: boolean) {
  const written: string[] = [];
  return { written, isTTY, columns: 80, write: (text: string) => written.push(text) };
}

/** A task that runs until it is ended. */
function begin(screen: ReturnType<typeof newScreen>) {
  let report: ReportStep = () => undefined;
  let stop = (): void => undefined;
  const ended = withProgress(
    "days",
    (given) => {
      report = given;
      return new Promise<void>((resolve) => void (stop = resolve));
    },
    screen,
  );
  return {
    report,
    end: async () => {
      stop();
      await ended;
    },
  };
}

beforeEach(() => void jest.useFakeTimers({ now: started }));
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

describe("progress in words", () => {
  test("has counts, the part and what is left, as far as they are known", () => {
    expect(describeProgress(days(1_234, null), started, after(9))).toBe("days: 1,234");
    expect(describeProgress(days(0), started, after(9))).toBe("days: 0 of 31 (0 %)");
    expect(describeProgress(days(12, 48), started, after(10))).toBe("days: 12 of 48 (25 %), about 30 s left");
    expect(describeProgress(days(12, 48), started, after(200))).toBe("days: 12 of 48 (25 %), about 10 min left");
    expect(describeProgress(days(12, 48), started, after(3_000))).toBe("days: 12 of 48 (25 %), about 2 h 30 min left");
    expect(describeProgress(days(48, 48), started, after(10))).toBe("days: 48 of 48 (100 %)");
  });

  test("has no fractions of what is counted", () => {
    expect(describeProgress({ what: "reading", done: 1.75, total: 4 }, started, after(0))).toBe(
      "reading: 1 of 4 (43 %)",
    );
  });
});

test("a bar fills, and is cut where it would begin a second line", () => {
  const at = (done: number, columns = 200) => drawBar(days(done, 48), started, columns, after(0));
  expect(at(0)).toBe(`[${"-".repeat(24)}] days: 0 of 48 (0 %)`);
  expect(at(24)).toBe(`[${"#".repeat(12)}${"-".repeat(12)}] days: 24 of 48 (50 %)`);
  expect(at(48)).toBe(`[${"#".repeat(24)}] days: 48 of 48 (100 %)`);
  expect(at(48, 10)).toBe("[########");
  expect(drawBar(days(5, null), started, 200, after(0))).toBe("days: 5");
});

describe("on a terminal", () => {
  const screen = () => newScreen(true);

  test("the bar is drawn anew in its line at most ten times a second, and leaves nothing", async () => {
    const shown = screen();
    const { report, end } = begin(shown);
    for (let n = 1; n <= 200; n += 1) {
      report(n, 200);
      jest.advanceTimersByTime(1);
    }
    expect(shown.written.length).toBeLessThanOrEqual(3);
    expect(shown.written.every((text) => text.startsWith(`${CLEAR}[`) && !text.includes("\n"))).toBe(true);
    await end();
    expect(shown.written.at(-1)).toBe(CLEAR);
    const { length } = shown.written;
    jest.advanceTimersByTime(60_000);
    expect(shown.written).toHaveLength(length);
  });

  test("the estimate goes on while nothing is reported", async () => {
    const shown = screen();
    const { report, end } = begin(shown);
    jest.advanceTimersByTime(3_000);
    report(10, 20);
    jest.advanceTimersByTime(3_000);
    expect(shown.written.at(-1)).toContain("10 of 20 (50 %), about 6 s left");
    await end();
  });

  test("what a script prints stands above the bar", async () => {
    const shown = screen();
    jest.spyOn(process.stdout, "write").mockImplementation((text) => {
      shown.written.push(`stdout: ${String(text)}`);
      return true;
    });
    const { report, end } = begin(shown);
    report(1, 2);
    print("2026-02-27\n");
    expect(shown.written.slice(1)).toEqual([CLEAR, "stdout: 2026-02-27\n", expect.stringContaining("] days: 1 of 2")]);
    await end();
    print("done\n");
    expect(shown.written.slice(-2)).toEqual([CLEAR, "stdout: done\n"]);
  });

  test("the bar goes when the work fails", async () => {
    const shown = screen();
    await expect(withProgress("days", () => Promise.reject(new Error("broken")), shown)).rejects.toThrow("broken");
    expect(shown.written).toEqual([CLEAR]);
  });
});

test.each([{}, { TERM: "dumb" }])(
  "elsewhere (%j) a line is written every ten seconds, when something has changed",
  async (env) => {
    const before = process.env["TERM"];
    Object.assign(process.env, env);
    const shown = newScreen("TERM" in env);
    const { report, end } = begin(shown);
    for (let n = 1; n <= 100; n += 1) {
      report(n, 200);
      jest.advanceTimersByTime(200);
    }
    jest.advanceTimersByTime(60_000);
    report(150, 200, "weights");
    jest.advanceTimersByTime(10_000);
    expect(shown.written).toEqual([
      "days: 50 of 200 (25 %), about 30 s left\n",
      "days: 100 of 200 (50 %), about 20 s left\n",
      "weights: 150 of 200 (75 %), about 30 s left\n",
    ]);
    await end();
    if (before === undefined) delete process.env["TERM"];
    else process.env["TERM"] = before;
  },
);
