import "../configured.js";
import { ApiError } from "../../lib/process/errors.js";
import { closeDatabase } from "../../sql/db.js";
import { command, exitWithUsage, Refused } from "./arguments.js";
import { find, order, show } from "./inspection.js";
import { actions, actOn, jobs, stop } from "./jobs.js";
import { now } from "./now.js";
import { disconnect, events } from "./pos.js";
import { backlog, concurrency, rate, setQueue } from "./queues.js";
import { rollup, upkeep } from "./runs.js";
import { webhooks } from "./webhooks.js";

/** `npm run ops -- …`: the operators' console in a shell. */

const acts: Readonly<Record<string, () => Promise<void>>> = {
  now,
  backlog,
  find,
  order,
  show,
  jobs,
  replay: () => actOn("REPLAY"),
  dismiss: () => actOn("DISMISS"),
  run: () => actOn("RUN"),
  snooze: () => actOn("SNOOZE"),
  cancel: () => actOn("CANCEL"),
  actions,
  stop,
  pause: () => setQueue("pause", { paused: true }),
  resume: () => setQueue("resume", { paused: false }),
  concurrency,
  rate,
  disconnect,
  events,
  webhooks,
  upkeep,
  rollup,
};

const act = Object.hasOwn(acts, command) ? acts[command] : undefined;
if (!act) exitWithUsage();
try {
  await act();
} catch (error) {
  if (!(error instanceof Refused) && !(error instanceof ApiError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
} finally {
  await closeDatabase();
}
