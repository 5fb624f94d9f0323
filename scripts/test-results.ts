import { readFile } from "node:fs/promises";
import { relative } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";

// Reads what jest writes with --json. `failed FILE` lists the test files that failed; `counts FILE…` prints how many tests passed,
// failed and were skipped, where a file that was run again counts as it ended; `passed-again FILE FILE` lists what failed at first only.

const TestFile = z.object({
  name: z.string(),
  status: z.string(),
  assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
});
type TestFile = z.output<typeof TestFile>;
const Run = z.object({ testResults: z.array(TestFile) });

/** Reads the files of a run; none when it was broken off before it wrote. */
async function readFiles(path: string): Promise<TestFile[]> {
  const text = await readFile(path, "utf8");
  return text === "" ? [] : Run.parse(JSON.parse(text)).testResults;
}

const nameOf = ({ name }: TestFile) => relative(process.cwd(), name);
const testsOf = (file: TestFile, status: string) =>
  file.assertionResults.filter((each) => each.status === status).map(({ fullName }) => `${nameOf(file)}: ${fullName}`);
/** A file that cannot even be loaded has no tests, and counts as one that failed. */
const failuresOf = (file: TestFile) => Math.max(testsOf(file, "failed").length, file.status === "failed" ? 1 : 0);
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const commands: Readonly<Record<string, (runs: readonly TestFile[][]) => string[]>> = {
  failed: (runs) =>
    runs
      .flat()
      .filter(({ status }) => status === "failed")
      .map(nameOf),
  counts: (runs) => {
    const files = [...new Map(runs.flat().map((file) => [file.name, file])).values()];
    const count = (status: string) => sum(files.map((file) => testsOf(file, status).length));
    return [`${count("passed")} ${sum(files.map(failuresOf))} ${count("pending")}`];
  },
  "passed-again": ([first = [], again = []]) => {
    const passed = new Set(again.flatMap((file) => testsOf(file, "passed")));
    return first.flatMap((file) => testsOf(file, "failed")).filter((name) => passed.has(name));
  },
};

const [command = "", ...paths] = parseArgs({ allowPositionals: true }).positionals;
const lines = commands[command]?.(await Promise.all(paths.map(readFiles))) ?? [];
for (const line of lines) process.stdout.write(`${line}\n`);
