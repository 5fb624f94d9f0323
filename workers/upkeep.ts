import { PermanentError } from "../lib/errors.js";
import { sql } from "../sql/db.js";
import { updateHeartbeat } from "../sql/queries/heartbeats.js";
import { deleteOldOtp, deleteOldOtpSendCounts, eraseExpiredCodes } from "../sql/queries/otp.js";
import { deleteEndedSessions, deleteExpiredRefreshTokens } from "../sql/queries/sessions.js";
import { purgeJobs } from "../sql/queries/staged-jobs.js";
import type { Handler, Task } from "./consume.js";
import type { Rhythm } from "./schedules.js";

interface UpkeepTask {
  readonly rhythm: Rhythm;
  /** May be missed, repeated or cut short without harm. */
  readonly run: (task: Task<{ task: string }>) => Promise<void>;
}

const PURGE_BATCH = 5_000;

/** Repeats a batched statement until it finds nothing left, or the process stops. Answers the rows in all. */
async function inBatches(signal: AbortSignal, batch: (limit: number) => Promise<number>): Promise<number> {
  let total = 0;
  for (let count = PURGE_BATCH; count > 0 && !signal.aborted; total += count) count = await batch(PURGE_BATCH);
  return total;
}

/** The housekeeping: a name, its rhythm, and what it does. A new task is one more entry here. */
export const tasks: Readonly<Record<string, UpkeepTask>> = {
  /** Shows, by going through broker and worker, that jobs are being done. */
  canary: {
    rhythm: { every: 30_000 },
    run: () => updateHeartbeat(sql, "canary"),
  },
  "purge-staged-jobs": {
    rhythm: { pattern: "7 * * * *" },
    run: async ({ log, signal }) => {
      const count = await inBatches(signal, (limit) => purgeJobs(sql, limit));
      if (count > 0) log.info({ count }, "finished jobs purged");
    },
  },
  "erase-expired-codes": {
    rhythm: { pattern: "*/5 * * * *" },
    run: async () => {
      await eraseExpiredCodes(sql);
    },
  },
  "purge-logins": {
    rhythm: { pattern: "17 * * * *" },
    run: async ({ log, signal }) => {
      let count = 0;
      for (const purge of [deleteOldOtp, deleteOldOtpSendCounts, deleteExpiredRefreshTokens, deleteEndedSessions]) {
        count += await inBatches(signal, (limit) => purge(sql, limit));
      }
      if (count > 0) log.info({ count }, "old codes and sessions purged");
    },
  },
};

export const runUpkeep: Handler<{ task: string }> = async (task) => {
  const found = Object.hasOwn(tasks, task.payload.task) ? tasks[task.payload.task] : undefined;
  if (!found) throw new PermanentError("there is no such upkeep task");
  await found.run(task);
};
