import { describeError } from "../lib/process/describe-error.js";
import { PermanentError, Snooze } from "../lib/process/errors.js";
import type { PosEventsPayload } from "../queues/pos-events.js";
import { isConnectionLost, isDataException, transaction, sql, type Db } from "../sql/db.js";
import {
  findNextPosEvent,
  findPosEvent,
  lockPosEvents,
  clearInboxJob,
  parkPosEvent,
  scheduleInboxRun,
  updatePosEventFailed,
  updatePosEventProcessed,
  updatePosEventStillParked,
  type PosEventRow,
} from "../sql/queries/pos-events.js";
import { requestPosSync } from "../sql/queries/pos-syncs.js";
import type { Handler, Task } from "./consume.js";
import { applyChange, Unfit } from "./pos-changes.js";

/** How often an event is tried that fails for no reason we know. */
const ATTEMPTS = 5;
const FIRST_RETRY_MS = 5_000;
/** So that whoever stops this process never waits for a mailbox without end. */
const MOST_IN_A_ROW = 500;

type PosEventsTask = Task<PosEventsPayload>;

/** For admins; without values of the event. */
const reasonOf = (error: unknown) => (error instanceof Unfit ? error.message : describeError(error));

/** Makes an event ours that has its turn, and settles it with that. */
async function settle(tx: Db, event: PosEventRow): Promise<void> {
  await updatePosEventProcessed(tx, event.id, await applyChange(tx, event));
}

/** Notes that an event could not be made ours: it is tried again later, with all that came after it, or put aside. */
async function noteFailure(tx: Db, event: PosEventRow, error: unknown): Promise<void> {
  const { partnerId, requestId, attempts } = event;
  await lockPosEvents(tx, partnerId);
  if (error instanceof Unfit || isDataException(error) || attempts + 1 >= ATTEMPTS) {
    await parkPosEvent(tx, event, reasonOf(error), error instanceof Unfit ? error.retryInMs : 0);
    if (error instanceof Unfit && error.needsMenu) await requestPosSync(tx, partnerId, { byUser: false, requestId });
    return;
  }
  const waitMs = FIRST_RETRY_MS * 3 ** attempts;
  await updatePosEventFailed(tx, event, reasonOf(error), waitMs);
  await scheduleInboxRun(tx, partnerId, waitMs, requestId);
}

/** Applies the partner's next event; false when none is due now. */
async function applyNext(partnerId: string, log: PosEventsTask["log"]): Promise<boolean> {
  const turn: { of?: PosEventRow } = {};
  try {
    return await transaction(async (tx) => {
      await lockPosEvents(tx, partnerId);
      const event = await findNextPosEvent(tx, partnerId);
      if (!event) return false;
      if (event.dueInMs > 0) {
        await scheduleInboxRun(tx, partnerId, event.dueInMs, event.requestId);
        return false;
      }
      turn.of = event;
      await settle(tx, event);
      return true;
    });
  } catch (error) {
    const event = turn.of;
    // no event is to blame for a database that is away
    if (!event || isConnectionLost(error)) throw error;
    log.warn({ event: event.id, attempt: event.attempts + 1, error: reasonOf(error) }, "an event of a POS failed");
    await transaction((tx) => noteFailure(tx, event, error));
    return true;
  }
}

/** Tries a parked event once more. While that fails the event says why, and the job stays for an operator to see and to replay. */
async function retryParked(eventId: number): Promise<void> {
  const parked = await findPosEvent(sql, eventId);
  if (!parked) return;
  const { partnerId } = parked;
  try {
    await transaction(async (tx) => {
      await lockPosEvents(tx, partnerId);
      const event = await findPosEvent(tx, eventId);
      if (event?.status !== "PARKED") return;
      await settle(tx, event);
      // what waited for it is in the mailbox again
      const next = await findNextPosEvent(tx, partnerId);
      if (next) await scheduleInboxRun(tx, partnerId, next.dueInMs, next.requestId);
    });
  } catch (error) {
    if (isConnectionLost(error)) throw error;
    await transaction(async (tx) => {
      await lockPosEvents(tx, partnerId);
      await updatePosEventStillParked(tx, eventId, reasonOf(error));
    });
    throw new PermanentError(`event ${eventId} of the POS is parked: ${reasonOf(error)}`);
  }
}

async function drainInbox(partnerId: string, { log, signal }: PosEventsTask): Promise<void> {
  // an event that comes in from now on stages another job
  await clearInboxJob(sql, partnerId);
  for (let n = 0; n < MOST_IN_A_ROW && !signal.aborted; n += 1) {
    if (!(await applyNext(partnerId, log))) return;
  }
  throw new Snooze(new Date());
}

export const applyPosEvents: Handler<PosEventsPayload> = (task) =>
  "eventId" in task.payload ? retryParked(task.payload.eventId) : drainInbox(task.payload.partnerId, task);
