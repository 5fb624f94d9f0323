import { describeError } from "../lib/process/describe-error.js";
import { PermanentError } from "../lib/process/errors.js";
import { deleteFile, deleteStored, files, isFileKey } from "../lib/storage/file-store.js";
import { StorageUnavailable } from "../lib/storage/storage.js";
import { upkeepTasks, type UpkeepTask } from "../queues/upkeep.js";
import { sql, transaction, type Db } from "../sql/db.js";
import { deleteOldActionCounts } from "../sql/queries/action-counts.js";
import { deleteOldAdBatches } from "../sql/queries/ad-batches.js";
import { completeEndedCampaigns } from "../sql/queries/campaigns.js";
import { deleteUnusedCities } from "../sql/queries/cities.js";
import { expireBoxes } from "../sql/queries/boxes.js";
import { deleteExpiredDataExports } from "../sql/queries/data-exports.js";
import { dropOldEvents } from "../sql/queries/events.js";
import { deleteUnusedFiles, retainShownImages } from "../sql/queries/files.js";
import { deleteOldGeocodes } from "../sql/queries/geocodes.js";
import { updateHeartbeat } from "../sql/queries/heartbeats.js";
import { deleteOldMenuImports } from "../sql/queries/menu-imports.js";
import { deleteOldNotifications } from "../sql/queries/notifications.js";
import { deleteOldIdempotencyKeys, listOverdueOrders, moveOrder } from "../sql/queries/orders.js";
import { deleteOldOtp, eraseExpiredCodes } from "../sql/queries/otp.js";
import { deleteForgottenRegistrations, deleteReleasedRegistrations } from "../sql/queries/partners.js";
import { deleteOldPosEvents, rescheduleStalledInboxes } from "../sql/queries/pos-events.js";
import { eraseCounterAddresses } from "../sql/queries/pos-orders.js";
import { settleAbandonedSyncs, deleteOldPosSyncs, requestDueSyncs } from "../sql/queries/pos-syncs.js";
import { deleteOldRateCounters } from "../sql/queries/rate-counters.js";
import { deleteExpiredRefreshTokens } from "../sql/queries/sessions.js";
import { deleteOldJobs } from "../sql/outbox.js";
import { continueBulkAction, findOpenBulkAction } from "../sql/operators/bulk-actions.js";
import { insertQueueMinute, listMinutesToRecord } from "../sql/operators/queues.js";
import { deleteOldFigures, upsertUpkeepRun } from "../sql/queries/service-state.js";
import { deleteOldInvitations } from "../sql/queries/staff.js";
import { countAccountsToErase, eraseAccounts } from "../sql/queries/users.js";
import { deleteOldWebhooks } from "../sql/queries/webhooks.js";
import type { Handler, Task } from "./consume.js";
import { bookLedger, makeDueStatements } from "./ledger.js";
import { repeatBoxes } from "./repeat-boxes.js";

/** When a schedule ticks: every so many milliseconds, or by a cron pattern in the deployment's zone. */
export type Rhythm = { readonly every: number } | { readonly pattern: string };

interface UpkeepDuty {
  readonly rhythm: Rhythm;
  /** May be missed, repeated or cut short without harm. Returns the number of changed rows, where it is known. */
  readonly run: (task: Task<{ task: string }>) => Promise<unknown>;
}

const BATCH = 5_000;
/** Small, as a transaction waits for storage. */
const FILE_BATCH = 20;
const MOST_SYNCS_A_MINUTE = 500;

/** No upload takes so long: an older unfinished one was left by a killed process. */
const ABANDONED_MS = 24 * 60 * 60_000;

/** Processes up to `limit` due rows; returns how many. */
type Step = (db: Db, limit: number) => Promise<number>;

/** Counts the rows that are due. */
type Count = (db: Db) => Promise<number>;

/**
 * Returns a task that processes due rows in batches, until none is left or the process stops; `done` is its log line. `countDue` is
 * for tasks that take long: their progress is a part of it.
 */
const inCountedBatches = (pattern: string, done: string, steps: readonly Step[], countDue?: Count): UpkeepDuty => ({
  rhythm: { pattern },
  run: async ({ log, progress, signal }) => {
    const due = (await countDue?.(sql)) ?? null;
    let total = 0;
    for (const step of steps) {
      for (let count = BATCH; count > 0 && !signal.aborted;) {
        count = await step(sql, BATCH);
        total += count;
        progress(total, due);
      }
    }
    if (total > 0) log.info({ rows: total }, done);
    return total;
  },
});

const inBatches = (pattern: string, done: string, ...steps: Step[]) => inCountedBatches(pattern, done, steps);

/** Returns a task that deletes old rows. */
const purging = (pattern: string, ...purges: Step[]) => inBatches(pattern, "old rows purged", ...purges);

/** Deletes unused files; their rows are deleted only if their bytes were. */
async function deleteUnused(tx: Db): Promise<number> {
  const needless = await deleteUnusedFiles(tx, FILE_BATCH);
  await Promise.all(needless.map(deleteStored));
  return needless.length;
}

/** Loaded when it is due, as every worker process has the list of tasks, and most import no menu. */
const settleMenuImports: Step = async (db, limit) => (await import("./menu-import.js")).settleAllAbandoned(db, limit);

/** Deletes expired data exports; their rows are deleted only if their files were. */
async function deleteExpired(tx: Db): Promise<number> {
  const expired = await deleteExpiredDataExports(tx, FILE_BATCH);
  await Promise.all(expired.map(({ name }) => deleteFile(name)));
  return expired.length;
}

/** The upkeep tasks, by name. A new task is one more entry here, and a name in `queues/upkeep.ts`. */
export const tasks: Readonly<Record<UpkeepTask, UpkeepDuty>> = {
  /** Shows, by passing through broker and worker, that jobs run. */
  canary: {
    rhythm: { every: 30_000 },
    run: () => updateHeartbeat(sql, "canary"),
  },
  "expire-boxes": inBatches("* * * * *", "boxes expired", expireBoxes),
  "repeat-boxes": inBatches("*/10 * * * *", "boxes listed again", repeatBoxes),
  "complete-campaigns": inBatches("* * * * *", "campaigns completed at their end date", completeEndedCampaigns),
  /** Started by the bulk action itself, too. */
  "bulk-actions": {
    rhythm: { pattern: "*/10 * * * *" },
    run: async ({ progress, signal }) => {
      while (!signal.aborted) {
        const action = await findOpenBulkAction(sql);
        if (!action) return;
        progress(action.changed, action.matched);
        await continueBulkAction(sql, action.id, BATCH);
      }
    },
  },
  "purge-staged-jobs": purging("7 * * * *", deleteOldJobs),
  "erase-expired-codes": {
    rhythm: { pattern: "*/5 * * * *" },
    run: () => eraseExpiredCodes(sql),
  },
  "purge-logins": purging("17 * * * *", deleteOldOtp, deleteExpiredRefreshTokens),
  /** Orders that were not picked up: an hour after their last pickup window, or without boxes a day after they were ready. */
  "no-shows": {
    rhythm: { pattern: "*/5 * * * *" },
    run: async ({ signal }) => {
      for (let found = BATCH; found === BATCH && !signal.aborted;) {
        const orders = await listOverdueOrders(sql, BATCH);
        for (const { id } of orders) await moveOrder(sql, id, "NO_SHOW", { actor: "SERVICE" });
        found = orders.length;
      }
    },
  },
  "purge-idempotency-keys": purging("27 * * * *", deleteOldIdempotencyKeys),
  "settle-menu-imports": inBatches("*/10 * * * *", "abandoned menu imports failed", settleMenuImports),
  "purge-menu-imports": purging("47 3 * * *", deleteOldMenuImports),
  /** A small batch, as each account has many rows. */
  "erase-accounts": inCountedBatches(
    "23 * * * *",
    "accounts erased",
    [(db) => eraseAccounts(db, 100)],
    countAccountsToErase,
  ),
  "erase-counter-addresses": purging("33 * * * *", eraseCounterAddresses),
  "purge-registrations": purging(
    "42 3 * * *",
    deleteForgottenRegistrations,
    deleteReleasedRegistrations,
    deleteOldInvitations,
    deleteUnusedCities,
  ),
  "purge-notifications": purging("52 3 * * *", deleteOldNotifications),
  "purge-geocodes": purging("37 3 * * *", deleteOldGeocodes),
  "clear-away-files": {
    rhythm: { pattern: "47 * * * *" },
    run: async ({ log, progress, signal }) => {
      await retainShownImages(sql);
      let total = 0;
      for (const step of [deleteUnused, deleteExpired]) {
        for (let count = FILE_BATCH; count === FILE_BATCH && !signal.aborted;) {
          count = await transaction(step);
          total += count;
          progress(total, null);
        }
      }
      if (total > 0) log.info({ files: total }, "unused files deleted");
      try {
        await files.dropAbandoned(new Date(Date.now() - ABANDONED_MS), isFileKey);
      } catch (error) {
        // not every bucket lists its unfinished uploads
        if (!(error instanceof StorageUnavailable)) throw error;
        log.warn({ error: describeError(error) }, "unfinished uploads cannot be listed");
      }
    },
  },
  /** Syncs each partner with a POS four times a day, and not all at once after an outage. */
  "sync-menus": {
    rhythm: { pattern: "* * * * *" },
    run: async ({ log }) => {
      const due = await requestDueSyncs(sql, MOST_SYNCS_A_MINUTE);
      if (due === MOST_SYNCS_A_MINUTE) log.warn({ syncs: due }, "more menus are due than are synced in a minute");
    },
  },
  "abandon-dead-syncs": inBatches("*/5 * * * *", "syncs abandoned", settleAbandonedSyncs),
  "reschedule-stalled-inboxes": {
    rhythm: { pattern: "*/5 * * * *" },
    run: async ({ log }) => {
      const rescheduled = await rescheduleStalledInboxes(sql, BATCH);
      if (rescheduled === 0) return;
      log.warn({ inboxes: rescheduled }, "POS inboxes had due events and no open job");
    },
  },
  "purge-pos-events": purging("47 * * * *", deleteOldPosEvents, deleteOldPosSyncs),
  "purge-rate-counters": purging("*/10 * * * *", deleteOldRateCounters, deleteOldActionCounts),
  "purge-ad-batches": purging("57 * * * *", deleteOldAdBatches),
  /** For the console's charts. */
  "queue-figures": {
    rhythm: { pattern: "* * * * *" },
    run: async ({ signal }) => {
      for (const minute of await listMinutesToRecord(sql)) {
        if (signal.aborted) return;
        await insertQueueMinute(sql, minute);
      }
      await deleteOldFigures(sql);
    },
  },
  /** Every hour, as a run gives up when readers are in its way. */
  "drop-old-events": {
    rhythm: { pattern: "13 * * * *" },
    run: async ({ log }) => {
      const days = await dropOldEvents(sql);
      if (days > 0) log.info({ days }, "old days of the event log dropped");
      return days;
    },
  },
  "purge-webhooks": purging("3 * * * *", deleteOldWebhooks),
  "book-ledger": { rhythm: { pattern: "* * * * *" }, run: bookLedger },
  /** Every hour, as the statements of a month may be made when it has ended. */
  "make-statements": { rhythm: { pattern: "20 * * * *" }, run: makeDueStatements },
};

/** Runs an upkeep task and records for operators when it ran, and what it changed or why it failed; a failure also fails the job. */
export const runUpkeep: Handler<{ task: string }> = async (task) => {
  const name = upkeepTasks.find((known) => known === task.payload.task);
  if (name === undefined) throw new PermanentError("there is no such upkeep task");
  const startedAt = new Date();
  const began = performance.now();
  const record = (changed: unknown, error: string | null) =>
    upsertUpkeepRun(sql, {
      task: name,
      startedAt,
      ms: Math.round(performance.now() - began),
      changed: typeof changed === "number" ? changed : null,
      error,
    });
  try {
    await record(await tasks[name].run(task), null);
  } catch (error) {
    // when Postgres is the cause, this fails too
    await record(null, describeError(error)).catch(() => undefined);
    throw error;
  }
};
