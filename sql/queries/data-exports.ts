import type { Enum } from "../../lib/domain/enums.js";
import type { Db } from "../db.js";
import { firstRow, hasRows, onlyRow } from "../rows.js";

export interface DataExport {
  id: string;
  /** The name of its file. */
  name: string;
  status: Enum<"exportStatus">;
  createdAt: Date;
  expiresAt: Date;
}

/** Locks a user's exports until the transaction `tx` ends: no other one begins. */
export const lockDataExports = (tx: Db, userId: string) =>
  tx`select from pg_advisory_xact_lock(hashtextextended('exports ' || ${userId}::text, 0))`;

/** Finds a user's latest export that has not expired. */
export const findDataExport = (db: Db, userId: string) =>
  firstRow(db<DataExport[]>`
    select id, name, status, created_at, expires_at
    from data_exports
    where user_id = ${userId}::uuid and expires_at > now()
    order by id desc
    limit 1`);

/** Counts a user's exports of the last 24 hours; `nextInSeconds` is when the oldest of them is that old. */
export const countDataExports = (db: Db, userId: string) =>
  onlyRow(db<{ exports: number; nextInSeconds: number }[]>`
    select count(*)::integer as exports,
           coalesce(ceil(extract(epoch from min(created_at) + interval '1 day' - now())), 0)::integer as next_in_seconds
    from data_exports
    where user_id = ${userId}::uuid and created_at > now() - interval '1 day'`);

/** Inserts an export; undefined when the account does not exist. */
export const insertDataExport = (db: Db, userId: string, name: string) =>
  firstRow(db<DataExport[]>`
    insert into data_exports (user_id, name, expires_at)
    select id, ${name}, now() + interval '1 day'
    from users
    where id = ${userId}::uuid and deleted_at is null
    returning id, name, status, created_at, expires_at`);

/** Finds an export that is to be made; undefined when it is settled, deleted, or its account is. */
export const findOpenDataExport = (db: Db, id: string) =>
  firstRow(db<{ userId: string; name: string }[]>`
    select e.user_id, e.name
    from data_exports e
    join users u on u.id = e.user_id and u.deleted_at is null
    where e.id = ${id}::uuid and e.status = 'QUEUED' and e.expires_at > now()`);

/** Settles an export whose file is in storage, for three days; false when it is settled, has expired or is deleted. */
export const updateDataExportReady = (db: Db, id: string) =>
  hasRows(db`
    update data_exports set status = 'READY', settled_at = now(), expires_at = now() + interval '3 days'
    where id = ${id}::uuid and status = 'QUEUED' and expires_at > now()`);

/** Settles an export that could not be made; false when it is settled or deleted. */
export const updateDataExportFailed = (db: Db, id: string) =>
  hasRows(db`
    update data_exports set status = 'FAILED', settled_at = now() where id = ${id}::uuid and status = 'QUEUED'`);

/** Whether an export exists; waits for a concurrent delete of it to finish. */
export const dataExportStillExists = (db: Db, id: string) =>
  hasRows(db`select from data_exports where id = ${id}::uuid for key share`);

/** Deletes up to `limit` expired exports. The caller deletes their files in the same transaction. */
export const deleteExpiredDataExports = (db: Db, limit: number) =>
  db<{ name: string }[]>`
    delete from data_exports
    where id = any (array(
      select id from data_exports where expires_at < now() order by expires_at limit ${limit} for update skip locked
    ))
    returning name`;
