import { sql } from "../sql/db.js";
import { continueBulkAction, findBulkAction, type BulkActionRow } from "../sql/operators/bulk-actions.js";
import { withProgress } from "./progress-bar.js";

const BATCH = 5_000;

/** Runs a bulk action to its end in this process, without a worker; returns it. */
export const finishBulkAction = (id: string, what: "jobs" | "events" = "jobs"): Promise<BulkActionRow | undefined> =>
  withProgress(what, async (report) => {
    for (;;) {
      const action = await findBulkAction(sql, id);
      if (!action || action.settledAt) return action;
      report(action.changed, action.matched);
      await continueBulkAction(sql, id, BATCH);
    }
  });
