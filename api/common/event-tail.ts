import { describeError } from "../../lib/process/describe-error.js";
import { log } from "../../lib/process/log.js";
import { lookups, sql } from "../../sql/db.js";
import { findLogEnds, listEvents, type EventRow } from "../../sql/queries/events.js";
import { onSignal } from "../../sql/signals.js";

/** Waits for events of one partner, or of all (null), and of some types, or of all (null). */
export interface Watcher {
  partnerId: string | null;
  types: readonly string[] | null;
  /** Called when there may be such events. */
  wake: () => void;
}

/** Receives every event of partners and of the platform, in order and exactly once. */
export type Follower = (events: readonly EventRow[]) => void;

/** Events per read. After a full read every watcher is woken, and reads the log itself. */
const MOST_EVENTS = 1_000;
/** Delay of the next read after a failed one. */
const RETRY_MS = 1_000;

const watchers = new Set<Watcher>();
const followers = new Set<Follower>();
/** Callers that wait for the position of the tail. */
const asking: { resolve: (position: number) => void; reject: (error: unknown) => void }[] = [];
let unsubscribe = (): void => undefined;
/** The last position that was passed on; null before the first read. */
let seen: number | null = null;
let looking = false;
let again = false;

const isWanted = () => watchers.size > 0 || followers.size > 0;

const concerns = ({ partnerId, types }: Watcher, event: EventRow): boolean =>
  (partnerId === null || partnerId === event.partnerId) && (types === null || types.includes(event.type));

function wakeAll(): void {
  for (const { wake } of watchers) wake();
}

function reach(position: number): void {
  seen = position;
  for (const { resolve } of asking.splice(0)) resolve(position);
}

/** Passes events since the last read to the followers, and wakes the watchers that they match. */
async function lookOnce(): Promise<void> {
  if (seen === null) {
    reach((await findLogEnds(lookups)).last);
    wakeAll();
    return;
  }
  const events = await listEvents(sql, { after: seen, until: Number.MAX_SAFE_INTEGER }, null, MOST_EVENTS);
  const last = events.at(-1);
  if (last === undefined || !isWanted()) return;
  reach(last.position);
  const isFull = events.length === MOST_EVENTS;
  if (isFull) again = true;
  for (const follower of followers) follower(events);
  for (const watcher of watchers) {
    if (isFull || events.some((event) => concerns(watcher, event))) watcher.wake();
  }
}

/** Reads the log once for all watchers and followers; signals that arrive meanwhile cause one more read. */
async function look(): Promise<void> {
  again = true;
  if (looking) return;
  looking = true;
  try {
    while (again && isWanted()) {
      again = false;
      await lookOnce();
    }
  } catch (error) {
    log.debug({ error: describeError(error) }, "new events could not be read");
    for (const { reject } of asking.splice(0)) reject(error);
    wakeAll();
    // the position is unchanged, so followers miss nothing
    setTimeout(() => void look(), RETRY_MS).unref();
  } finally {
    looking = false;
  }
}

/** Adds a watcher or a follower; returns the function that removes it. */
function join<T>(to: Set<T>, one: T): () => void {
  if (!isWanted()) unsubscribe = onSignal("events", () => void look());
  to.add(one);
  return () => {
    to.delete(one);
    if (isWanted()) return;
    unsubscribe();
    seen = null;
  };
}

/** Wakes `watcher` whenever there may be events for it, from now on until the returned function is called. */
export const watchEvents = (watcher: Watcher): (() => void) => join(watchers, watcher);

/** Passes events on to `follower`, from those after `tailPosition` until the returned function is called. */
export const followEvents = (follower: Follower): (() => void) => join(followers, follower);

/** Returns the position up to which followers have got every event; null before the tail has begun. */
export const seenPosition = (): number | null => seen;

/** As `seenPosition`, once the tail has begun; it must have a follower. */
export const tailPosition = (): Promise<number> =>
  seen === null
    ? new Promise((resolve, reject) => {
        asking.push({ resolve, reject });
        void look();
      })
    : Promise.resolve(seen);
