import { setTimeout as delay } from "node:timers/promises";
import { describeError } from "../lib/process/describe-error.js";
import { Flag } from "../lib/process/flag.js";
import { log } from "../lib/process/log.js";
import { sql } from "../sql/db.js";
import { onJobsDue } from "../sql/outbox.js";
import { numberEvents } from "../sql/queries/events.js";

const BATCH = 1_000;
/** Interval of batches under load: a batch costs a commit, and a signal to all readers. */
const PAUSE_MS = 50;
/** Poll interval without a signal. An event that stages no job may be this late. */
const POLL_MS = 1_000;

/** Numbers new events until it is stopped. It never fails: while Postgres is down it tries again. */
export function startNumbering(): { stop(): Promise<void> } {
  const written = new Flag();
  let stopping = false;
  let failing = false;
  const unsubscribe = onJobsDue(written.set);

  /** Numbers a batch; returns its size. */
  const numberBatch = async (): Promise<number> => {
    try {
      const numbered = await numberEvents(sql, BATCH);
      if (failing) log.info("events get their positions again");
      failing = false;
      return numbered;
    } catch (error) {
      if (!failing) log.warn({ error: describeError(error) }, "events get no positions; they wait in Postgres");
      failing = true;
      return 0;
    }
  };
  const run = async (): Promise<void> => {
    while (!stopping) {
      const numbered = await numberBatch();
      if (numbered === BATCH) continue;
      await delay(PAUSE_MS);
      await written.wait(POLL_MS);
    }
  };
  const running = run();

  return {
    stop: async () => {
      stopping = true;
      unsubscribe();
      written.set();
      await running;
    },
  };
}
