import { estimateEnd, partOf } from "../lib/domain/progress.js";

/** A bar is drawn at most this often, and at least every REDRAW_MS; elsewhere a line is written at most this often. */
const DRAW_MS = 100;
const REDRAW_MS = 1_000;
const LINE_MS = 10_000;
const WIDTH = 24;

/** Reports the amount that is done, and the total where it is known; `what` names the current step. */
export type ReportStep = (done: number, total: number | null, what?: string) => void;

/** The bar is on stderr, so that another program can read a script's stdout. */
interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** The progress of a script. */
interface State {
  what: string;
  done: number;
  total: number | null;
}

function inWords(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const count = (amount: number) => Math.floor(amount).toLocaleString("en");

/** Formats progress: "days: 12 of 31 (38 %), about 40 s left". */
export function describeProgress({ what, done, total }: State, startedAt: Date, now = Date.now()): string {
  const part = partOf(done, total);
  if (total === null || part === null) return `${what}: ${count(done)}`;
  const end = estimateEnd(part, startedAt, now);
  const left = end === null ? "" : `, about ${inWords(end.getTime() - now)} left`;
  return `${what}: ${count(done)} of ${count(total)} (${Math.floor(part * 100)} %)${left}`;
}

/** Formats a bar for a terminal with so many columns. */
export function drawBar(state: State, startedAt: Date, columns: number, now = Date.now()): string {
  const part = partOf(state.done, state.total);
  const full = part === null ? null : Math.floor(part * WIDTH);
  const drawn = full === null ? "" : `[${"#".repeat(full)}${"-".repeat(WIDTH - full)}] `;
  // a longer text would wrap
  return `${drawn}${describeProgress(state, startedAt, now)}`.slice(0, Math.max(columns - 1, 1));
}

/** The terminal's last line, while there is a bar. */
let bar: { clear(): void; draw(): void } | undefined;

/** Prints to stdout, above the bar if there is one. */
export function print(text: string): void {
  bar?.clear();
  process.stdout.write(text);
  bar?.draw();
}

const CLEAR = "\r\u001B[K";

/** Shows progress on a terminal, as a bar on its last line. */
function onTerminal(screen: Screen, state: State, startedAt: Date) {
  let drawnAt = 0;
  const draw = () => {
    drawnAt = Date.now();
    screen.write(`${CLEAR}${drawBar(state, startedAt, screen.columns || 80)}`);
  };
  const clear = () => void screen.write(CLEAR);
  bar = { clear, draw };
  const timer = setInterval(draw, REDRAW_MS);
  return {
    changed: () => {
      if (Date.now() - drawnAt >= DRAW_MS) draw();
    },
    end: () => {
      clearInterval(timer);
      bar = undefined;
      clear();
    },
  };
}

/** Shows progress elsewhere, such as in the log of a CI machine: a line now and then, when something has changed. */
function inLines(screen: Screen, state: State, startedAt: Date) {
  let isNew = false;
  const timer = setInterval(() => {
    if (isNew) screen.write(`${describeProgress(state, startedAt)}\n`);
    isNew = false;
  }, LINE_MS);
  return { changed: () => void (isNew = true), end: () => clearInterval(timer) };
}

/**
 * Runs `work` and shows its progress on stderr: a bar in a terminal, a line every ten seconds elsewhere. The bar is removed
 * at the end. Write to stdout with `print` meanwhile. There is one bar at a time.
 */
export async function withProgress<T>(
  what: string,
  work: (report: ReportStep) => Promise<T>,
  screen: Screen = process.stderr,
): Promise<T> {
  const state: State = { what, done: 0, total: null };
  const isTerminal = screen.isTTY === true && process.env["TERM"] !== "dumb";
  const shown = (isTerminal ? onTerminal : inLines)(screen, state, new Date());
  try {
    return await work((done, total, step = state.what) => {
      Object.assign(state, { done, total, what: step });
      shown.changed();
    });
  } finally {
    shown.end();
  }
}
