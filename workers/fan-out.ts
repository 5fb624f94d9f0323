import { Snooze } from "../lib/process/errors.js";
import { unmetCondition } from "../lib/domain/notification-kinds.js";
import { fanOut, push } from "../queues/index.js";
import type { EventKind } from "../queues/fan-out.js";
import { sql, transaction, type Db } from "../sql/db.js";
import { inBatches } from "../sql/in-batches.js";
import { insertNotifications, type NewNotification } from "../sql/queries/notifications.js";
import { isOnOffer, tryLockBoxNotifications, type LargeAudience } from "../sql/queries/followers.js";
import { recipientsOf, type SmallAudience } from "../sql/queries/recipients.js";
import { countBacklog, stageJob, stageJobs, type StagedJob } from "../sql/outbox.js";
import type { Handler, Task } from "./consume.js";

/** Recipients of a large audience per job. */
const BATCH = 1_000;
/** The next batch waits while this many pushes are queued, so that a push about an order need not wait behind all of them. */
const MOST_WAITING = 1_000;
const BACKLOG_PAUSE_MS = 2_000;
/**
 * While an event about a box of the same partner runs, another one waits so long, and up to as long again: without a transaction, of
 * which a process has few.
 */
const OCCUPIED_PAUSE_MS = 1_000;

type EventPayload = { event: EventKind; subjectId: string; after: string | null };
type EventTask = Task<EventPayload>;

/** An event with few recipients. */
interface SmallEvent {
  readonly audience: SmallAudience;
  readonly task: EventTask;
}

/** Lists the notifications of events with the same audience, and stages the follow-up events. */
async function prepare(
  tx: Db,
  { notify, followUp }: SmallAudience,
  tasks: readonly EventTask[],
): Promise<NewNotification[]> {
  const subjectIds = tasks.map(({ payload }) => payload.subjectId);
  const [times = [], ...lists] = await Promise.all([
    followUp?.at(tx, subjectIds),
    ...notify.map(async ({ kind, to }) => (await to(tx, subjectIds)).map((each) => ({ ...each, kind }))),
  ]);
  const found = lists.flat();
  const notifications: NewNotification[] = [];
  const followUps: StagedJob<EventPayload>[] = [];
  for (const { payload, requestId } of tasks) {
    const { subjectId } = payload;
    for (const { recipient, kind } of found.filter((each) => each.subjectId === subjectId))
      notifications.push({ ...recipient, kind, requestId: requestId ?? null });
    const time = times.find((each) => each.subjectId === subjectId);
    if (followUp && time)
      followUps.push({ payload: { event: followUp.event, subjectId, after: null }, requestId, runAt: time.runAt });
  }
  await stageJobs(tx, fanOut, followUps);
  return notifications;
}

/** Events with few recipients come with every order: those that run at once share a transaction and its statements. */
const notifyFew = inBatches((events: readonly SmallEvent[]) =>
  transaction(async (tx) => {
    const audiences = [...new Set(events.map(({ audience }) => audience))];
    const tasksOf = (audience: SmallAudience) =>
      events.flatMap((each) => (each.audience === audience ? each.task : []));
    const notifications = await Promise.all(audiences.map((audience) => prepare(tx, audience, tasksOf(audience))));
    await insertNotifications(tx, notifications.flat());
    await Promise.all(events.map(({ task }) => task.done(tx)));
    return events;
  }),
);

/** Returns why an event about a box has no further recipients; null: it may have some. */
async function whyOver(tx: Db, { kind, applies, stillApplies }: LargeAudience, { subjectId, after }: EventPayload) {
  const unmet = unmetCondition(kind, { orderStatus: null, onOffer: await isOnOffer(tx, subjectId) });
  if (unmet !== null) return unmet;
  const holds = after === null ? applies : stillApplies;
  return holds && !(await holds(tx, subjectId)) ? "the event no longer applies" : null;
}

/**
 * Inserts the notifications of the next batch of recipients about a box, or logs why there are none, and stages the next batch if
 * more are left. Throws `Snooze` while an event about another box of the partner runs, and when the box changed during the batch.
 */
async function notifyBatch(tx: Db, audience: LargeAudience, { payload, requestId, log }: EventTask): Promise<void> {
  const { event, subjectId, after } = payload;
  if (!(await tryLockBoxNotifications(tx, subjectId)))
    throw new Snooze(new Date(Date.now() + OCCUPIED_PAUSE_MS * (1 + Math.random())));
  const reason = await whyOver(tx, audience, payload);
  if (reason !== null) {
    log.info({ event, subjectId, reason }, "an event has no recipients");
    return;
  }
  const last = await audience.notifyNext(tx, subjectId, after, { limit: BATCH, requestId: requestId ?? null });
  if (last !== null) await stageJob(tx, fanOut, { event, subjectId, after: last }, { requestId });
  // last, as it locks the box, and orders wait for that until the commit
  if (after === null && audience.finishFirst && !(await audience.finishFirst(tx, subjectId)))
    throw new Snooze(new Date());
}

async function notifyMany(audience: LargeAudience, task: EventTask): Promise<void> {
  const { jobs, at } = await countBacklog(sql, push, MOST_WAITING);
  if (jobs === MOST_WAITING) throw new Snooze(new Date(at.getTime() + BACKLOG_PAUSE_MS));
  await transaction(async (tx) => {
    await notifyBatch(tx, audience, task);
    await task.done(tx);
  });
}

/**
 * Inserts the notifications of an event and stages their pushes, the next batch and the follow-up event, in the transaction
 * that completes the job: wherever a run is cut short, each recipient gets one notification.
 */
export const fanOutEvent: Handler<EventPayload> = async (task) => {
  const audience = recipientsOf[task.payload.event];
  if ("notifyNext" in audience) await notifyMany(audience, task);
  else await notifyFew({ audience, task });
};
