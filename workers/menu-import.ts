import { Readable } from "node:stream";
import { config } from "../lib/process/config.js";
import { PermanentError, Snooze } from "../lib/process/errors.js";
import { files } from "../lib/storage/file-store.js";
import { limits } from "../lib/domain/limits.js";
import { menuColumns, type MenuHeader } from "../lib/menu-csv/menu-csv.js";
import { readBatches, type Batch, type Ending } from "../lib/menu-csv/menu-csv-batches.js";
import { menuImport } from "../queues/index.js";
import { isUniqueViolation, sql, transaction, type Db } from "../sql/db.js";
import { addOwnItems, deleteUnusedCategories, findOwnItems } from "../sql/queries/menu.js";
import {
  countImportsAhead,
  doesAnotherWait,
  findMenuImportWork,
  bringNextImportForward,
  importMenuRows,
  listPartnersWithAbandonedImports,
  settleAbandonedImports,
  lockRunningImport,
  updateMenuImportAdvanced,
  updateMenuImportQueued,
  updateMenuImportSettled,
  updateMenuImportStarted,
  type ImportBounds,
  type MenuImportFailure,
  type MenuImportWork,
} from "../sql/queries/menu-imports.js";
import { signal } from "../sql/signals.js";
import type { Handler, Task } from "./consume.js";

/**
 * Rows per transaction: as fast as 5,000, and few enough where all change one item, as each must step over the dead versions
 * that earlier ones left. Each further attempt takes half as many: a batch that timed out once would do so again.
 */
const BATCH_ROWS = 1_000;
const batchRowsOf = (attempt: number) => Math.max(1, Math.floor(BATCH_ROWS / 2 ** (attempt - 1)));
/** Rows after which an import lets one of another partner run first, if one waits; each row that repeats takes as long as ten. */
const ROWS_IN_TURN = 10_000;
const ROWS_PER_REPEAT = 10;
/** How long an import waits for each earlier one of its partner, and at most. */
const TURN_MS = 1_000;
const LONGEST_TURN_MS = 30_000;
/** How long a run waits when another run of its job has overtaken it. */
const OVERTAKEN_MS = 5_000;

const GIVEN_UP = "the import failed for an internal reason: please send the file again";
const OWNED_BY_POS = "the item belongs to the point-of-sale system: change it there";
const WITHOUT_ROOM = `a menu may have at most ${config.MENU_ITEMS} items, archived ones too`;
const BEYOND_REPEATS = `more than ${config.REPEATED_ROWS} rows name an item of another row: name each item once`;

type ImportTask = Task<{ importId: string }>;

const inMs = (ms: number) => new Date(Date.now() + ms);

/** Fails those of a partner's imports that have no job any more, so that the others can run. */
async function settleAbandoned(partnerId: string): Promise<void> {
  for (const { id, fileKey } of await settleAbandonedImports(sql, partnerId, GIVEN_UP)) {
    await files.delete(fileKey);
    await signal(sql, "menu-import", id);
  }
}

/** Fails the imports whose jobs died without settling them, such as those that crash their process; returns how many partners had any. */
export async function settleAllAbandoned(db: Db, limit: number): Promise<number> {
  const partnerIds = await listPartnersWithAbandonedImports(db, limit);
  for (const partnerId of partnerIds) await settleAbandoned(partnerId);
  return partnerIds.length;
}

/** Starts an import as the only running one of its partner; snoozes while earlier ones are open. */
async function begin(importId: string, { partnerId }: MenuImportWork): Promise<void> {
  await settleAbandoned(partnerId);
  const ahead = await countImportsAhead(sql, importId, partnerId);
  if (ahead > 0) throw new Snooze(inMs(Math.min(ahead * TURN_MS, LONGEST_TURN_MS)));
  try {
    await updateMenuImportStarted(sql, importId);
  } catch (error) {
    // another one has begun since
    if (isUniqueViolation(error)) throw new Snooze(inMs(TURN_MS));
    throw error;
  }
}

function headerOf({ columns, delimiter, position, lines }: MenuImportWork): MenuHeader {
  const known = menuColumns.filter((column) => columns.includes(column));
  if (known.length !== columns.length) throw new PermanentError("the import has columns of another version");
  return {
    columns: known.sort((one, other) => columns.indexOf(one) - columns.indexOf(other)),
    delimiter: delimiter === ";" ? ";" : ",",
    position,
    lines,
  };
}

/**
 * Imports a batch within `bounds` and advances the import past it, in one transaction; returns what is left of the bounds.
 * Snoozes when another run of the job has done so.
 */
const save = (
  importId: string,
  partnerId: string,
  columns: MenuHeader["columns"],
  { from, rows, rejected, position, lines }: Batch,
  bounds: ImportBounds,
): Promise<ImportBounds> =>
  transaction(async (tx) => {
    if (!(await lockRunningImport(tx, importId, from.position))) throw new Snooze(inMs(OVERTAKEN_MS));
    const imported = await importMenuRows(tx, partnerId, rows, columns, bounds);
    const { created, updated, repeated } = imported;
    const refused = (places: readonly number[], message: string) =>
      places.flatMap((place) => {
        const row = rows[place - 1];
        return row ? [{ line: row.line, column: null, message }] : [];
      });
    const errors = [
      ...rejected,
      ...refused(imported.ofPos, OWNED_BY_POS),
      ...refused(imported.withoutRoom, WITHOUT_ROOM),
      ...refused(imported.beyondRepeats, BEYOND_REPEATS),
    ].sort((one, other) => one.line - other.line);
    const failed = errors.length;
    if (created > 0) await addOwnItems(tx, partnerId, created);
    await updateMenuImportAdvanced(tx, importId, { position, lines, created, updated, failed, repeated, errors });
    return { room: bounds.room - created, repeats: bounds.repeats - repeated };
  });

/** Lets an import of another partner run first, if one waits: else two long files would keep all others waiting. */
async function letOthersRun(importId: string, partnerId: string): Promise<void> {
  if (!(await doesAnotherWait(sql, partnerId))) return;
  await updateMenuImportQueued(sql, importId);
  throw new Snooze(new Date(), 1);
}

/** Imports the rest of a file, reading each batch while the one before it is saved; returns how the file ended. */
async function importRows(
  work: MenuImportWork,
  { payload: { importId }, attempt, signal: stopping, progress }: ImportTask,
): Promise<Ending> {
  const from = headerOf(work);
  // storage does not read beyond the end of a file
  const bytes =
    from.position < work.size
      ? await files.read(work.fileKey, { start: from.position, end: work.size - 1 })
      : Readable.from([]);
  const batches = readBatches(bytes, {
    from,
    maxRows: limits.menuFile.rows,
    rowsBefore: work.rows,
    batchRows: batchRowsOf(attempt),
  });
  let bounds: ImportBounds = {
    room: config.MENU_ITEMS - ((await findOwnItems(sql, work.partnerId)) ?? 0),
    repeats: config.REPEATED_ROWS - work.repeated,
  };
  let saving = Promise.resolve(bounds);
  let worked = 0;
  try {
    for (;;) {
      const next = await batches.next();
      const left = await saving;
      if (next.done) return next.value;
      progress(next.value.from.position, work.size);
      if (stopping.aborted) throw new Snooze(new Date());
      worked += (bounds.repeats - left.repeats) * ROWS_PER_REPEAT;
      bounds = left;
      if (worked >= ROWS_IN_TURN) {
        await letOthersRun(importId, work.partnerId);
        worked = 0;
      }
      worked += next.value.rows.length;
      saving = save(importId, work.partnerId, from.columns, next.value, bounds);
      // its error is thrown when the next batch has been read
      saving.catch(() => undefined);
    }
  } finally {
    bytes.destroy();
  }
}

/** Deletes categories that the import has left empty, settles it, signals the request that waits for it and brings the next import forward. */
async function settle(
  importId: string,
  { partnerId, fileKey }: MenuImportWork,
  failure: MenuImportFailure | null,
): Promise<void> {
  await deleteUnusedCategories(sql, partnerId);
  if (await updateMenuImportSettled(sql, importId, failure)) {
    await signal(sql, "menu-import", importId);
    await bringNextImportForward(sql, partnerId);
  }
  await files.delete(fileKey);
}

/** Fails an import at its last attempt, as no other job would ever settle it. */
async function giveUp(importId: string, work: MenuImportWork, { attempt }: ImportTask, error: unknown): Promise<void> {
  if (error instanceof PermanentError || attempt >= menuImport.attempts)
    await settle(importId, work, { message: GIVEN_UP, line: null });
}

/** Imports the rest of a menu's file: a run may be cut short, as the next one goes on behind the last batch that was saved. */
export const importMenu: Handler<{ importId: string }> = async (task) => {
  const { importId } = task.payload;
  const work = await findMenuImportWork(sql, importId);
  if (!work) return;
  if (work.status === "DONE" || work.status === "FAILED") {
    await files.delete(work.fileKey);
    return;
  }
  if (work.status === "QUEUED") await begin(importId, work);
  try {
    const ending = await importRows(work, task);
    await settle(importId, work, ending.complete ? null : ending);
    if (ending.complete) task.progress(work.size, work.size);
  } catch (error) {
    if (!(error instanceof Snooze)) await giveUp(importId, work, task, error);
    throw error;
  }
};
