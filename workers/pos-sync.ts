import { describeError } from "../lib/process/describe-error.js";
import { decryptEnvelope } from "../lib/security/envelope.js";
import { Snooze } from "../lib/process/errors.js";
import { PosRefused, PosUnavailable, type MenuEnd, type MenuPage, type PosMenuItem } from "../lib/pos/adapter.js";
import { findAdapter } from "../lib/pos/index.js";
import { sql, transaction, type Db } from "../sql/db.js";
import { posCredentialsContext } from "../sql/queries/pos-credentials.js";
import {
  addSyncProgress,
  archiveAbsentItems,
  hasPosItems,
  lockPosCredentials,
  settlePosSync,
  claimPosSync,
  updateSyncPulled,
  upsertPosItems,
  type StartedSync,
  type SyncError,
  type SyncOutcome,
} from "../sql/queries/pos-syncs.js";
import type { Handler, Task } from "./consume.js";

const BATCH = 1_000;
const MOST_ITEMS = 100_000;
const LONGEST_PULL_MS = 10 * 60_000;
/** Waits before the tries that follow one that met no answer; after the last of them the schedule is the next to ask. */
const RETRY_MINUTES = [1, 5, 15, 60];
const LONGEST_RETRY_MS = 60 * 60_000;

type SyncTask = Task<{ syncId: string }>;

/** The menu is longer than we take. */
class MenuTooLarge extends Error {
  override name = "MenuTooLarge";
}

/** The POS sends nothing at all, and our menu has items of its. */
class MenuEmpty extends Error {
  override name = "MenuEmpty";
}

/** The sync was settled, or begun anew, by someone else. */
class Overtaken extends Error {
  override name = "Overtaken";
}

/** What a pull has met so far. */
class Pulled {
  /** Every item that the POS has, those that cannot be taken over too. */
  readonly externalIds = new Set<string>();
  #good = new Set<string>();
  /** Items that the POS sent, whether anyone can tell which they are. */
  sent = 0;
  failed = 0;
  /** An item that nobody can tell which it is: it may be any of ours. */
  nameless = false;

  /** Sorts a page into what is new to this pull and what cannot be taken over. */
  sort({ items, rejected }: MenuPage): { items: PosMenuItem[]; errors: SyncError[] } {
    this.sent += items.length + rejected.length;
    if (this.sent > MOST_ITEMS) throw new MenuTooLarge(`the menu has more than ${MOST_ITEMS} items`);
    const errors: SyncError[] = rejected.map(({ reason, ...item }) => ({ ...item, message: reason }));
    for (const { externalId } of rejected) {
      if (externalId === null) this.nameless = true;
      else this.externalIds.add(externalId);
    }
    const fresh = items.filter((item) => {
      const { externalId, name } = item;
      this.externalIds.add(externalId);
      if (!this.#good.has(externalId)) {
        this.#good.add(externalId);
        return true;
      }
      errors.push({ externalId, name, position: null, message: "another item has the same id" });
      return false;
    });
    return { items: fresh, errors };
  }

  /** Whether what is not in it is known to be gone: where not one item is good, more is wrong than those items. */
  get tellsWhatIsGone(): boolean {
    return !this.nameless && this.#good.size > 0;
  }
}

/** Takes a page over, in batches that are each kept with what they add to the sync's progress. */
async function takeOver(sync: StartedSync, page: MenuPage, pulled: Pulled): Promise<void> {
  const { items, errors } = pulled.sort(page);
  for (let start = 0; start === 0 || start < items.length; start += BATCH) {
    const batch = items.slice(start, start + BATCH);
    await transaction(async (tx) => {
      const kept = batch.length > 0 ? await upsertPosItems(tx, sync.partnerId, batch) : [];
      const failed: SyncError[] = [
        ...(start === 0 ? errors : []),
        ...kept.map((externalId) => ({
          externalId,
          name: batch.find((item) => item.externalId === externalId)?.name ?? null,
          position: null,
          message: "an item that was made by hand or by CSV has this external id",
        })),
      ];
      if (!(await addSyncProgress(tx, sync, batch.length - kept.length, failed))) throw new Overtaken();
      pulled.failed += failed.length;
    });
  }
}

async function pull(sync: StartedSync, signal: AbortSignal): Promise<{ end: MenuEnd; pulled: Pulled }> {
  const adapter = findAdapter(sync.adapter);
  if (!adapter) throw new PosRefused("there is no such adapter any more");
  const credentials: unknown = JSON.parse(decryptEnvelope(sync.sealed, posCredentialsContext(sync.partnerId)));
  if (!adapter.credentials.safeParse(credentials).success)
    throw new PosRefused("the adapter needs other credentials than it did");
  const pulled = new Pulled();
  const pages = adapter.connect(credentials).pullMenu(sync.revision, signal);
  for (let asked = pages.next(); ;) {
    const page = await asked;
    signal.throwIfAborted();
    if (page.done) return { end: page.value, pulled };
    // the POS looks for the next page while this one is taken over
    asked = pages.next();
    asked.catch(() => undefined);
    await takeOver(sync, page.value, pulled);
  }
}

/** Settles the sync with what came of it, and its job with that. Throws Overtaken when it is no longer this start's. */
async function settle(
  sync: StartedSync,
  { done, requestId }: SyncTask,
  outcome: SyncOutcome,
  alsoThen: (tx: Db) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  await transaction(async (tx) => {
    await lockPosCredentials(tx, sync.partnerId);
    await alsoThen(tx);
    if (!(await settlePosSync(tx, sync, outcome, requestId ?? null))) throw new Overtaken();
    await done(tx);
  });
}

/** A sync that went well; the reason says what it left undone. */
const success = (reason: string | null): SyncOutcome => ({ failure: null, reason, retryInMs: null });

const NOT_STANDING: SyncOutcome = {
  failure: "ABANDONED",
  reason: "the partner is suspended or rejected",
  retryInMs: null,
};

/**
 * Ends a sync whose pull was complete. Only such a one tells what the POS does not have any more; one that brought nothing at
 * all tells that something is wrong with the POS, far more often than that everything is gone.
 */
async function settlePulled(sync: StartedSync, task: SyncTask, end: MenuEnd, pulled: Pulled): Promise<void> {
  if (!end.unchanged && pulled.sent === 0 && (await hasPosItems(sql, sync.partnerId)))
    throw new MenuEmpty("the menu of the POS is empty");
  const left =
    end.unchanged || pulled.tellsWhatIsGone
      ? null
      : "nothing was archived, since nobody can tell what is gone: an entry of the menu has no id, or none is good";
  await settle(sync, task, success(left), async (tx) => {
    const { partnerId } = sync;
    const archived =
      end.unchanged || !pulled.tellsWhatIsGone ? 0 : await archiveAbsentItems(tx, partnerId, [...pulled.externalIds]);
    // what failed has to come again, although nothing may change at the POS
    const revision = end.unchanged ? sync.revision : pulled.failed > 0 ? null : end.revision;
    await updateSyncPulled(tx, sync, { archived, unchanged: end.unchanged, revision });
  });
}

/** What became of a sync whose pull broke off; null when the fault is not the POS's. */
function outcomeOf(error: unknown, sync: StartedSync, tookTooLong: boolean): SyncOutcome | null {
  if (error instanceof PosRefused) return { failure: "REFUSED", reason: error.message, retryInMs: null };
  if (error instanceof MenuTooLarge) return { failure: "TOO_LARGE", reason: error.message, retryInMs: null };
  if (error instanceof MenuEmpty) return { failure: "EMPTY", reason: null, retryInMs: null };
  if (!(error instanceof PosUnavailable) && !tookTooLong) return null;
  const asked = error instanceof PosUnavailable ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  const minutes = RETRY_MINUTES[sync.try - 1];
  const wait = Math.min(Math.max(asked, (minutes ?? 0) * 60_000), LONGEST_RETRY_MS);
  return {
    failure: "UNAVAILABLE",
    reason: error instanceof PosUnavailable ? error.message : "the menu takes too long to be read",
    retryInMs: minutes === undefined ? null : wait,
  };
}

export const pullMenu: Handler<{ syncId: string }> = async (task) => {
  const sync = await claimPosSync(sql, task.payload.syncId);
  if (!sync) return;
  const { partnerId, adapter } = sync;
  const limit = AbortSignal.timeout(LONGEST_PULL_MS);
  try {
    if (!sync.mayCallPos) {
      await settle(sync, task, NOT_STANDING);
      return;
    }
    const { end, pulled } = await pull(sync, AbortSignal.any([task.signal, limit]));
    await settlePulled(sync, task, end, pulled);
  } catch (error) {
    if (task.signal.aborted) throw new Snooze(new Date());
    const outcome = outcomeOf(error, sync, limit.aborted);
    if (!outcome) throw error;
    task.log.warn({ partnerId, adapter, error: describeError(error) }, "a menu was not synced");
    await settle(sync, task, outcome);
  }
};
