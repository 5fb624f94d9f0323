import type { ReportProgress } from "../lib/domain/progress.js";
import { describeError } from "../lib/process/describe-error.js";
import { decryptEnvelope } from "../lib/security/envelope.js";
import { Snooze } from "../lib/process/errors.js";
import { Busy, takePlace } from "../lib/outbound/bulkhead.js";
import { recordCall } from "../lib/outbound/vendor-calls.js";
import {
  PosRefused,
  PosSilent,
  PosUnavailable,
  type MenuEnd,
  type MenuPage,
  type PosConnection,
} from "../lib/pos/adapter.js";
import { findAdapter, isVendor } from "../lib/pos/index.js";
import { posSync } from "../queues/index.js";
import { sql, transaction, type Db } from "../sql/db.js";
import { posCredentialsContext } from "../sql/queries/pos-credentials.js";
import { archiveAbsentItems, hasPosItems, upsertPosItems } from "../sql/queries/pos-menu.js";
import {
  addSyncProgress,
  lockPosCredentials,
  settlePosSync,
  claimPosSync,
  requeuePosSync,
  updateSyncPulled,
  type StartedSync,
  type SyncError,
  type SyncOutcome,
} from "../sql/queries/pos-syncs.js";
import type { Handler, Task } from "./consume.js";
import { shareSlots } from "./slots.js";

const BATCH = 1_000;
const MOST_ITEMS = 100_000;
const LONGEST_PULL_MS = 10 * 60_000;
/** Waits before each retry while the POS is unavailable; after the last one the schedule is the next to sync. */
const RETRY_MINUTES = [1, 5, 15, 60];
const LONGEST_RETRY_MS = 60 * 60_000;

const systems = shareSlots(posSync, isVendor);

type SyncTask = Task<{ syncId: string }>;

/** The POS's menu has too many items. */
class MenuTooLarge extends Error {
  override name = "MenuTooLarge";
}

/** The POS sent no items, and the menu has items from it. */
class MenuEmpty extends Error {
  override name = "MenuEmpty";
}

/** Another run has settled or restarted the sync. */
class Overtaken extends Error {
  override name = "Overtaken";
}

/** What a pull has received so far. */
class Pulled {
  /** The ids of all items, also of those that cannot be imported. */
  readonly externalIds = new Set<string>();
  /** The number of items, also of those without an id. */
  sent = 0;
  failed = 0;
  #valid = 0;
  /** Whether an item came without an id: it may be any item of the menu. */
  #withoutId = false;

  add({ items, rejected }: MenuPage): void {
    this.sent += items.length + rejected.length;
    if (this.sent > MOST_ITEMS) throw new MenuTooLarge(`the menu has more than ${MOST_ITEMS} items`);
    this.#valid += items.length;
    for (const { externalId } of [...items, ...rejected]) {
      if (externalId === null) this.#withoutId = true;
      else this.externalIds.add(externalId);
    }
  }

  /** Whether items that were not sent are known to be gone. Without one valid item, the menu as a whole is wrong. */
  get knowsWhatIsGone(): boolean {
    return !this.#withoutId && this.#valid > 0;
  }
}

/** Imports a page in batches, each in a transaction with the sync's progress. */
async function importPage(sync: StartedSync, page: MenuPage, pulled: Pulled): Promise<void> {
  const { items, rejected } = page;
  pulled.add(page);
  for (let start = 0; start === 0 || start < items.length; start += BATCH) {
    const batch = items.slice(start, start + BATCH);
    await transaction(async (tx) => {
      const kept = batch.length > 0 ? await upsertPosItems(tx, sync.partnerId, batch) : [];
      const failed: SyncError[] = [
        ...(start === 0 ? rejected.map(({ reason, ...item }) => ({ ...item, message: reason })) : []),
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

function connect(sync: StartedSync): PosConnection {
  const adapter = findAdapter(sync.adapter);
  if (!adapter) throw new PosRefused("there is no such adapter any more");
  const credentials: unknown = JSON.parse(decryptEnvelope(sync.encrypted, posCredentialsContext(sync.partnerId)));
  if (!adapter.credentials.safeParse(credentials).success)
    throw new PosRefused("the adapter needs other credentials than it did");
  return adapter.connect(credentials);
}

/** Pulls and imports the menu if the POS, and those of other partners, leave a place for it; else puts the sync back. */
async function pull(
  sync: StartedSync,
  { progress }: SyncTask,
  signal: AbortSignal,
): Promise<{ end: MenuEnd; pulled: Pulled }> {
  const connection = connect(sync);
  const place = await takePlace(systems, { origin: connection.origin, owner: sync.partnerId });
  if (place instanceof Busy) {
    await requeuePosSync(sql, sync, place.until);
    throw new Snooze(place.until);
  }
  let answered = true;
  try {
    return await importPages(sync, connection.pullMenu(sync.revision, signal), progress, signal);
  } catch (error) {
    answered = !(error instanceof PosSilent);
    throw error;
  } finally {
    place.leave(answered);
  }
}

async function importPages(
  sync: StartedSync,
  pages: AsyncGenerator<MenuPage, MenuEnd>,
  report: ReportProgress,
  signal: AbortSignal,
): Promise<{ end: MenuEnd; pulled: Pulled }> {
  const pulled = new Pulled();
  for (let asked = pages.next(); ;) {
    const page = await asked;
    signal.throwIfAborted();
    if (page.done) return { end: page.value, pulled };
    // the POS prepares the next page while this one is imported
    asked = pages.next();
    asked.catch(() => undefined);
    await importPage(sync, page.value, pulled);
    report(pulled.sent, sync.itemsExpected);
  }
}

/** Settles the sync and completes its job, in one transaction. Throws Overtaken when another run has the sync. */
async function settle(
  sync: StartedSync,
  { done, requestId }: SyncTask,
  outcome: SyncOutcome,
  effect: (tx: Db) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  await transaction(async (tx) => {
    await lockPosCredentials(tx, sync.partnerId);
    await effect(tx);
    if (!(await settlePosSync(tx, sync, outcome, requestId ?? null))) throw new Overtaken();
    await done(tx);
  });
}

/** The outcome of a successful sync; the reason says what was left undone. */
const success = (reason: string | null): SyncOutcome => ({ failure: null, reason, retryInMs: null });

const PARTNER_BLOCKED: SyncOutcome = {
  failure: "ABANDONED",
  reason: "the partner is suspended or rejected",
  retryInMs: null,
};

/**
 * Settles a sync whose pull was complete: only then is it known which items are gone. A pull without any item fails, as the
 * POS is broken far more often than empty.
 */
async function settlePulled(sync: StartedSync, task: SyncTask, end: MenuEnd, pulled: Pulled): Promise<void> {
  if (!end.unchanged && pulled.sent === 0 && (await hasPosItems(sql, sync.partnerId)))
    throw new MenuEmpty("the menu of the POS is empty");
  const left =
    end.unchanged || pulled.knowsWhatIsGone
      ? null
      : "nothing was archived, as it is unknown what is gone: an entry of the menu has no id, or none is valid";
  await settle(sync, task, success(left), async (tx) => {
    const { partnerId } = sync;
    const archived =
      end.unchanged || !pulled.knowsWhatIsGone ? 0 : await archiveAbsentItems(tx, partnerId, [...pulled.externalIds]);
    // failed items must be sent again, even if nothing changes at the POS
    const revision = end.unchanged ? sync.revision : pulled.failed > 0 ? null : end.revision;
    await updateSyncPulled(tx, sync, { archived, unchanged: end.unchanged, revision });
  });
}

/** Returns the outcome of a sync whose pull failed; null when the POS is not the cause. */
function outcomeOf(error: unknown, sync: StartedSync, tookTooLong: boolean): SyncOutcome | null {
  if (error instanceof PosRefused) return { failure: "REFUSED", reason: error.message, retryInMs: null };
  if (error instanceof MenuTooLarge) return { failure: "TOO_LARGE", reason: error.message, retryInMs: null };
  if (error instanceof MenuEmpty) return { failure: "EMPTY", reason: null, retryInMs: null };
  if (!(error instanceof PosUnavailable) && !tookTooLong) return null;
  const asked = error instanceof PosUnavailable ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  const minutes = RETRY_MINUTES[sync.attempt - 1];
  const wait = Math.min(Math.max(asked, (minutes ?? 0) * 60_000), LONGEST_RETRY_MS);
  return {
    failure: "UNAVAILABLE",
    reason: error instanceof PosUnavailable ? error.message : "the menu takes too long to be read",
    retryInMs: minutes === undefined ? null : wait,
  };
}

/** Syncs a menu with its POS: a failure of the POS settles the sync, and only other errors fail the job. */
export const syncMenu: Handler<{ syncId: string }> = async (task) => {
  const sync = await claimPosSync(sql, task.payload.syncId);
  if (!sync) return;
  const { partnerId, adapter } = sync;
  const limit = AbortSignal.timeout(LONGEST_PULL_MS);
  try {
    if (!sync.mayCallPos) {
      await settle(sync, task, PARTNER_BLOCKED);
      return;
    }
    const { end, pulled } = await pull(sync, task, AbortSignal.any([task.signal, limit]));
    recordCall(`POS: ${adapter}`, false);
    await settlePulled(sync, task, end, pulled);
    task.progress(pulled.sent, pulled.sent);
  } catch (error) {
    if (error instanceof Snooze) throw error;
    if (task.signal.aborted) throw new Snooze(new Date());
    const outcome = outcomeOf(error, sync, limit.aborted);
    if (!outcome) throw error;
    recordCall(`POS: ${adapter}`, outcome.failure === "UNAVAILABLE");
    task.log.warn({ partnerId, adapter, error: describeError(error) }, "a menu sync failed");
    await settle(sync, task, outcome);
  }
};
