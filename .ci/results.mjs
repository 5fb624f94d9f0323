import { readFileSync } from "node:fs";
import { relative } from "node:path";

// Reads what jest writes with --json. `failed FILE` lists the test files that failed; `counts FILE…` prints how many tests passed,
// failed and were skipped, where a file that was run again counts as it ended, and `passed-again FILE FILE` what failed at first only.

const [command, ...paths] = process.argv.slice(2);
const readRun = (path) => {
  const text = readFileSync(path, "utf8");
  return text === "" ? [] : JSON.parse(text).testResults;
};
const nameOf = ({ name }) => relative(process.cwd(), name);
const titlesOf = ({ assertionResults }, status) =>
  assertionResults.filter((test) => test.status === status).map(({ fullName }) => fullName);
/** A file that cannot even be loaded has no tests, and counts as one that failed. */
const failuresOf = (file) => Math.max(titlesOf(file, "failed").length, file.status === "failed" ? 1 : 0);
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

const runs = paths.map(readRun);
const commands = {
  failed: () => runs[0].filter((file) => file.status === "failed").map(nameOf),
  counts: () => {
    const files = [...new Map(runs.flat().map((file) => [file.name, file])).values()];
    const passed = sum(files.map((file) => titlesOf(file, "passed").length));
    const skipped = sum(files.map((file) => titlesOf(file, "pending").length));
    return [`${passed} ${sum(files.map(failuresOf))} ${skipped}`];
  },
  "passed-again": () => {
    const passed = new Set(
      runs[1].flatMap((file) => titlesOf(file, "passed").map((title) => `${nameOf(file)}: ${title}`)),
    );
    return runs[0]
      .flatMap((file) => titlesOf(file, "failed").map((title) => `${nameOf(file)}: ${title}`))
      .filter((test) => passed.has(test));
  },
};
for (const line of commands[command]()) console.log(line);
