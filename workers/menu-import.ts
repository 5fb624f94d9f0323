import { Readable } from "node:stream";
import { PermanentError, Snooze } from "../lib/process/errors.js";
import { files } from "../lib/storage/file-store.js";
import { limits } from "../lib/domain/limits.js";
import { menuColumns, type MenuHeader } from "../lib/menu-csv/menu-csv.js";
import { readBatches, splitBatch, type Batch, type Ending } from "../lib/menu-csv/menu-csv-batches.js";
import { menuImport } from "../queues/index.js";
import { isTimedOut, isUniqueViolation, sql, transaction, type Db } from "../sql/db.js";
import {
  countImportsAhead,
  findMenuImportWork,
  bringNextImportForward,
  importMenuRows,
  listPartnersWithAbandonedImports,
  settleAbandonedImports,
  takeMenuImport,
  updateMenuImportAdvanced,
  updateMenuImportSettled,
  updateMenuImportStarted,
  type MenuImportFailure,
  type MenuImportWork,
} from "../sql/queries/menu-imports.js";
import { signal } from "../sql/signals.js";
import type { Handler, Task } from "./consume.js";

/** How long an import waits for each one that comes before it, and at most. */
const TURN_MS = 1_000;
const LONGEST_TURN_MS = 30_000;
/** How long a run keeps away when another run of its job has overtaken it. */
const OVERTAKEN_MS = 5_000;

const GIVEN_UP = "the import could not be finished for reasons of our own: please send the file again";
const OWNED_BY_POS = "the item belongs to the point-of-sale system: change it there";

type ImportTask = Task<{ importId: string }>;

const inMs = (ms: number) => new Date(Date.now() + ms);

/** Ends those of a partner's imports that nobody does any more; the others go on then. */
async function settleAbandoned(partnerId: string): Promise<void> {
  for (const { id, fileKey } of await settleAbandonedImports(sql, partnerId, GIVEN_UP)) {
    await files.delete(fileKey);
    await signal(sql, "menu-import", id);
  }
}

/** Ends the imports whose jobs were given up without a last word, such as those that took their process with them each time; answers how many partners had any. */
export async function settleAllAbandoned(db: Db, limit: number): Promise<number> {
  const partnerIds = await listPartnersWithAbandonedImports(db, limit);
  for (const partnerId of partnerIds) await settleAbandoned(partnerId);
  return partnerIds.length;
}

/** Makes an import the one of its partner that runs, or has it wait for those that come before it. */
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

/** What batches are saved with. */
interface Saving {
  importId: string;
  partnerId: string;
  columns: MenuHeader["columns"];
  stopping: AbortSignal;
}

/**
 * Puts a batch, or as much of it as one transaction should, into the menu and says so in the import's row, both or
 * neither; not when another run of the job has done it. Answers what is left.
 */
async function saveSome({ importId, partnerId, columns }: Saving, batch: Batch): Promise<Batch | undefined> {
  return transaction(async (tx) => {
    if (!(await takeMenuImport(tx, importId, batch.from.position))) throw new Snooze(inMs(OVERTAKEN_MS));
    const { created, updated, refused, done } =
      batch.rows.length > 0
        ? await importMenuRows(tx, partnerId, batch.rows, columns)
        : { created: 0, updated: 0, refused: [], done: 0 };
    const [{ rows, rejected, position, lines }, rest] = splitBatch(batch, done);
    const owned = refused.flatMap((place) => {
      const row = rows[place - 1];
      return row ? [{ line: row.line, column: null, message: OWNED_BY_POS }] : [];
    });
    const errors = [...rejected, ...owned].sort((one, other) => one.line - other.line);
    await updateMenuImportAdvanced(tx, importId, {
      position,
      lines,
      created,
      updated,
      failed: errors.length,
      errors,
    });
    return rest;
  });
}

/** Saves a batch part by part; one that takes longer than a statement may is halved, since it would do so again. */
async function save(saving: Saving, batch: Batch): Promise<void> {
  const parts = [batch];
  for (let part = parts.shift(); part; part = parts.shift()) {
    if (saving.stopping.aborted) throw new Snooze(new Date());
    try {
      const rest = await saveSome(saving, part);
      if (rest) parts.unshift(rest);
    } catch (error) {
      if (!isTimedOut(error) || part.rows.length < 2) throw error;
      parts.unshift(...splitBatch(part, Math.ceil(part.rows.length / 2)));
    }
  }
}

/** Imports what is left of a file, a batch being parsed while the one before it is saved; answers how the file ends. */
async function importRows(importId: string, work: MenuImportWork, stopping: AbortSignal): Promise<Ending> {
  const from = headerOf(work);
  const to = { importId, partnerId: work.partnerId, columns: from.columns, stopping };
  // storage does not open a file behind its end
  const bytes =
    from.position < work.size
      ? await files.read(work.fileKey, { start: from.position, end: work.size - 1 })
      : Readable.from([]);
  const batches = readBatches(bytes, { from, maxRows: limits.menuFile.rows, rowsBefore: work.rows });
  let saving = Promise.resolve();
  try {
    for (;;) {
      const next = await batches.next();
      await saving;
      if (next.done) return next.value;
      saving = save(to, next.value);
      // it is looked at when the next batch is there
      saving.catch(() => undefined);
    }
  } finally {
    bytes.destroy();
  }
}

/** Ends an import, for whoever waits for it and for the one that comes after it. */
async function settle(
  importId: string,
  { partnerId, fileKey }: MenuImportWork,
  failure: MenuImportFailure | null,
): Promise<void> {
  if (await updateMenuImportSettled(sql, importId, failure)) {
    await signal(sql, "menu-import", importId);
    await bringNextImportForward(sql, partnerId);
  }
  await files.delete(fileKey);
}

/** At its last attempt an import is settled even so, as nobody would ever do it. */
async function giveUp(importId: string, work: MenuImportWork, { attempt }: ImportTask, error: unknown): Promise<void> {
  if (error instanceof PermanentError || attempt >= menuImport.attempts)
    await settle(importId, work, { message: GIVEN_UP, line: null });
}

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
    const ending = await importRows(importId, work, task.signal);
    await settle(importId, work, ending.complete ? null : ending);
  } catch (error) {
    if (!(error instanceof Snooze)) await giveUp(importId, work, task, error);
    throw error;
  }
};
