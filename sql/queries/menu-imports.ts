import type { Enum } from "../../lib/domain/enums.js";
import type { Delimiter, MenuColumn, MenuRow } from "../../lib/menu-csv/menu-csv.js";
import type { Db } from "../db.js";

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
export async function insertMenuImport(db: Db, menu: NewMenuImport): Promise<string> {
  const [row] = await db<{ id: string }[]>`
    insert into menu_imports (partner_id, file_key, size, columns, delimiter, position, lines)
    values (
      ${menu.partnerId}::uuid, ${menu.fileKey}, ${menu.size}::bigint, ${[...menu.columns]}::text[], ${menu.delimiter},
      ${menu.position}::bigint, ${menu.lines}::integer
    )
    returning id`;
  if (!row) throw new Error("no menu import was inserted");
  return row.id;
}

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
  /** The first 1,000, as `[{line, column, message}]`. */
  errors: unknown;
  failure: string | null;
  failureLine: number | null;
}

/** Finds an import of a partner. */
export const findMenuImport = async (db: Db, id: string, partnerId: string) =>
  (
    await db<MenuImportRow[]>`
      select id, status, size, position, rows_created as created, rows_updated as updated, rows_failed as failed, errors,
             failure, failure_line as "failureLine"
      from menu_imports
      where id = ${id}::uuid and partner_id = ${partnerId}::uuid`
  )[0];

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
  /** Rows processed so far. */
  rows: number;
}

/** Finds an import for its worker. */
export const findMenuImportWork = async (db: Db, id: string) =>
  (
    await db<MenuImportWork[]>`
      select partner_id as "partnerId", status, file_key as "fileKey", size, columns, delimiter, position, lines,
             coalesce(rows_created + rows_updated + rows_failed, 0) as rows
      from menu_imports
      where id = ${id}::uuid`
  )[0];

/** Lists up to `limit` partners with an abandoned import: its job has ended without settling it. */
export const listPartnersWithAbandonedImports = async (db: Db, limit: number): Promise<string[]> =>
  (
    await db<{ partnerId: string }[]>`
      select distinct partner_id as "partnerId"
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
    returning i.id, i.file_key as "fileKey"`;

/** Counts the imports of the same partner that run before this one: those that are RUNNING, and older ones that are QUEUED. */
export async function countImportsAhead(db: Db, id: string, partnerId: string): Promise<number> {
  const [row] = await db<{ ahead: number }[]>`
    select count(*) as ahead
    from menu_imports
    where partner_id = ${partnerId}::uuid and id <> ${id}::uuid
      and (status = 'RUNNING' or (status = 'QUEUED' and id < ${id}::uuid))`;
  return row?.ahead ?? 0;
}

/** Marks a queued import RUNNING; false when it is not QUEUED. A unique violation while another import of the partner runs. */
export async function updateMenuImportStarted(db: Db, id: string): Promise<boolean> {
  const { count } = await db`
    update menu_imports set status = 'RUNNING' where id = ${id}::uuid and status = 'QUEUED'`;
  return count === 1;
}

/** Locks a running import until the transaction ends; false when it is not RUNNING or not at `position`. */
export async function claimMenuImport(db: Db, id: string, position: number): Promise<boolean> {
  const { count } = await db`
    select from menu_imports
    where id = ${id}::uuid and status = 'RUNNING' and position = ${position}::bigint
    for update`;
  return count === 1;
}

/** The result of importing rows. */
export interface ImportedRows {
  created: number;
  updated: number;
  /** Positions, from 1, of the rows whose item belongs to the partner's POS. */
  refused: number[];
}

/** Imports rows into a partner's menu, with the result of importing them one by one. Items keep what the file has no column for. */
export async function importMenuRows(
  db: Db,
  partnerId: string,
  rows: readonly MenuRow[],
  columns: readonly MenuColumn[],
): Promise<ImportedRows> {
  const [imported] = await db<{ created: number | null; updated: number | null; refused: number[] | null }[]>`
    select created, updated, refused
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
      ${columns.includes("weightGrams")}::boolean
    )`;
  return { created: imported?.created ?? 0, updated: imported?.updated ?? 0, refused: imported?.refused ?? [] };
}

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
  errors: readonly MenuImportError[];
}

/** Advances an import that `claimMenuImport` has locked; keeps the first 1,000 of its errors. */
export const updateMenuImportAdvanced = (db: Db, id: string, progress: MenuImportProgress) =>
  db`
    update menu_imports
    set position = ${progress.position}::bigint,
        lines = ${progress.lines}::integer,
        rows_created = rows_created + ${progress.created}::integer,
        rows_updated = rows_updated + ${progress.updated}::integer,
        rows_failed = rows_failed + ${progress.failed}::integer,
        errors = case
          when ${progress.errors.length === 0}::boolean or jsonb_array_length(errors) >= 1000 then errors
          else jsonb_path_query_array(errors || ${db.json(progress.errors.slice(0, 1_000).map((error) => ({ ...error })))}::jsonb, '$[0 to 999]')
        end
    where id = ${id}::uuid`;

/** Why an import ended before the end of its file; the line is null when the file is not at fault. */
export interface MenuImportFailure {
  message: string;
  line: number | null;
}

/** Settles an open import, as DONE or as FAILED; false when it is settled already. */
export async function updateMenuImportSettled(db: Db, id: string, failure: MenuImportFailure | null): Promise<boolean> {
  const { count } = await db`
    update menu_imports
    set status = ${failure ? "FAILED" : "DONE"}::menu_import_status, failure = ${failure?.message ?? null},
        failure_line = ${failure?.line ?? null}::integer, settled_at = now()
    where id = ${id}::uuid and status in ('QUEUED', 'RUNNING')`;
  return count === 1;
}

/** Makes the job of a partner's next import due now, if it waits. */
export const bringNextImportForward = (db: Db, partnerId: string) =>
  db`
    select from bring_job_forward(
      (select job_id from menu_imports where partner_id = ${partnerId}::uuid and status = 'QUEUED' order by id limit 1)
    )`;

/** Deletes up to `limit` imports that are 30 days old and settled; returns their number. */
export async function deleteOldMenuImports(db: Db, limit: number): Promise<number> {
  const { count } = await db`
    delete from menu_imports
    where id in (
      select id from menu_imports
      where created_at < now() - interval '30 days' and settled_at is not null
      order by created_at
      limit ${limit}
    )`;
  return count;
}
