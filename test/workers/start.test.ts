import { expect, test } from "@jest/globals";
import { contracts } from "../../queues/index.js";
import { unknownQueues } from "../../workers/start.js";

test("every queue has a handler", () => {
  expect(contracts.length).toBeGreaterThan(0);
  expect(unknownQueues(contracts.map(({ queue }) => queue))).toEqual([]);
  expect(unknownQueues(["nonsense"])).toEqual(["nonsense"]);
});
