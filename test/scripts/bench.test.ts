import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { chapters } from "../../scripts/bench/chapters.js";
import { compare, type Contender, type Sample } from "../../scripts/bench/compare.js";
import { beginChapter, endChapter, printGoal, printPart, printRow } from "../../scripts/bench/report.js";
import { describeComparison, newRun, readmePath, readRun, withFigures, writeRun } from "../../scripts/bench/run.js";
import { runScript } from "../support/run-script.js";
import { scratchFolder } from "../support/scratch.js";

const effort = { rounds: 3, seconds: 1, warmUpSeconds: 1, samples: 10 };

let printed = "";
beforeEach(() => {
  printed = "";
  jest.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterEach(() => void jest.restoreAllMocks());

/** The printed lines that contain a text, with one space between columns. */
const linesWith = (text: string) =>
  printed
    .split("\n")
    .filter((line) => line.includes(text))
    .map((line) => line.trim().replaceAll(/ +/g, " "));

/** Yields these samples after one for the warm-up. */
function contender(name: string, ...samples: Sample[]): Contender {
  const rest = [{ perSecond: 1 }, ...samples];
  return { name, measure: () => Promise.resolve(rest.shift() ?? { perSecond: Number.NaN }) };
}

const rates = (...all: number[]) => all.map((perSecond) => ({ perSecond, p99Ms: 7, cpuMicros: 1e6 / perSecond }));

test("what is printed of a comparison is recorded: rates, ratios by round, and goals", async () => {
  const chapter = beginChapter("Title");
  printPart("a part");
  const against = contender("the library", ...rates(1_000, 1_000, 1_000));
  await compare(
    contender("the service", ...rates(1_250, 1_000, 1_500)),
    [{ against, atLeast: 1.3, byCpuAtLeast: 1.2 }],
    effort,
  );
  const part = "a part";
  const byCpu = { name: "by CPU time", value: 1.25, unit: "" };
  expect(chapter).toEqual({
    rows: [
      {
        part,
        name: "the service",
        figures: [
          { value: 1_250, unit: "/s" },
          { name: "p99", value: 7, unit: "ms" },
          { name: "CPU", value: 800, unit: "µs" },
        ],
      },
      {
        part,
        name: "the library",
        figures: [
          { value: 1_000, unit: "/s" },
          { name: "p99", value: 7, unit: "ms" },
          { name: "CPU", value: 1_000, unit: "µs" },
        ],
      },
      {
        part,
        name: "    by round",
        figures: [{ name: "least", value: 1, unit: "" }, { name: "most", value: 1.5, unit: "" }, byCpu],
      },
    ],
    goals: [
      { part, name: "of the library", value: 1.25, unit: "", sign: "≥", goal: 1.3, met: false },
      { part, name: "of the library, by CPU time", value: 1.25, unit: "", sign: "≥", goal: 1.2, met: true },
    ],
  });
  expect(linesWith("the ")).toEqual([
    "the service 1,250/s p99 7 ms CPU 800 µs",
    "the library 1,000/s p99 7 ms CPU 1,000 µs",
    "→ of the library 1.25 goal ≥ 1.30 MISSED",
    "→ of the library, by CPU time 1.25 goal ≥ 1.20 reached",
  ]);
  expect(linesWith("by round")).toEqual(["by round least 1 most 1.50 by CPU time 1.25"]);
});

test("each goal is compared with the same goal of the earlier run", () => {
  const measure = (goals: [part: string, name: string, value: number][]) => {
    for (const [part, name, value] of goals) {
      printPart(part);
      const sign = name.startsWith("memory") ? ("≤" as const) : ("≥" as const);
      printGoal({ name, value, unit: sign === "≤" ? "MB" : "", sign, goal: 1 });
    }
  };
  const earlier = beginChapter("Then");
  measure([
    ["Redis", "of bare", 1.5],
    ["Postgres", "of bare", 0.801],
    ["Postgres", "memory", 104.2],
    ["Postgres", "unchanged", 2.001],
  ]);
  printed = "";
  beginChapter("Now", earlier);
  measure([
    ["Postgres", "of bare", 1.05],
    ["Postgres", "memory", 113.4],
    ["Postgres", "unchanged", 2.0009],
    ["Postgres", "new", 1],
  ]);
  endChapter();
  expect(linesWith("→")).toEqual([
    "→ of bare 1.05 goal ≥ 1 reached was 0.80 +0.25 better",
    "→ memory 113 MB goal ≤ 1 MB MISSED was 104 MB +9 MB worse",
    "→ unchanged 2.00 goal ≥ 1 reached was 2.00 0.00 same",
    "→ new 1 goal ≥ 1 reached not measured then",
    "→ Redis: of bare not measured was 1.50",
  ]);
  expect(linesWith("duration")).toEqual([expect.stringMatching(/^duration of the chapter [\d.]+ s$/)]);
});

test("a run is read from its file as it was written, with ratios to nothing", async () => {
  const file = join(await scratchFolder("figures"), "figures.json");
  const run = newRun(effort);
  run.chapters["box"] = beginChapter("Read one box");
  printRow("the service", [{ value: 1_250.5, unit: "/s" }]);
  printGoal({ name: "of nothing", value: Number.NaN, unit: "", sign: "≥", goal: 1.4 });
  await writeRun(file, run);
  expect(await readRun(file)).toEqual(run);
  expect(run).toMatchObject({
    node: process.version,
    effort,
    chapters: { box: { goals: [{ value: Number.NaN, met: false }] } },
  });
});

test("chapters that only one of two runs has are named", () => {
  const earlier = { ...newRun(effort), chapters: { box: beginChapter("Box"), gone: beginChapter("Gone") } };
  expect(describeComparison(earlier, ["box", "start", "life"])).toEqual([
    expect.stringMatching(/^Compared with Node v\S+, \d+ cores, 3 rounds of 1 s, \d{4}-\d\d-\d\d/),
    expect.stringContaining("rates differ from machine to machine"),
    "Not measured then: start, life.",
    "Not measured now: gone.",
  ]);
  expect(describeComparison(earlier, ["box", "gone"])).toHaveLength(2);
});

test("the README's table has the goals of a run", () => {
  const run = { ...newRun(effort), commit: "abc1234", date: "2026-11-23T06:00:00.000Z", node: "v24.1.0", cores: 2 };
  run.chapters["relay"] = beginChapter("Relay");
  printPart("BullMQ on Redis");
  printGoal({ name: "of addBulk", value: 0.812, unit: "", sign: "≥", goal: 0.85 });
  printGoal({ name: "longest", value: 3.2, unit: "ms", sign: "≤", goal: 5 });
  const empty = "before\n<!-- figures: `npm run bench -- --table FILE` writes this table -->\n\n";
  const end = "\n\n<!-- end of figures -->\nafter";
  const written = `${empty}Node v24.1.0, 2 cores, 3 rounds of 1 s, 2026-11-23, commit abc1234:

| Chapter | Figure                      | Reached | Goal   |        |
| ------- | --------------------------- | ------- | ------ | ------ |
| \`relay\` | BullMQ on Redis: of addBulk | 0.81    | ≥ 0.85 | missed |
| \`relay\` | BullMQ on Redis: longest    | 3.20 ms | ≤ 5 ms |        |${end}`;
  expect(withFigures(`${empty}old${end}`, run)).toBe(written);
  expect(withFigures(written, run)).toBe(written);
});

const noFigures = /^\S+ does not hold the figures of a run, as --json writes them\.\n$/;

test.each([
  ["--compare", "missing.json", ["box"], /^\S+missing\.json cannot be read: [^\n]+\n$/],
  ["--compare", "broken.json", ["box"], noFigures],
  ["--compare", "other.json", ["box"], noFigures],
  ["--json", "no-folder/figures.json", ["box"], /^\S+figures\.json cannot be written: [^\n]+\n$/],
  ["--json", ".", ["box"], /^\S+ cannot be written: [^\n]+\n$/],
  ["--table", "other.json", [], noFigures],
  ["--table", "other.json", ["box"], /^Usage: npm run bench [^\n]+\n$/],
  ["--bogus", "", ["box"], /^Usage: npm run bench [^\n]+\n$/],
])("%s %s is refused in one line, before anything is measured (chapters: %j)", async (option, name, names, line) => {
  const folder = await scratchFolder("figures");
  await writeFile(join(folder, "broken.json"), '{"chapters": {');
  await writeFile(join(folder, "other.json"), '{"chapters": {}}');
  const { code, output } = await runScript("bench/main", [option, join(folder, name), ...names]);
  expect({ code, output }).toEqual({ code: 1, output: expect.stringMatching(line) });
});

test.each([[["toString"]], [["box", "no-chapter"]]])("an unknown chapter is refused: %j", async (names) => {
  const { code, output } = await runScript("bench/main", names);
  expect(code).toBe(1);
  expect(output).toMatch(/^There is no chapter [^\n]+\. There are: orders, [^\n]+\.\n$/);
});

test("the README says what each chapter measures", async () => {
  const listed = (await readFile(readmePath, "utf8"))
    .split("## Chapters")[1]
    ?.split("## ")[0]
    ?.matchAll(/^\| `([^`]+)`/gm);
  expect([...(listed ?? [])].map(([, name]) => name)).toEqual(Object.keys(chapters));
});
