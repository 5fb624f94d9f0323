import { afterAll, expect, test } from "@jest/globals";
import { closeBroker, pingBroker, prepareBroker, whileBrokerAnswers } from "../../queues/broker.js";
import { closeDatabase } from "../../sql/db.js";

afterAll(async () => {
  await closeBroker();
  await closeDatabase();
});

test("a stop does not wait for a call that never ends, though the broker answers", async () => {
  await prepareBroker();
  await pingBroker();
  const lost = new Promise<never>(() => undefined);
  await expect(whileBrokerAnswers(lost)).resolves.toBeUndefined();
});
