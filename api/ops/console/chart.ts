import type { QueueMinute } from "../../../sql/queries/service-state.js";
import { html, type Html } from "./html.js";

/** How many minutes a chart shows. */
const MINUTES = 180;
const MINUTE_MS = 60_000;

const [width, height] = [MINUTES, 30];

/** The steps of these values, as high as `most` at the top; a minute without one is a gap. */
const stepsOf = (values: readonly (number | undefined)[], most: number): string =>
  values
    .map((value, x) => {
      if (value === undefined) return "";
      const y = Math.round((height - (value / most) * height) * 10) / 10;
      return `${values[x - 1] === undefined ? `M${x},${y}` : `V${y}`}H${x + 1}`;
    })
    .join("");

const largest = (values: readonly number[]): number => Math.max(0, ...values);

/**
 * Draws the jobs that a queue got (a solid line) and finished (a dashed one) in each of the last minutes that were recorded, up to the
 * whole minute before `now`, and says the same in words.
 */
export function chartOf(rows: readonly QueueMinute[], now: Date): { figure: Html; words: string } {
  const end = Math.floor(now.getTime() / MINUTE_MS);
  const recorded = new Map(rows.map((row) => [MINUTES - end + Math.floor(row.minute.getTime() / MINUTE_MS), row]));
  const shown = Array.from({ length: MINUTES }, (_, at) => recorded.get(at));
  const known = shown.filter((row) => row !== undefined);
  const [mostStaged, mostDone] = [largest(known.map(({ staged }) => staged)), largest(known.map(({ done }) => done))];
  const most = Math.max(1, mostStaged, mostDone);
  const oldest = Math.round(largest(known.map(({ oldestDueSeconds }) => oldestDueSeconds ?? 0)));
  const figures =
    mostStaged + mostDone + oldest === 0
      ? "nothing in three hours"
      : `at most ${mostStaged} in and ${mostDone} out a minute in three hours; the oldest due job was ${oldest} s old`;
  // the latest minute is recorded soon
  const missing = MINUTES - known.length;
  const words = missing > 1 ? `${figures}; ${missing} minutes were not recorded` : figures;
  const lineOf = (figureOf: (row: QueueMinute) => number) =>
    stepsOf(
      shown.map((row) => row && figureOf(row)),
      most,
    );
  const figure = html`<svg
    class="chart"
    role="img"
    aria-label="${words}"
    viewBox="0 0 ${width} ${height}"
    preserveAspectRatio="none"
  >
    <path d="${lineOf(({ staged }) => staged)}" />
    <path class="out" d="${lineOf(({ done }) => done)}" />
  </svg>`;
  return { figure, words };
}
