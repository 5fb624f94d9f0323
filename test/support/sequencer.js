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
/** Of the first files, one of so many is long. */
const SPREAD = 4;

/**
 * Starts the long files early, but rarely two of them at once: each keeps two cores busy by itself, and several wait for each other
 * until their limits pass.
 */
export default class LongOnesSpread extends TestSequencer {
  sort(tests) {
    const isLong = ({ path }) => long.some((name) => path.includes(`/test/${name}`));
    // without timings of earlier runs, jest orders by size
    const sorted = super.sort(tests);
    const others = sorted.filter((test) => !isLong(test));
    return [...sorted.filter(isLong).flatMap((test) => [test, ...others.splice(0, SPREAD - 1)]), ...others];
  }
}
