import { memoryUnderLoad, type Measure } from "./chapter.js";
import { compare, type Contender } from "./compare.js";
import { Rate, type ImportPlan } from "./messages.js";
import type { Program } from "./program.js";
import { printGoal, printPart, printRow } from "./report.js";

const ROWS_PER_SECOND = 20_000;
/** The largest file that is allowed, and a tenth of it. */
const MANY_ROWS = 500_000;
const FEW_ROWS = 50_000;

const importing = (program: Program, plan: ImportPlan) => program.ask(plan, Rate);

/** The peak memory of a fresh process while it imports one file, in MB. */
async function memoryFor(start: () => Promise<Program>, rows: number): Promise<number | null> {
  const program = await start();
  const name = `${rows} rows`;
  const measure = () => importing(program, { how: "worker", menu: "empty", rows });
  const most = await memoryUnderLoad({ name, measure }, program, 0);
  await program.stop();
  return most;
}

export const importMenus: Measure = async (lab, _marketplace, effort) => {
  const start = () => lab.start("scripts/bench/programs/csv", { MENU_ITEMS: String(MANY_ROWS) });
  const program = await start();
  for (const [menu, title] of [
    ["empty", "every row creates an item"],
    ["full", "every row changes the price of an item"],
  ] as const) {
    printPart(title);
    const contender = (name: string, how: ImportPlan["how"]): Contender => ({
      name,
      measure: (seconds) => importing(program, { how, menu, rows: Math.ceil(seconds * ROWS_PER_SECOND) }),
    });
    const against = contender("csv-parse and insert from unnest alone", "bare");
    await compare(contender("the import", "worker"), [{ against, atLeast: 0.8 }], effort);
  }
  await program.stop();

  const few = await memoryFor(start, FEW_ROWS);
  const many = await memoryFor(start, MANY_ROWS);
  if (few === null || many === null) return;
  printPart("memory");
  printRow("a file of 50,000 rows", [{ value: few, unit: "MB" }]);
  printRow("a file of 500,000 rows", [{ value: many, unit: "MB" }]);
  printGoal({ name: "of the one for 50,000 rows", value: many / few, unit: "", sign: "≤", goal: 2 });
};
