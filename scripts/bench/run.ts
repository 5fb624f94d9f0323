import { spawnSync } from "node:child_process";
import { open, readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { between, markdownTable } from "../markdown.js";
import { Effort } from "./compare.js";
import { Chapter, reached, wanted } from "./report.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What a run has measured, and how: the contents of the file that `--json` writes. */
const Run = z.object({
  node: z.string(),
  cores: z.int(),
  /** Null without Git; ends in `-dirty` when files differ from it. */
  commit: z.string().nullable(),
  date: z.iso.datetime(),
  effort: Effort,
  chapters: z.record(z.string(), Chapter),
});
export type Run = z.output<typeof Run>;

/** The commit that runs; null without Git. */
export function currentCommit(): string | null {
  const git = spawnSync("git", ["describe", "--always", "--dirty", "--exclude=*"], { cwd: ROOT, encoding: "utf8" });
  return git.status === 0 ? git.stdout.trim() : null;
}

/** A run that has measured nothing yet. */
export const newRun = (effort: Effort): Run => ({
  node: process.version,
  cores: availableParallelism(),
  commit: currentCommit(),
  date: new Date().toISOString(),
  effort,
  chapters: {},
});

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Rejects, with a reason of one line, when figures cannot be written to this file; leaves its contents. */
export async function checkWritable(file: string): Promise<void> {
  try {
    await (await open(file, "a")).close();
  } catch (error) {
    throw new Error(`${file} cannot be written: ${messageOf(error)}`, { cause: error });
  }
}

export const writeRun = (file: string, run: Run): Promise<void> => writeFile(file, `${JSON.stringify(run, null, 2)}\n`);

/** Reads what `--json` has written; rejects, with a reason of one line, when the file does not hold that. */
export async function readFigures<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new Error(`${file} cannot be read: ${messageOf(error)}`, { cause: error });
  });
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new Error(`${file} does not hold the figures of a run, as --json writes them.`, { cause: error });
  }
}

export const readRun = (file: string): Promise<Run> => readFigures(file, Run);

/** Where, when and how a run was measured. */
export function describeRun({ node, cores, commit, date, effort: { rounds, seconds } }: Run): string {
  const source = commit === null ? "" : `, commit ${commit}`;
  return `Node ${node}, ${cores} cores, ${rounds} rounds of ${seconds} s, ${date.slice(0, 10)}${source}`;
}

/** Says what the goals of these chapters are compared with, and which chapters only one of the two runs has. */
export function describeComparison(earlier: Run, names: readonly string[]): string[] {
  const [now, then] = [new Set(names), new Set(Object.keys(earlier.chapters))];
  const difference = (one: Set<string>, other: Set<string>) => [...one].filter((name) => !other.has(name)).join(", ");
  const [onlyNow, onlyThen] = [difference(now, then), difference(then, now)];
  return [
    `Compared with ${describeRun(earlier)}.`,
    "Only goals are compared, since rates differ from machine to machine. Durations and memory do too, ratios least.",
    ...(onlyNow ? [`Not measured then: ${onlyNow}.`] : []),
    ...(onlyThen ? [`Not measured now: ${onlyThen}.`] : []),
  ];
}

export const readmePath = fileURLToPath(new URL("README.md", import.meta.url));

const tableStart = "<!-- figures: `npm run bench -- --table FILE` writes this table -->\n\n";
const tableEnd = "\n\n<!-- end of figures -->";

/** Returns the README with the goals of a run in the table between its two marks. */
export function withFigures(readme: string, run: Run): string {
  const rows = Object.entries(run.chapters).flatMap(([chapter, { goals }]) =>
    goals.map((goal) => [
      `\`${chapter}\``,
      [goal.part, goal.name].filter(Boolean).join(": "),
      reached(goal),
      wanted(goal),
      goal.met ? "" : "missed",
    ]),
  );
  const table = markdownTable(["Chapter", "Figure", "Reached", "Goal", ""], rows);
  return between(readme, tableStart, tableEnd, `${describeRun(run)}:\n\n${table}`);
}
