import TestSequencer from "@jest/test-sequencer";

/** What takes a minute or more for one file, such as starting the whole service again and again. */
const long = [
  "scale/plans",
  "faults/",
  "scripts/start",
  "scripts/embedded-postgres",
  "scripts/restore-drill",
  "scripts/rotate-credentials",
  "api/authorisation",
  "api/server",
  "api/hostile",
  "api/routes/files",
  "workers/broker-faults",
];

/** Begins with long files: without a record of earlier runs jest goes by size, and would leave the smallest, which are among them, to the end. */
export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const isLong = ({ path }) => long.some((name) => path.includes(`/test/${name}`));
    const sorted = super.sort(tests);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}
