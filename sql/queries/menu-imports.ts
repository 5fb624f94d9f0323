import type { Enum } from "../../lib/domain/enums.js";
import { limits } from "../../lib/domain/limits.js";
import type { Delimiter, MenuColumn, MenuRow } from "../../lib/menu-csv/menu-csv.js";
import type { Db } from "../db.js";
import { countRows, firstRow, hasRows, onlyRow, onlyValue } from "../rows.js";

export type MenuImportStatus = Enum<"menuImportStatus">;

export interface NewMenuImport {
  partnerId: string;
  fileKey: string;
  size: number;
  columns: readonly MenuColumn[];
  delimiter: Delimiter;
  /** Bytes before the first row, and line ends in them (`lines`). */
  position: number;
  lines: number;
}

/** Inserts an import; returns its id. */
export const insertMenuImport = (db: Db, menu: NewMenuImport) =>
  onlyValue(db<{ id: string }[]>`
    insert into menu_imports (partner_id, file_key, size, columns, delimiter, position, lines)
    values (
      ${menu.partnerId}::uuid, ${menu.fileKey}, ${menu.size}::bigint, ${[...menu.columns]}::text[], ${menu.delimiter},
      ${menu.position}::bigint, ${menu.lines}::integer
    )
    returning id`);

/** Locks a partner's imports until the transaction ends: no other one begins. */
export const lockMenuImports = (tx: Db, partnerId: string) =>
  tx`select from pg_advisory_xact_lock(hashtextextended('menu imports ' || ${partnerId}::text, 0))`;

/** Counts a partner's imports that wait or run. */
export const countOpenImports = (db: Db, partnerId: string) =>
  onlyValue(db<{ open: number }[]>`
    select count(*)::integer as open
    from menu_imports i
    where i.partner_id = ${partnerId}::uuid and i.settled_at is null
      and exists (select from open_jobs j where j.id = i.job_id)`);

/** Records the job of an import. */
export const updateMenuImportJob = (db: Db, id: string, jobId: string) =>
  db`update menu_imports set job_id = ${jobId}::bigint where id = ${id}::uuid`;

export interface MenuImportRow {
  id: string;
  status: MenuImportStatus;
  size: number;
  position: number;
  created: number;
  updated: number;
  failed: number;
  /** The first of them, as `[{line, column, message}]`. */
  errors: unknown;
  failure: string | null;
  failureLine: number | null;
  startedAt: Date | null;
}

/** Finds an import of a partner. */
export const findMenuImport = (db: Db, id: string, partnerId: string) =>
  firstRow(db<MenuImportRow[]>`
    select id, status, size, position, rows_created as created, rows_updated as updated, rows_failed as failed, errors,
           failure, failure_line, started_at
    from menu_imports
    where id = ${id}::uuid and partner_id = ${partnerId}::uuid`);

/** How far a job is, by the row that it works on. */
export interface WorkProgress {
  done: number;
  total: number;
  startedAt: Date | null;
}

/** Finds how far an open import is, in bytes of its file. */
export const findImportProgress = (db: Db, id: string) =>
  firstRow(db<WorkProgress[]>`
    select position as done, size as total, started_at from menu_imports where id = ${id}::uuid and settled_at is null`);

/** What the worker needs of an import. */
export interface MenuImportWork {
  partnerId: string;
  status: MenuImportStatus;
  fileKey: string;
  size: number;
  columns: string[];
  delimiter: string;
  position: number;
  lines: number;
  /** Rows processed so far, and how many of them clashed (`importMenuRows`). */
  rows: number;
  repeated: number;
}

/** Finds an import for its worker. */
export const findMenuImportWork = (db: Db, id: string) =>
  firstRow(db<MenuImportWork[]>`
    select partner_id, status, file_key, size, columns, delimiter, position, lines,
           coalesce(rows_created + rows_updated + rows_failed, 0) as rows, rows_repeated as repeated
    from menu_imports
    where id = ${id}::uuid`);

/** Lists up to `limit` partners with an abandoned import: its job has ended without settling it. */
export const listPartnersWithAbandonedImports = async (db: Db, limit: number): Promise<string[]> =>
  (
    await db<{ partnerId: string }[]>`
      select distinct partner_id
      from menu_imports i
      where i.settled_at is null
        and not exists (select from open_jobs j where j.id = i.job_id)
      limit ${limit}`
  ).map(({ partnerId }) => partnerId);

/** Settles a partner's abandoned imports as FAILED; returns them, with their files, which may be deleted. */
export const settleAbandonedImports = (db: Db, partnerId: string, failure: string) =>
  db<{ id: string; fileKey: string }[]>`
    update menu_imports i
    set status = 'FAILED', failure = ${failure}, settled_at = now()
    where i.partner_id = ${partnerId}::uuid and i.status in ('QUEUED', 'RUNNING')
      and not exists (select from open_jobs j where j.id = i.job_id)
    returning i.id, i.file_key`;

/** Counts the imports of the same partner that run before this one: those that are RUNNING, and older ones that are QUEUED. */
export const countImportsAhead = (db: Db, id: string, partnerId: string) =>
  onlyValue(db<{ ahead: number }[]>`
    select count(*) as ahead
    from menu_imports
    where partner_id = ${partnerId}::uuid and id <> ${id}::uuid
      and (status = 'RUNNING' or (status = 'QUEUED' and id < ${id}::uuid))`);

/** Marks a queued import RUNNING; false when it is not QUEUED. A unique violation while another import of the partner runs. */
export const updateMenuImportStarted = (db: Db, id: string) =>
  hasRows(db`
    update menu_imports set status = 'RUNNING', started_at = coalesce(started_at, now()) where id = ${id}::uuid and status = 'QUEUED'`);

/** Whether an import of another partner waits for a worker. */
export const doesAnotherWait = (db: Db, partnerId: string) =>
  hasRows(db`
    select from menu_imports i
    where i.settled_at is null and i.status = 'QUEUED' and i.partner_id <> ${partnerId}::uuid
      and exists (select from open_jobs j where j.id = i.job_id)
      and not exists (select from menu_imports r where r.partner_id = i.partner_id and r.status = 'RUNNING')
    limit 1`);

/** Puts a running import back into its queue. */
export const updateMenuImportQueued = (db: Db, id: string) =>
  db`update menu_imports set status = 'QUEUED' where id = ${id}::uuid and status = 'RUNNING'`;

/** Locks a running import until the transaction ends; false when it is not RUNNING or not at `position`. */
export const lockRunningImport = (db: Db, id: string, position: number) =>
  hasRows(db`
    select from menu_imports
    where id = ${id}::uuid and status = 'RUNNING' and position = ${position}::bigint
    for update`);

/** The result of importing rows. */
export interface ImportedRows {
  created: number;
  updated: number;
  /** Rows that clashed: they share an item with another row, and were imported one by one. */
  repeated: number;
  /** Positions, from 1, of the rows that were refused: their item belongs to the partner's POS. */
  ofPos: number[];
  /** They would be one item too many. */
  withoutRoom: number[];
  /** They clash once too often. */
  beyondRepeats: number[];
}

/** How many items rows may create, and how many of them may clash. */
export interface ImportBounds {
  room: number;
  repeats: number;
}

/** Imports rows into a partner's menu, with the result of importing them one by one. Items keep what the file has no column for. */
export const importMenuRows = (
  db: Db,
  partnerId: string,
  rows: readonly MenuRow[],
  columns: readonly MenuColumn[],
  { room, repeats }: ImportBounds,
) =>
  onlyRow(db<ImportedRows[]>`
    select coalesce(created, 0) as created, coalesce(updated, 0) as updated, coalesce(repeated, 0) as repeated,
           coalesce(of_pos, '{}') as of_pos, coalesce(without_room, '{}') as without_room,
           coalesce(beyond_repeats, '{}') as beyond_repeats
    from import_menu_rows(
      ${partnerId}::uuid,
      array(
        select row(r.category, r.name, r.price, r.external_id, r.description, r.weight, r.available)::menu_row
        from unnest(
          ${rows.map(({ category }) => category)}::text[],
          ${rows.map(({ name }) => name)}::text[],
          ${rows.map(({ priceMinor }) => priceMinor)}::bigint[],
          ${rows.map(({ externalId }) => externalId)}::text[],
          ${rows.map(({ description }) => description)}::text[],
          ${rows.map(({ weightGrams }) => weightGrams)}::integer[],
          ${rows.map(({ available }) => available)}::boolean[]
        ) with ordinality as r (category, name, price, external_id, description, weight, available, place)
        order by r.place
      ),
      ${columns.includes("description")}::boolean,
      ${columns.includes("weightGrams")}::boolean,
      ${room}::integer,
      ${repeats}::integer
    )`);

/** A rejected row, or the reason for which an import ended. */
export interface MenuImportError {
  line: number;
  column: string | null;
  message: string;
}

/** An import's new position, and what was counted since the last one. */
export interface MenuImportProgress {
  position: number;
  lines: number;
  created: number;
  updated: number;
  failed: number;
  repeated: number;
  errors: readonly MenuImportError[];
}

/** Advances an import that `lockRunningImport` has locked; keeps the first of its errors, up to their limit. */
export function updateMenuImportAdvanced(db: Db, id: string, progress: MenuImportProgress) {
  const most = limits.menuFile.errors;
  const errors = progress.errors.slice(0, most).map((error) => ({ ...error }));
  return db`
    update menu_imports
    set position = ${progress.position}::bigint,
        lines = ${progress.lines}::integer,
        rows_created = rows_created + ${progress.created}::integer,
        rows_updated = rows_updated + ${progress.updated}::integer,
        rows_failed = rows_failed + ${progress.failed}::integer,
        rows_repeated = rows_repeated + ${progress.repeated}::integer,
        errors = case
          when ${errors.length === 0}::boolean or jsonb_array_length(errors) >= ${most}::integer then errors
          else jsonb_path_query_array(
            errors || ${db.json(errors)}::jsonb, '$[0 to $most - 1]', jsonb_build_object('most', ${most}::integer)
          )
        end
    where id = ${id}::uuid`;
}

/** Why an import ended before the end of its file; the line is null when the file is not at fault. */
export interface MenuImportFailure {
  message: string;
  line: number | null;
}

/** Settles an open import, as DONE or as FAILED; false when it is settled already. */
export const updateMenuImportSettled = (db: Db, id: string, failure: MenuImportFailure | null) =>
  hasRows(db`
    update menu_imports
    set status = ${failure ? "FAILED" : "DONE"}::menu_import_status, failure = ${failure?.message ?? null},
        failure_line = ${failure?.line ?? null}::integer, settled_at = now()
    where id = ${id}::uuid and status in ('QUEUED', 'RUNNING')`);

/** Makes the job of a partner's next import due now, if it waits. */
export const bringNextImportForward = (db: Db, partnerId: string) =>
  db`
    select from bring_job_forward(
      (select job_id from menu_imports where partner_id = ${partnerId}::uuid and status = 'QUEUED' order by id limit 1)
    )`;

/** Deletes up to `limit` imports that are 30 days old and settled; returns their number. */
export const deleteOldMenuImports = (db: Db, limit: number) =>
  countRows(db`
    delete from menu_imports
    where id = any (array(
      select id from menu_imports
      where created_at < now() - interval '30 days' and settled_at is not null
      order by created_at
      limit ${limit}
    ))`);
