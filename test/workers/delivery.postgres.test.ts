import { openQueue, openQueues } from "../../queues/broker.js";
import { trial } from "../support/trial.js";
import { describeDelivery } from "./delivery.js";

describeDelivery("Postgres", async () => {
  for (const queue of [...openQueues(), openQueue(trial)]) await queue.obliterate({ force: true });
});
