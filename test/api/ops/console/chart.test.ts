import { expect, test } from "@jest/globals";
import { chartOf } from "../../../../api/ops/console/chart.js";

const now = new Date("2026-06-01T12:00:30Z");
/** A minute of a queue, so many minutes ago. */
const row = (ago: number, staged: number, done: number, oldestDueSeconds: number | null = 0) => ({
  minute: new Date(now.getTime() - 30_000 - ago * 60_000),
  queue: "push",
  ...{ staged, done, oldestDueSeconds },
});
const all = (staged: number) => Array.from({ length: 180 }, (_, n) => row(180 - n, staged, 0));
const linesOf = (figure: unknown) => [...String(figure).matchAll(/ d="([^"]*)"/g)].map(([, line]) => line);

test("each minute is a step, as high as the most jobs of any", () => {
  const { figure, words } = chartOf([...all(0).slice(0, -2), row(2, 4, 2, 7.4), row(1, 1, 4)], now);
  const [staged, done] = linesOf(figure);
  expect(staged).toMatch(/^M0,30H1V30H2.*V30H178V0H179V22.5H180$/);
  expect(done).toMatch(/V30H178V15H179V0H180$/);
  expect(words).toBe("at most 4 in and 4 out a minute in three hours; the oldest due job was 7 s old");
});

test("minutes that were not recorded are a gap, and said; the latest one may be on its way", () => {
  const { figure, words } = chartOf([row(6, 1, 1), row(5, 1, 1, null), row(2, 1, 1)], now);
  expect(linesOf(figure)[0]).toBe("M174,0H175V0H176M178,0H179");
  expect(words).toMatch(/; 177 minutes were not recorded$/);
  expect(chartOf(all(0).slice(0, -1), now).words).toBe("nothing in three hours");
});
