import { describeError } from "../lib/process/describe-error.js";
import { PermanentError, Snooze } from "../lib/process/errors.js";
import type { PosEventsPayload } from "../queues/pos-events.js";
import { currentSpan, inSpan, traceOf } from "../lib/process/traces.js";
import { faultOf, isUnavailable, transaction, sql, type Db } from "../sql/db.js";
import {
  findNextPosEvent,
  findPosEvent,
  clearInboxJob,
  parkPosEvent,
  scheduleInboxRun,
  tryLockPosEvents,
  updatePosEventFailed,
  updatePosEventProcessed,
  updatePosEventStillParked,
  type PosEventRow,
} from "../sql/queries/pos-events.js";
import { requestPosSync } from "../sql/queries/pos-syncs.js";
import type { Handler, Task } from "./consume.js";
import { observePosEvent } from "./metrics.js";
import { applyChange, CannotApply } from "./pos-changes.js";

/** The most attempts at an event that fails for an unknown reason. */
const ATTEMPTS = 5;
const FIRST_RETRY_MS = 5_000;
/** While another run applies an event of the partner, a run waits so long, and up to as long again. */
const OCCUPIED_PAUSE_MS = 250;
/** Events per run, so that stopping the process never waits for an endless inbox. */
const MOST_IN_A_ROW = 500;

type PosEventsTask = Task<PosEventsPayload>;

/**
 * Locks a partner's events until `tx` ends. Throws `Snooze` while another run has them: it would wait with one of the process's few
 * slots and transactions.
 */
async function lockEvents(tx: Db, partnerId: string): Promise<void> {
  if (!(await tryLockPosEvents(tx, partnerId)))
    throw new Snooze(new Date(Date.now() + OCCUPIED_PAUSE_MS * (1 + Math.random())));
}

/** Returns the reason for admins, without values of the event. */
const reasonOf = (error: unknown) => (error instanceof CannotApply ? error.message : describeError(error));

/** Applies an event and marks it processed, in one transaction; in the trace of its webhook, since a job applies events of many. */
async function applyEvent(tx: Db, event: PosEventRow): Promise<void> {
  const parent = traceOf(event.requestId);
  const job = currentSpan()?.traceparent;
  await inSpan(
    "apply POS event",
    parent === null ? {} : { parent, links: job === undefined ? [] : [job] },
    async () => {
      const remark = await applyChange(tx, event);
      // its change is undone with the transaction
      if (!(await updatePosEventProcessed(tx, event.id, remark)))
        throw new Error("an operator has dismissed the event meanwhile");
    },
  );
}

/** Records that an event could not be applied: it is retried later, and later events wait for it, or it is parked. */
async function recordFailure(tx: Db, event: PosEventRow, error: unknown): Promise<void> {
  const { partnerId, requestId, attempts } = event;
  await lockEvents(tx, partnerId);
  if (error instanceof CannotApply || faultOf(error) === "bad value" || attempts + 1 >= ATTEMPTS) {
    await parkPosEvent(tx, event, reasonOf(error), error instanceof CannotApply ? error.retryInMs : 0);
    if (error instanceof CannotApply && error.needsMenu)
      await requestPosSync(tx, partnerId, { byUser: false, requestId });
    return;
  }
  const waitMs = FIRST_RETRY_MS * 3 ** attempts;
  await updatePosEventFailed(tx, event, reasonOf(error), waitMs);
  await scheduleInboxRun(tx, partnerId, waitMs, requestId);
}

/** Applies the partner's next event; false when none is due now. */
async function applyNext(partnerId: string, log: PosEventsTask["log"]): Promise<boolean> {
  const current: { event?: PosEventRow; ageSeconds?: number } = {};
  try {
    const applied = await transaction(async (tx) => {
      await lockEvents(tx, partnerId);
      const event = await findNextPosEvent(tx, partnerId);
      if (!event) return false;
      if (event.dueInMs > 0) {
        await scheduleInboxRun(tx, partnerId, event.dueInMs, event.requestId);
        return false;
      }
      const readAt = performance.now();
      current.event = event;
      await applyEvent(tx, event);
      if (event.ageSeconds !== null) current.ageSeconds = event.ageSeconds + (performance.now() - readAt) / 1_000;
      return true;
    });
    if (current.ageSeconds !== undefined) observePosEvent({}, current.ageSeconds);
    return applied;
  } catch (error) {
    const event = current.event;
    // that the server cannot be used is not the event's fault
    if (!event || isUnavailable(error)) throw error;
    log.warn({ event: event.id, attempt: event.attempts + 1, error: reasonOf(error) }, "a POS event failed");
    await transaction((tx) => recordFailure(tx, event, error));
    return true;
  }
}

/** Retries a parked event once. When that fails, the event has the reason, and the dead job stays for an operator to replay. */
async function retryParked(eventId: number): Promise<void> {
  const parked = await findPosEvent(sql, eventId);
  if (!parked) return;
  const { partnerId } = parked;
  try {
    await transaction(async (tx) => {
      await lockEvents(tx, partnerId);
      const event = await findPosEvent(tx, eventId);
      if (event?.status !== "PARKED") return;
      await applyEvent(tx, event);
      // events that waited for this one are in the inbox again
      const next = await findNextPosEvent(tx, partnerId);
      if (next) await scheduleInboxRun(tx, partnerId, next.dueInMs, next.requestId);
    });
  } catch (error) {
    if (error instanceof Snooze || isUnavailable(error)) throw error;
    await transaction(async (tx) => {
      await lockEvents(tx, partnerId);
      await updatePosEventStillParked(tx, eventId, reasonOf(error));
    });
    throw new PermanentError(`POS event ${eventId} is parked: ${reasonOf(error)}`);
  }
}

async function drainInbox(partnerId: string, { log, signal }: PosEventsTask): Promise<void> {
  await transaction(async (tx) => {
    await lockEvents(tx, partnerId);
    // an event that arrives from now on stages another job; none does while this one waits for its turn
    await clearInboxJob(tx, partnerId);
  });
  for (let n = 0; n < MOST_IN_A_ROW && !signal.aborted; n += 1) {
    if (!(await applyNext(partnerId, log))) return;
  }
  throw new Snooze(new Date());
}

/** Applies a partner's due events in order, or retries a parked one: only then does an event that cannot be applied fail the job. */
export const applyPosEvents: Handler<PosEventsPayload> = (task) =>
  "eventId" in task.payload ? retryParked(task.payload.eventId) : drainInbox(task.payload.partnerId, task);
