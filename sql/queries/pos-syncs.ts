import type { Enum } from "../../lib/domain/enums.js";
import type { Db } from "../db.js";
import { countRows, firstRow, hasRows } from "../rows.js";
import type { WorkProgress } from "./menu-imports.js";

/** Requests a sync of a partner's menu, or joins the open one; returns its id, or undefined when the partner has no POS, or is suspended or rejected. `byUser`: a user waits for it. */
export async function requestPosSync(
  db: Db,
  partnerId: string,
  { byUser, requestId }: { byUser: boolean; requestId: string | null },
): Promise<string | undefined> {
  const [row] = await db<{ id: string | null }[]>`
    select request_pos_sync(${partnerId}::uuid, ${byUser}::boolean, ${requestId}::text)::uuid as id`;
  return row?.id ?? undefined;
}

export type PosSyncFailure = Enum<"posSyncFailure">;

export interface PosSyncRow {
  id: string;
  status: Enum<"posSyncStatus">;
  itemsExpected: number | null;
  itemsSynced: number;
  itemsFailed: number;
  itemsArchived: number;
  unchanged: boolean;
  /** [{externalId, name, position, message}]; old rows have no name and no position. */
  errors: unknown;
  failure: PosSyncFailure | null;
  reason: string | null;
  createdAt: Date;
  startedAt: Date | null;
  settledAt: Date | null;
}

/** Finds one of the partner's syncs. */
export const findPosSync = (db: Db, partnerId: string, id: string) =>
  firstRow(db<PosSyncRow[]>`
    select id, status, items_expected, items_synced, items_failed, items_archived, unchanged, errors, failure, reason,
           created_at, started_at, settled_at
    from pos_syncs
    where id = ${id}::uuid and partner_id = ${partnerId}::uuid`);

/** Finds how far an open sync is, in items; their number is that of the sync before, 0 when there was none. */
export const findSyncProgress = (db: Db, id: string) =>
  firstRow(db<WorkProgress[]>`
    select coalesce(items_synced + items_failed, 0) as done, coalesce(items_expected, 0) as total, started_at
    from pos_syncs
    where id = ${id}::uuid and settled_at is null`);

/** A started sync. */
export interface StartedSync {
  id: string;
  partnerId: string;
  /** The number of this start; an earlier start may not continue. */
  run: number;
  attempt: number;
  adapter: string;
  encrypted: string;
  revision: string | null;
  /** The items from the POS that the menu has. */
  itemsExpected: number | null;
  /** False when the partner is suspended or rejected. */
  mayCallPos: boolean;
}

/** Claims a sync and starts it from the beginning, even if another worker is running it; undefined when it is settled. */
export const claimPosSync = (db: Db, id: string) =>
  firstRow(db<StartedSync[]>`
    with claimed as (
      update pos_syncs s
      set status = 'RUNNING', run = s.run + 1, again = false, items_synced = 0, items_failed = 0, items_archived = 0,
          errors = '[]', started_at = now(),
          items_expected = (
            select count(*) from menu_items m
            where m.partner_id = s.partner_id and m.source = 'POS' and m.archived_at is null
          )
      from pos_credentials c
      where s.id = ${id}::uuid and s.settled_at is null and c.partner_id = s.partner_id
      returning s.id, s.partner_id, s.run, s.attempt, s.items_expected, c.adapter, c.encrypted, c.revision
    )
    select c.id, c.partner_id, c.run, c.attempt, c.items_expected, c.adapter, c.encrypted, c.revision,
           coalesce(p.status in ('PENDING_REVIEW', 'ACTIVE'), false) as may_call_pos
    from claimed c
    join partners p on p.id = c.partner_id`);

/** Puts a started sync back into the queue. */
export const requeuePosSync = (db: Db, { id, run }: Pick<StartedSync, "id" | "run">, startAt: Date) =>
  db`
    update pos_syncs set status = 'QUEUED', start_at = ${startAt}
    where id = ${id}::uuid and run = ${run}::integer and settled_at is null`;

/** An item that was not imported. */
export interface SyncError {
  externalId: string | null;
  /** Its name in the POS; null when it has none that can be read. */
  name: string | null;
  /** The position of its entry in the POS's menu, from 1; null when unknown. */
  position: number | null;
  message: string;
}

/** How many errors a sync stores; all are counted. */
const MAX_ERRORS = 200;

/**
 * Adds to a sync's counts, and so locks it until `tx` ends; false when it was settled or started again: then this start must
 * stop.
 */
export function addSyncProgress(
  tx: Db,
  { id, run }: Pick<StartedSync, "id" | "run">,
  synced: number,
  errors: readonly SyncError[],
) {
  const shown = errors.slice(0, MAX_ERRORS).map((error) => ({ ...error }));
  return hasRows(tx`
    update pos_syncs
    set items_synced = items_synced + ${synced}::integer, items_failed = items_failed + ${errors.length}::integer,
        errors = case when jsonb_array_length(errors) < ${MAX_ERRORS}::integer then errors || ${tx.json(shown)} else errors end
    where id = ${id}::uuid and run = ${run}::integer and settled_at is null`);
}

/** Records a complete pull: how many items were archived, whether nothing had changed, and the revision that the next one starts from. */
export const updateSyncPulled = (
  tx: Db,
  { id, partnerId }: Pick<StartedSync, "id" | "partnerId">,
  { archived, unchanged, revision }: { archived: number; unchanged: boolean; revision: string | null },
) =>
  tx`
    with known as (
      update pos_credentials set revision = ${revision}::text where partner_id = ${partnerId}::uuid
    )
    update pos_syncs set items_archived = ${archived}::integer, unchanged = ${unchanged}::boolean where id = ${id}::uuid`;

export interface SyncOutcome {
  failure: PosSyncFailure | null;
  /** Details for the partner; null when `failure` says enough. */
  reason: string | null;
  /** Milliseconds until an automatic retry; null: none. */
  retryInMs: number | null;
}

/** Settles a sync, signals its waiting requests, and inserts the next sync if there is to be one; false when it was settled or started again. */
export const settlePosSync = (
  tx: Db,
  { id, run }: Pick<StartedSync, "id" | "run">,
  { failure, reason, retryInMs }: SyncOutcome,
  requestId: string | null,
) =>
  hasRows(tx`
    select
    from settle_pos_sync(
      ${id}::uuid, ${run}::integer, ${failure === null ? "DONE" : "FAILED"}::pos_sync_status,
      ${failure}::pos_sync_failure, ${reason}::text, now() + make_interval(secs => ${retryInMs}::float8 / 1000),
      ${requestId}::text
    ) as settled
    where settled`);

/** Locks a partner's credentials, and with them the changes of its POS menu, until `tx` ends. */
export const lockPosCredentials = (tx: Db, partnerId: string) =>
  tx`select from pos_credentials where partner_id = ${partnerId}::uuid for no key update`;

/** Requests the syncs of up to `limit` partners that are due by schedule; returns their number. */
export const requestDueSyncs = (db: Db, limit: number) =>
  countRows(db<{ id: string | null }[]>`
    with due as (
      select partner_id from pos_credentials where next_sync_at <= now() order by next_sync_at limit ${limit}
      for no key update skip locked
    ), scheduled as (
      update pos_credentials c set next_sync_at = next_pos_sync(c.partner_id, now())
      where c.partner_id = any (array(select partner_id from due))
      returning c.partner_id
    )
    select request_pos_sync(partner_id, false, null)::uuid as id from scheduled`);

/** Settles up to `limit` syncs without an open job as ABANDONED, so that new ones can start; returns their number. */
export const settleAbandonedSyncs = (db: Db, limit: number) =>
  countRows(db<{ settled: boolean | null }[]>`
    select settle_pos_sync(s.id, null, 'FAILED', 'ABANDONED', null, null, null)::boolean as settled
    from pos_syncs s
    where s.settled_at is null and not exists (select from open_jobs j where j.id = s.job_id)
    limit ${limit}`);

/** Deletes up to `limit` syncs that were settled 30 days ago; returns their number. */
export const deleteOldPosSyncs = (db: Db, limit: number) =>
  countRows(db`
    delete from pos_syncs
    where id = any (array(
      select id from pos_syncs where settled_at < now() - interval '30 days' order by settled_at limit ${limit}
      for update skip locked
    ))`);
