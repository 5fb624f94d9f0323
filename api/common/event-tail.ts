import { describeError } from "../../lib/process/describe-error.js";
import { log } from "../../lib/process/log.js";
import { lookups } from "../../sql/db.js";
import { findLogEnds, listEventHeads, type EventHead } from "../../sql/queries/events.js";
import { onSignal } from "../../sql/signals.js";

/** Who waits for events: of one partner, or of all (null); of some types, or of all (null). */
export interface Watcher {
  partnerId: string | null;
  types: readonly string[] | null;
  /** Called when there may be such events. */
  wake: () => void;
}

/** After more events than that at once every watcher is woken, and looks itself. */
const MOST_HEADS = 1_000;

const watchers = new Set<Watcher>();
let unsubscribe = (): void => undefined;
/** The last position that watchers were woken for; null: not known, so that all are woken. */
let seen: number | null = null;
let looking = false;
let again = false;

const concerns = ({ partnerId, types }: Watcher, head: EventHead): boolean =>
  (partnerId === null || partnerId === head.partnerId) && (types === null || types.includes(head.type));

function wakeAll(): void {
  for (const { wake } of watchers) wake();
}

/** Wakes the watchers whom the events since the last look concern. */
async function lookOnce(): Promise<void> {
  if (seen === null) {
    seen = (await findLogEnds(lookups)).last;
    wakeAll();
    return;
  }
  const heads = await listEventHeads(lookups, seen, MOST_HEADS);
  const last = heads.at(-1);
  if (last === undefined) return;
  seen = last.position;
  const isFull = heads.length === MOST_HEADS;
  if (isFull) again = true;
  for (const watcher of watchers) {
    if (isFull || heads.some((head) => concerns(watcher, head))) watcher.wake();
  }
}

/** One read for all who wait, however many they are and however often the log is signalled meanwhile. */
async function look(): Promise<void> {
  again = true;
  if (looking) return;
  looking = true;
  try {
    while (again && watchers.size > 0) {
      again = false;
      await lookOnce();
    }
  } catch (error) {
    log.debug({ error: describeError(error) }, "new events could not be read");
    seen = null;
    wakeAll();
  } finally {
    looking = false;
  }
}

/** Wakes `watcher` whenever there may be events for it, from now on until the returned function is called. */
export function watchEvents(watcher: Watcher): () => void {
  if (watchers.size === 0) unsubscribe = onSignal("events", () => void look());
  watchers.add(watcher);
  return () => {
    watchers.delete(watcher);
    if (watchers.size > 0) return;
    unsubscribe();
    seen = null;
  };
}
