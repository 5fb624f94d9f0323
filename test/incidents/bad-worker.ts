import { PermanentError } from "../../lib/process/errors.js";
import { queueNames } from "../../lib/domain/queue-names.js";
import { push } from "../../queues/index.js";
import { startQueueWorker } from "../support/queue-worker.js";

// A worker of a bad release: every job of `push` dies, and other queues work.
startQueueWorker(push, () =>
  Promise.reject(new PermanentError("Cannot read properties of undefined (reading 'locale')")),
);
process.argv.push(...queueNames.filter((name) => name !== push.queue));
await import("../../workers/main.js");
