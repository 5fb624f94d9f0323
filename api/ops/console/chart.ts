import type { QueueMinute } from "../../../sql/queries/service-state.js";
import { html, type Html } from "./html.js";

/** How many minutes a chart shows. */
const MINUTES = 180;
const MINUTE_MS = 60_000;

const [width, height] = [MINUTES, 30];

/** The line of these values, as high as `most` at the top. */
const pointsOf = (values: readonly number[], most: number): string =>
  values.map((value, x) => `${x},${Math.round((height - (value / most) * height) * 10) / 10}`).join(" ");

const largest = (values: readonly number[]): number => Math.max(0, ...values);

/**
 * Draws the jobs that a queue got (a solid line) and finished (a dashed one) in each of the last minutes, up to the whole minute
 * before `now`, and says the same in words.
 */
export function chartOf(rows: readonly QueueMinute[], now: Date): { figure: Html; words: string } {
  const end = Math.floor(now.getTime() / MINUTE_MS);
  const [staged, done] = [Array<number>(MINUTES).fill(0), Array<number>(MINUTES).fill(0)];
  for (const row of rows) {
    const at = MINUTES - (end - Math.floor(row.minute.getTime() / MINUTE_MS));
    if (at < 0 || at >= MINUTES) continue;
    staged[at] = row.staged;
    done[at] = row.done;
  }
  const most = Math.max(1, largest(staged), largest(done));
  const oldest = Math.round(largest(rows.map(({ oldestDueSeconds }) => oldestDueSeconds)));
  const words =
    rows.length === 0
      ? "nothing in three hours"
      : `at most ${largest(staged)} in and ${largest(done)} out a minute in three hours; the oldest due job was ${oldest} s old`;
  const figure = html`<svg
    class="chart"
    role="img"
    aria-label="${words}"
    viewBox="0 0 ${width} ${height}"
    preserveAspectRatio="none"
  >
    <polyline points="${pointsOf(staged, most)}" />
    <polyline class="out" points="${pointsOf(done, most)}" />
  </svg>`;
  return { figure, words };
}
