import "./configured.js";
import { exitWithLine } from "../lib/process/lifecycle.js";
import { contracts } from "../queues/index.js";
import { closeDatabase, sql } from "../sql/db.js";
import { replayDeadJobs, replayJob } from "../sql/outbox.js";
import { usage } from "./command.js";

/** Replays dead jobs: all of a queue, or one by its number or by the id that the dashboard shows. */

const queues = contracts.map(({ queue }) => queue);
const [what = "", ...rest] = process.argv.slice(2);
const [, number] = /^(\d{1,18})(?:\.\d+)?$/.exec(what) ?? [];

if (rest.length > 0 || (number === undefined && !queues.includes(what))) {
  exitWithLine(`${usage}; the queues are ${queues.join(", ")}`);
}

const count = number === undefined ? await replayDeadJobs(sql, what) : Number(await replayJob(sql, number));
await closeDatabase();
if (number !== undefined && count === 0) exitWithLine(`Job ${number} is not dead.`);
process.stdout.write(`Replayed ${count} ${count === 1 ? "job" : "jobs"}.\n`);
