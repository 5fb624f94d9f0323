import TestSequencer from "@jest/test-sequencer";

/** Test files that take half a minute or more, for example because they restart the service many times. */
const long = [
  "scale/plans",
  "faults/",
  "lib/storage/",
  "scripts/check.test",
  "scripts/client",
  "scripts/demo",
  "scripts/start",
  "scripts/embedded-postgres",
  "scripts/first-order",
  "scripts/image",
  "scripts/restore-drill",
  "scripts/rotate-credentials",
  "api/authorisation",
  "api/server",
  "api/hostile",
  "api/routes/files",
  "browser/",
  "queues/redis-groups",
  "workers/broker-faults",
  "workers/delivery",
];

/** Runs the long files first. Without timings of earlier runs, jest orders by size and would run small slow files last. */
export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const isLong = ({ path }) => long.some((name) => path.includes(`/test/${name}`));
    const sorted = super.sort(tests);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}
