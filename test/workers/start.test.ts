import { expect, test } from "@jest/globals";
import { queueNames } from "../../lib/domain/queue-names.js";
import { contracts } from "../../queues/index.js";
import { unknownQueues } from "../../workers/start.js";

test("every queue has a handler, and its name in the configuration", () => {
  expect(contracts.map(({ queue }) => queue)).toEqual(queueNames);
  expect(unknownQueues(contracts.map(({ queue }) => queue))).toEqual([]);
  expect(unknownQueues(["nonsense"])).toEqual(["nonsense"]);
});
