import { z } from "zod";
import { contract } from "./contract.js";

/** The housekeeping tasks; workers/upkeep.ts has them. */
export const upkeepTasks = [
  "canary",
  "expire-boxes",
  "repeat-boxes",
  "complete-campaigns",
  "bulk-actions",
  "purge-staged-jobs",
  "erase-expired-codes",
  "purge-logins",
  "no-shows",
  "purge-idempotency-keys",
  "settle-menu-imports",
  "purge-menu-imports",
  "erase-accounts",
  "erase-counter-addresses",
  "purge-registrations",
  "purge-notifications",
  "purge-geocodes",
  "clear-away-files",
  "sync-menus",
  "abandon-dead-syncs",
  "reschedule-stalled-inboxes",
  "purge-pos-events",
  "purge-rate-counters",
  "purge-ad-batches",
  "queue-figures",
  "drop-old-events",
  "purge-webhooks",
  "book-ledger",
  "make-statements",
] as const;
export type UpkeepTask = (typeof upkeepTasks)[number];

/** Runs one of the housekeeping tasks by name; each may be missed or repeated without harm. */
export const upkeep = contract({
  queue: "upkeep",
  payload: z.object({ task: z.string().min(1).max(64) }),
  attempts: 3,
  backoffMs: 5_000,
  concurrency: 4,
});
