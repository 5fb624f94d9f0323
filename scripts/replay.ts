import "./configured.js";
import { exitWithLine } from "../lib/process/lifecycle.js";
import { contracts } from "../queues/index.js";
import { closeDatabase, sql } from "../sql/db.js";
import { insertBulkAction } from "../sql/operators/bulk-actions.js";
import { anyJob, replayJob } from "../sql/operators/jobs.js";
import { findJob } from "../sql/outbox.js";
import { usage } from "./command.js";
import { finishBulkAction } from "./finish-bulk-action.js";

/** Replays dead jobs: all of a queue, or one by its number or by the id that the dashboard shows. */

const queues = contracts.map(({ queue }) => queue);
const [what = "", ...rest] = process.argv.slice(2);
const [, number] = /^(\d{1,18})(?:\.\d+)?$/.exec(what) ?? [];

if (rest.length > 0 || (number === undefined && !queues.includes(what))) {
  exitWithLine(`${usage}; the queues are ${queues.join(", ")}`);
}

/** Says why a job was not replayed. */
async function whyNot(id: string): Promise<string> {
  const job = await findJob(sql, id);
  if (!job) return `There is no job ${id}. Jobs are deleted a day after they were completed, dead ones after 30 days.`;
  const { attempts, runAt, doneAt } = job;
  const now =
    doneAt !== null
      ? `was completed at ${doneAt.toISOString()}`
      : runAt > new Date()
        ? `waits until ${runAt.toISOString()}`
        : `is due, after ${attempts} attempts`;
  return `Job ${id} is not dead: it ${now}.`;
}

/** Replays every job of the queue that is dead now; returns their number. */
async function replayQueue(): Promise<number> {
  const id = await insertBulkAction(sql, {
    kind: "REPLAY",
    state: "DEAD",
    ...anyJob,
    partnerId: null,
    queue: what,
    until: null,
    why: "npm run replay",
    actorId: null,
  });
  return (await finishBulkAction(id))?.changed ?? 0;
}

const count = number === undefined ? await replayQueue() : Number(await replayJob(sql, number));
if (number !== undefined && count === 0) exitWithLine(await whyNot(number));
await closeDatabase();
process.stdout.write(`Replayed ${count} ${count === 1 ? "job" : "jobs"}.\n`);
