import "./configured.js";
import { exitWithLine } from "../lib/process/lifecycle.js";
import { log } from "../lib/process/log.js";
import { closeDatabase } from "../sql/db.js";
import { upkeepTasks } from "../queues/upkeep.js";
import { tasks, type Rhythm } from "../workers/upkeep.js";
import { runUpkeep } from "../workers/upkeep.js";
import { usage } from "./command.js";

/** Runs one upkeep task now, in addition to its schedule; without a name, lists the tasks. */

const [name, ...rest] = process.argv.slice(2);

const inWords = (rhythm: Rhythm) => ("every" in rhythm ? `every ${rhythm.every / 1_000} s` : rhythm.pattern);

if (name === undefined) {
  const width = Math.max(...Object.keys(tasks).map((task) => task.length));
  const lines = Object.entries(tasks).map(([task, { rhythm }]) => `  ${task.padEnd(width)}  ${inWords(rhythm)}\n`);
  process.stdout.write(`${usage}\n\n${lines.join("")}`);
} else if (rest.length > 0) {
  exitWithLine(usage);
} else if (!upkeepTasks.some((task) => task === name)) {
  exitWithLine(`There is no task ${name}; npm run upkeep lists the tasks.`);
} else {
  // the current batch is finished; the same signal again ends the process at once
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());
  try {
    await runUpkeep({
      payload: { task: name },
      log: log.child({ task: name }),
      progress: () => undefined,
      requestId: undefined,
      attempt: 1,
      signal: stopping.signal,
      done: () => Promise.resolve(),
    });
  } finally {
    await closeDatabase();
  }
  process.stdout.write(stopping.signal.aborted ? `${name} was stopped.\n` : `${name} is done.\n`);
}
