// Serves the queue `trial` until its input closes, so that it cannot outlive its test.
import { consume } from "../../workers/consume.js";
import { startRelay } from "../../workers/relay.js";
import { sql, transaction } from "../../sql/db.js";
import { trial } from "./trial.js";

process.stdin.on("close", () => process.exit(1)).resume();

/** Prints that it has begun, hangs if the process is to hang, and takes effect when its job is completed. */
consume(
  trial,
  async ({ payload, done }) => {
    await sql`insert into trial_starts (n) values (${payload.n})`;
    if (process.argv.includes("--hang")) await new Promise(() => undefined);
    await transaction(async (tx) => {
      await tx`insert into trial_effects (n) values (${payload.n})`;
      await done(tx);
    });
  },
  { concurrency: 5, signal: new AbortController().signal },
);

startRelay([trial]);
