import type { Enum } from "../../lib/domain/enums.js";
import { addDays } from "../../lib/domain/days.js";
import { config } from "../../lib/process/config.js";
import { rollups, upkeep } from "../../queues/index.js";
import type { UpkeepTask } from "../../queues/upkeep.js";
import { sql, transaction, type Db } from "../../sql/db.js";
import { releaseHeldJobs, stageJob, stageJobs } from "../../sql/outbox.js";
import { updateBulkActionStopped } from "../../sql/operators/bulk-actions.js";
import { settleJobs, type JobFilter } from "../../sql/operators/jobs.js";
import { insertAuditEvent } from "../../sql/queries/audit-events.js";
import { findOrderContact, type OrderContact } from "../../sql/queries/operations.js";
import { deletePosCredentials } from "../../sql/queries/pos-credentials.js";
import { settleParkedEvents, type ParkedChoice } from "../../sql/queries/pos-events.js";
import {
  queueSettingsChanged,
  updateQueueConcurrency,
  updateQueuePaused,
  updateQueueRate,
  updateQueueResumed,
} from "../../sql/queries/queue-settings.js";
import { findYesterday } from "../../sql/queries/rollups.js";
import { signalLeader } from "../../sql/signals.js";
import { refusal } from "../http/refusal.js";

/** What operators do, on the console's pages, through the API and in a shell: each with an audit record in its transaction. */

/** Who does it, and why, for the audit log. */
export interface By {
  /** Null in a shell. */
  actorId: string | null;
  why: string;
}

const MOST_EVENTS = 10_000;
/** The most days that one call rolls up. */
export const MOST_DAYS = 366;

type Details = Readonly<Record<string, string>>;

const audit = (tx: Db, action: string, details: Details, { actorId, why }: By) =>
  insertAuditEvent(tx, { actorId, action, details: { ...details, why } });

/** Returns how to reach the customer of an order, with an audit record of the look; undefined for another id. */
export const showContact = (orderId: string, by: By): Promise<OrderContact | undefined> =>
  transaction(async (tx) => {
    const contact = await findOrderContact(tx, orderId);
    if (contact) await audit(tx, "CONTACT_SHOWN", { order: orderId }, by);
    return contact;
  });

/** What may be changed of a queue while it runs. */
export interface QueueChange {
  paused?: boolean | undefined;
  /** Jobs that a process runs at once; null: as configured. */
  concurrency?: number | null | undefined;
  /** Jobs that all processes together start a minute; null: no limit. */
  perMinute?: number | null | undefined;
}

/**
 * Changes a queue: its pause at once, how many jobs the processes run at once and start a minute within seconds. A paused queue hands none of its jobs
 * over and starts none; they wait, without spending attempts, until it is resumed. Returns whether that was a change.
 */
export const changeQueue = (queue: string, { paused, concurrency, perMinute }: QueueChange, by: By): Promise<boolean> =>
  transaction(async (tx) => {
    let changed = false;
    if (paused === true && (await updateQueuePaused(tx, queue, by.why))) {
      changed = true;
      await audit(tx, "QUEUE_PAUSE", { queue }, by);
    }
    if (paused === false && (await updateQueueResumed(tx, queue))) {
      changed = true;
      await releaseHeldJobs(tx, queue);
      await audit(tx, "QUEUE_RESUME", { queue }, by);
    }
    if (concurrency !== undefined && (await updateQueueConcurrency(tx, queue, concurrency))) {
      changed = true;
      await audit(tx, "QUEUE_CONCURRENCY", { queue, concurrency: String(concurrency ?? "default") }, by);
    }
    if (perMinute !== undefined && (await updateQueueRate(tx, queue, perMinute))) {
      changed = true;
      await audit(tx, "QUEUE_RATE", { queue, perMinute: String(perMinute ?? "no limit") }, by);
    }
    if (changed) await signalLeader(tx, queueSettingsChanged);
    return changed;
  });

/** What is done to jobs; `until` is when snoozed ones run, and null for the others. */
export interface JobAct {
  kind: Enum<"bulkActionKind">;
  until: Date | null;
}

/** The states of the jobs and POS events that each of these things is done to. */
export const statesFor = {
  REPLAY: ["DEAD", "PARKED"],
  DISMISS: ["DEAD", "PARKED"],
  RUN: ["DUE", "WAITING"],
  SNOOZE: ["DUE", "WAITING"],
  CANCEL: ["DUE", "WAITING"],
} as const satisfies Record<Enum<"bulkActionKind">, readonly Enum<"bulkActionState">[]>;

/** Whether jobs or events in this state are meant for that. */
export const fitsState = (kind: Enum<"bulkActionKind">, state: Enum<"bulkActionState">): boolean =>
  statesFor[kind].some((fitting) => fitting === state);

/** Whether there is a later time for jobs that are snoozed, and none for others. */
export const hasItsTime = ({ kind, until }: JobAct): boolean =>
  kind === "SNOOZE" ? until !== null && until.getTime() > Date.now() : until === null;

/** Whether a condition, other than the state, limits which jobs or events are meant. */
export const isLimited = ({
  queue,
  error,
  stagedFrom,
  stagedBefore,
  minAttempts,
  argument,
  partnerId,
}: JobFilter & { partnerId: string | null }): boolean =>
  [queue, error, stagedFrom, stagedBefore, minAttempts, argument, partnerId].some((condition) => condition !== null);

/** Does something to those of these jobs that are in a state for it; returns their number. */
export const actOnJobs = ({ kind, until }: JobAct, ids: readonly number[], by: By): Promise<number> =>
  transaction(async (tx) => {
    const changed = await settleJobs(tx, kind, ids, until);
    const details = { jobs: ids.join(" "), ...(until && { until: until.toISOString() }), changed: String(changed) };
    await audit(tx, `JOBS_${kind}`, details, by);
    return changed;
  });

/** Ends a bulk action before all of its jobs are changed, and keeps what it has changed. Returns whether it was under way. */
export const stopBulkAction = (id: string, by: By): Promise<boolean> =>
  transaction(async (tx) => {
    const changed = await updateBulkActionStopped(tx, id, by.why);
    if (changed !== undefined) await audit(tx, "BULK_ACTION_STOP", { action: id, changed: String(changed) }, by);
    return changed !== undefined;
  });

/** Replays or dismisses parked POS events that match; returns how many they were, ten thousand at most. */
export const actOnParkedEvents = (
  kind: "REPLAY" | "DISMISS",
  filter: ParkedChoice,
  by: By,
  requestId: string | null,
): Promise<number> =>
  transaction(async (tx) => {
    const remark = `dismissed: ${by.why}`;
    const changed = await settleParkedEvents(tx, kind, filter, { remark, requestId, limit: MOST_EVENTS });
    const which = {
      ...(filter.ids && { events: filter.ids.join(" ") }),
      ...(filter.partnerId !== null && { partner: filter.partnerId }),
    };
    await audit(tx, `POS_EVENTS_${kind}`, { ...which, changed: String(changed) }, by);
    return changed;
  });

/** Disconnects a partner from its POS, whose further events are ignored; false when it is not connected. */
export const disconnectPos = (
  partnerId: string,
  by: { actorId: string | null; why: string | null },
  requestId: string | null,
): Promise<boolean> => transaction((tx) => deletePosCredentials(tx, partnerId, { ...by, requestId }));

/** Stages an upkeep task, to run now beside its schedule; returns the job's number. */
export const runUpkeepNow = (task: UpkeepTask, by: By, requestId?: string): Promise<number> =>
  transaction(async (tx) => {
    const job = Number(await stageJob(tx, upkeep, { task }, { requestId }));
    await audit(tx, "UPKEEP_RUN", { task, job: String(job) }, by);
    return job;
  });

export const wrongDays = refusal(
  400,
  "VALIDATION_ERROR",
  "WRONG_DAYS",
  "The days must be past, and the first not after the last.",
  `Name past days of the deployment's zone, ${MOST_DAYS} at most.`,
);

/** Stages a job for each of these days, both ends included, that rolls it up again; returns their number. */
export async function rollUpNow(
  { from, to }: { from: string; to: string },
  by: By,
  requestId?: string,
): Promise<number> {
  const yesterday = await findYesterday(sql, config.DEFAULT_TIMEZONE);
  if (from > to || to > yesterday)
    throw wrongDays(`The days must be past, and the first not after the last; the latest past day is ${yesterday}.`);
  const days: string[] = [];
  for (let day = from; day <= to && days.length <= MOST_DAYS; day = addDays(day, 1)) days.push(day);
  if (days.length > MOST_DAYS) throw wrongDays(`At most ${MOST_DAYS} days are rolled up at once.`);
  await transaction(async (tx) => {
    await stageJobs(
      tx,
      rollups,
      days.map((day) => ({ payload: { day }, requestId })),
    );
    await audit(tx, "ROLLUP_RUN", { from, to }, by);
  });
  return days.length;
}
