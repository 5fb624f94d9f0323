import { z } from "zod";
import { print as write } from "../progress-bar.js";

/** What chapters measure: every figure is printed and recorded by the same call. */

/** JSON has no NaN, such as a ratio to nothing, and writes null. */
const Value = z
  .number()
  .nullable()
  .transform((value) => value ?? Number.NaN);

/** `name` tells it from other figures of the same row. */
const Figure = z.object({ name: z.string().optional(), value: Value, unit: z.string() });
export type Figure = z.output<typeof Figure>;

/** `part` is the heading within the chapter, empty above the first one. */
const Row = z.object({ part: z.string(), name: z.string(), figures: z.array(Figure) });

const Goal = z.object({
  part: z.string(),
  name: z.string(),
  value: Value,
  unit: z.string(),
  sign: z.enum(["≥", "≤"]),
  goal: z.number(),
  met: z.boolean(),
});
export type Goal = z.output<typeof Goal>;

export const Chapter = z.object({ rows: z.array(Row), goals: z.array(Goal) });
export type Chapter = z.output<typeof Chapter>;

export const print = (line: string): void => write(`${line}\n`);

const emptyChapter = (): Chapter => ({ rows: [], goals: [] });

/** The chapter that is being measured, and the same one of an earlier run, if goals are compared with one. */
let current = { chapter: emptyChapter(), part: "", begunAt: 0, comparing: false, earlier: emptyChapter() };

/** Prints a chapter's title; returns the chapter, to which the following rows and goals are added. */
export function beginChapter(title: string, earlier?: Chapter): Chapter {
  current = {
    chapter: emptyChapter(),
    part: "",
    begunAt: performance.now(),
    comparing: earlier !== undefined,
    earlier: earlier ?? emptyChapter(),
  };
  print(`\n${title}`);
  return current.chapter;
}

/** Prints a heading within the chapter. */
export function printPart(part: string): void {
  current.part = part;
  print(`  ${part}`);
}

/** Three digits or more, and whole numbers as they are. */
const digitsOf = (value: number) =>
  Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;

function format(value: number, unit: string, digits = digitsOf(value), signDisplay: "auto" | "exceptZero" = "auto") {
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const number = new Intl.NumberFormat("en", { ...fraction, signDisplay }).format(value);
  return `${number}${unit === "" || unit.startsWith("/") ? "" : " "}${unit}`;
}

const printColumns = (name: string, columns: readonly string[]) =>
  print(`  ${name.padEnd(44)}${columns.map((column) => ` ${column.padStart(14)}`).join("")}`);

export function printRow(name: string, figures: Figure[]): void {
  current.chapter.rows.push({ part: current.part, name, figures });
  printColumns(
    name,
    figures.map((figure) => `${figure.name ?? ""} ${format(figure.value, figure.unit)}`.trim()),
  );
}

/** The value that was reached, and the goal, as texts. */
export const reached = ({ value, unit }: Pick<Goal, "value" | "unit">): string => format(value, unit);
export const wanted = ({ sign, goal, unit }: Goal): string => `${sign} ${format(goal, unit)}`;

/** The earlier value, and the change since then. */
function changeSince(earlier: Goal | undefined, { value, unit, sign }: Goal): string[] {
  if (!earlier) return ["not measured then"];
  const digits = Math.max(digitsOf(value), digitsOf(earlier.value));
  const more = Number((value - earlier.value).toFixed(digits));
  const verdict = more === 0 ? "same" : more > 0 === (sign === "≥") ? "better" : "worse";
  return [`was ${reached(earlier)}`, format(more, unit, digits, "exceptZero"), verdict];
}

const isSame = (one: Goal) => (other: Goal) => one.part === other.part && one.name === other.name;

/** Prints a goal beside the figure that was reached. Within a part of a chapter its name is unique. */
export function printGoal(reachedNow: Omit<Goal, "part" | "met">): void {
  const { value, sign, goal: bound } = reachedNow;
  const goal = { part: current.part, ...reachedNow, met: sign === "≥" ? value >= bound : value <= bound };
  current.chapter.goals.push(goal);
  const change = current.comparing ? changeSince(current.earlier.goals.find(isSame(goal)), goal) : [];
  printColumns(`→ ${goal.name}`, [reached(goal), `goal ${wanted(goal)}`, goal.met ? "reached" : "MISSED", ...change]);
}

/** Prints the goals that only the earlier run has measured, as on a machine with Redis, and the chapter's duration. */
export function endChapter(): void {
  const gone = current.earlier.goals.filter((goal) => !current.chapter.goals.some(isSame(goal)));
  for (const goal of gone) {
    const name = [goal.part, goal.name].filter(Boolean).join(": ");
    printColumns(`→ ${name}`, ["not measured", "", "", `was ${reached(goal)}`]);
  }
  current.part = "";
  printRow("duration of the chapter", [{ value: (performance.now() - current.begunAt) / 1_000, unit: "s" }]);
}
