import { expect, test } from "@jest/globals";
import { setImmediate as turn } from "node:timers/promises";
import { coalesce } from "../../../lib/process/coalesce.js";

test("many calls lead to few runs, and the last call always to one", async () => {
  let runs = 0;
  const run = coalesce(() => Promise.resolve((runs += 1)));
  for (let calls = 0; calls < 1_000; calls += 1) run();
  await turn();
  expect(runs).toBe(2);
  run();
  await turn();
  expect(runs).toBe(3);
});
