import { Snooze } from "../lib/process/errors.js";
import { unmetCondition } from "../lib/domain/notification-kinds.js";
import { fanOut, push } from "../queues/index.js";
import type { EventKind } from "../queues/fan-out.js";
import { sql, transaction, type Db } from "../sql/db.js";
import { insertNotifications } from "../sql/queries/notifications.js";
import {
  isOnOffer,
  lockBoxNotifications,
  recipientsOf,
  type LargeAudience,
  type SmallAudience,
} from "../sql/queries/recipients.js";
import { findBacklog, stageJob, stageJobs } from "../sql/outbox.js";
import type { Handler, Task } from "./consume.js";

/** Recipients of a large audience per job. */
const BATCH = 1_000;
/** The next batch waits while this many pushes are queued, so that a push about an order need not wait behind all of them. */
const MOST_WAITING = 1_000;
const BACKLOG_PAUSE_MS = 2_000;

type EventPayload = { event: EventKind; subjectId: string; after: string | null };

interface Inserted {
  readonly ids: readonly string[];
  /** The recipient after whom the next batch begins; null when there is none. */
  readonly last: string | null;
}

async function notifyAll(tx: Db, { notify }: SmallAudience, { payload }: Task<EventPayload>): Promise<Inserted> {
  const lists = await Promise.all(
    notify.map(async ({ kind, to }) => (await to(tx, payload.subjectId)).map((recipient) => ({ ...recipient, kind }))),
  );
  return { ids: await insertNotifications(tx, lists.flat()), last: null };
}

/** Inserts the notifications of the next batch of recipients about a box, or logs why there are none. */
async function notifyBatch(
  tx: Db,
  { kind, begin, stillApplies, list }: LargeAudience,
  { payload: { event, subjectId, after }, log }: Task<EventPayload>,
): Promise<Inserted> {
  const skip = (reason: string): Inserted => {
    log.info({ event, subjectId, reason }, "an event has no recipients");
    return { ids: [], last: null };
  };
  await lockBoxNotifications(tx, subjectId);
  const unmet = unmetCondition(kind, { orderStatus: null, onOffer: await isOnOffer(tx, subjectId) });
  if (unmet !== null) return skip(unmet);
  const holds = after === null ? begin : stillApplies;
  if (holds && !(await holds(tx, subjectId))) return skip("the event no longer applies");
  const { recipients, last } = await list(tx, subjectId, after, BATCH);
  const ids = await insertNotifications(
    tx,
    recipients.map((recipient) => ({ ...recipient, kind })),
  );
  return { ids, last };
}

/**
 * Inserts the notifications of an event and stages their pushes, the next batch and the follow-up event, in the transaction
 * that completes the job: wherever a run is cut short, each recipient gets one notification.
 */
export const fanOutEvent: Handler<EventPayload> = async (task) => {
  const { event, subjectId } = task.payload;
  const { requestId } = task;
  const audience = recipientsOf[event];
  const followUp = "list" in audience ? undefined : audience.followUp;
  if ("list" in audience) {
    const { jobs, at } = await findBacklog(sql, push, MOST_WAITING);
    if (jobs === MOST_WAITING) throw new Snooze(new Date(at.getTime() + BACKLOG_PAUSE_MS));
  }
  await transaction(async (tx) => {
    const { ids, last } = await ("list" in audience ? notifyBatch(tx, audience, task) : notifyAll(tx, audience, task));
    await stageJobs(
      tx,
      push,
      ids.map((notificationId) => ({ notificationId })),
      { requestId },
    );
    if (last !== null) await stageJob(tx, fanOut, { event, subjectId, after: last }, { requestId });
    const runAt = await followUp?.at(tx, subjectId);
    if (followUp && runAt)
      await stageJob(tx, fanOut, { event: followUp.event, subjectId, after: null }, { requestId, runAt });
    await task.done(tx);
  });
};
