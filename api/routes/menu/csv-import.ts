import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { config } from "../../../lib/process/config.js";
import { ApiError } from "../../../lib/process/errors.js";
import { files, keysOf, newFileName } from "../../../lib/storage/file-store.js";
import { limits } from "../../../lib/domain/limits.js";
import { estimateEnd } from "../../../lib/domain/progress.js";
import { checkFormat, readHeader, WrongHeader, type MenuHeader } from "../../../lib/menu-csv/menu-csv.js";
import { NotUtf8, Utf8Check } from "../../../lib/menu-csv/utf8.js";
import { menuImport } from "../../../queues/index.js";
import { inTurn, lookups, sql, transaction, type Db } from "../../../sql/db.js";
import { countMenuUploads, deleteUnfinishedFile, insertFile } from "../../../sql/queries/files.js";
import {
  countOpenImports,
  findMenuImport,
  insertMenuImport,
  lockMenuImports,
  updateMenuImportJob,
  type MenuImportRow,
} from "../../../sql/queries/menu-imports.js";
import { stageJob } from "../../../sql/outbox.js";
import { awaitResult } from "../../../sql/signals.js";
import { authorize, type Partner, type User } from "../../http/auth.js";
import { accepted, found, ok, section } from "../../http/endpoint.js";
import { refusalWith } from "../../http/refusal.js";
import {
  FieldErrors,
  firstErrors,
  partnersOnly,
  passing,
  retryFacts,
  storageUnreachable,
} from "../../http/refusals.js";
import { EstimatedEnd, Id } from "../../http/schemas.js";
import { MB, peek, receiveFile, type IncomingFile } from "../../http/upload.js";

const MAX_BYTES = limits.menuFile.megabytes * MB;
/** How long a file may take to be received and become an import, before it is deleted. */
const UPLOAD_MS = 10 * 60_000;
const CSV = "text/csv";
/** The header must be within these bytes. */
const HEAD_BYTES = 65_536;

const notAMenu = refusalWith(400, "VALIDATION_ERROR", "NOT_A_MENU", {
  detail: ({ errors }) => errors[0]?.message ?? "This file is not a menu.",
  remedy: "Nothing was imported. Mend the file's format or its first line.",
  facts: { errors: FieldErrors },
  example: { errors: [{ path: "price", message: "The column price is missing." }] },
});
const refuse = (path: string, message: string) => notAMenu({ errors: [{ path, message }] });

const tooManyImports = refusalWith(409, "CONFLICT", "TOO_MANY_IMPORTS", {
  detail: ({ maxImports }) => `${maxImports} of your imports are not finished: wait for one of them.`,
  remedy: "Wait for one of the partner's imports to finish.",
  facts: { maxImports: z.int() },
  example: { maxImports: 2 },
});
const menuPartnerBlocked = refusalWith(403, "FORBIDDEN", "MENU_PARTNER_BLOCKED", {
  detail: ({ partnerStatus }) => `Menus of a partner that is ${partnerStatus} cannot be imported.`,
  remedy: "An admin may approve the partner again.",
  facts: { partnerStatus: z.enum(["SUSPENDED", "REJECTED"]) },
  example: { partnerStatus: "SUSPENDED" },
});
const uploadExpired = passing("UPLOAD_EXPIRED", "The upload took too long, or was deleted meanwhile.", 5);
const importFailed = refusalWith(503, "UNAVAILABLE", "IMPORT_FAILED", {
  detail: "The import failed for a reason that is not in the file; send it again.",
  remedy: "Send the file again after `retryAfterSeconds`: rows that were imported before are not imported twice.",
  facts: retryFacts,
  example: { retryAfterSeconds: 5 },
});

/** Passes a file on as long as it is UTF-8. */
async function* checkUtf8(file: Readable): AsyncGenerator<Buffer> {
  const utf8 = new Utf8Check();
  for await (const piece of file as AsyncIterable<Buffer>) {
    utf8.add(piece);
    yield piece;
  }
  utf8.end();
}

/** The error for a file that its header or its bytes show to be no menu; undefined for other errors. */
function refusalOf(error: unknown): ApiError | undefined {
  if (error instanceof WrongHeader) return refuse(error.column ?? "file", error.message);
  if (error instanceof NotUtf8)
    return refuse("file", `The file must be UTF-8, and line ${error.line} is not: save it as “CSV UTF-8”.`);
  return undefined;
}

/** A file in storage; the import takes it over from `fileId`, the upload that would expire. */
interface StoredMenu extends MenuHeader {
  fileId: string;
  fileKey: string;
  size: number;
}

/** Throws 409 when a partner has as many open imports as it may have, with `others` that are not imports yet. */
async function refuseWhenFull(tx: Db, partnerId: string, others: number): Promise<void> {
  if ((await countOpenImports(tx, partnerId)) + others >= config.OPEN_IMPORTS)
    throw tooManyImports({ maxImports: config.OPEN_IMPORTS });
}

/** Runs a transaction beside which no import of the partner begins. */
const changeImports = <T>(partnerId: string, work: (tx: Db) => Promise<T>): Promise<T> =>
  inTurn(`imports ${partnerId}`, () =>
    transaction(async (tx) => {
      await lockMenuImports(tx, partnerId);
      return work(tx);
    }),
  );

/** Throws 403 for a partner that may not import menus. */
function refuseBlocked({ status }: Partner): void {
  if (status !== "ACTIVE" && status !== "PENDING_REVIEW") throw menuPartnerBlocked({ partnerStatus: status });
}

/** Streams a file into storage, unless its header or its bytes show that it is no menu. */
async function storeMenu(
  userId: string,
  partnerId: string,
  { body, receivedBytes }: IncomingFile,
): Promise<StoredMenu> {
  const { head, whole } = await peek(body, HEAD_BYTES);
  checkFormat(head);
  new Utf8Check().add(head);
  const header = readHeader(head);
  const name = newFileName();
  const fileKey = keysOf(name).menu;
  const expiresAt = new Date(Date.now() + UPLOAD_MS);
  const fileId = await changeImports(partnerId, async (tx) => {
    await refuseWhenFull(tx, partnerId, await countMenuUploads(tx, partnerId));
    return insertFile(tx, userId, { name, contentType: CSV, inParts: null, expiresAt });
  });
  try {
    await files.put(fileKey, Readable.from(checkUtf8(whole), { objectMode: false }), CSV);
  } catch (error) {
    await deleteUnfinishedFile(sql, fileId);
    throw error;
  }
  return { ...header, fileId, fileKey, size: receivedBytes() };
}

/** Receives a menu. Throws 400 for a file that its header or its bytes show to be none. */
async function receiveMenu(userId: string, partnerId: string, incoming: IncomingMessage): Promise<StoredMenu> {
  const file = await receiveFile(incoming, { part: "file", alone: CSV, maxBytes: MAX_BYTES });
  try {
    return await storeMenu(userId, partnerId, file);
  } catch (error) {
    throw refusalOf(error) ?? error;
  } finally {
    file.body.destroy();
  }
}

const Count = z.int().min(0);

const Imported = z
  .object({
    importId: Id,
    created: Count.meta({ description: "rows that created an item" }),
    updated: Count.meta({ description: "rows of existing items, changed or not" }),
    failed: Count.meta({ description: "rows that were skipped" }),
  })
  .meta({ id: "ImportedMenu" });

const menuBrokenOff = refusalWith(400, "VALIDATION_ERROR", "MENU_BROKEN_OFF", {
  detail: "Line 122: a quoted field has no end.",
  remedy: "Mend the file at the first of `errors` and import it again: the counted rows remain.",
  facts: { ...Imported.shape, errors: FieldErrors },
  example: {
    importId: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f",
    created: 120,
    updated: 0,
    failed: 1,
    errors: [{ path: "line 122", message: "a quoted field has no end" }],
  },
});

const RowError = z.object({
  line: z.int().nullable().meta({ description: "the row's first line; null when the file is not at fault" }),
  column: z.string().nullable().meta({ description: "null when the error is in the row as a whole" }),
  message: z.string(),
});

const MenuImport = Imported.extend({
  status: z.enum(enums.menuImportStatus).meta({
    description: "FAILED: it ended before the end of the file; the rows imported before remain",
  }),
  progress: z.number().min(0).max(1).meta({ description: "the part of the file that is processed", example: 0.4 }),
  estimatedEndAt: EstimatedEnd,
  errors: z
    .array(RowError)
    .max(limits.menuFile.errors)
    .meta({ description: "why rows were skipped, the first of them; preceded by what ended an import that FAILED" }),
}).meta({ id: "MenuImport" });

/** An import that goes on, and how far it is if that could be read in time. */
const OpenImport = z.object({
  importId: Id,
  ...MenuImport.omit({ importId: true, errors: true }).partial().shape,
});

const countsOf = ({ id, created, updated, failed }: MenuImportRow) => ({ importId: id, created, updated, failed });

const errorsOf = ({ errors, failure, failureLine }: MenuImportRow) =>
  [
    ...(failure === null ? [] : [{ line: failureLine, column: null, message: failure }]),
    ...z.array(RowError).parse(errors),
  ].slice(0, limits.menuFile.errors);

/** Reading the header does not count as progress. An import that lets others run first is QUEUED again. */
function progressOf({ status, position, size, created, updated, failed }: MenuImportRow): number {
  if (status === "QUEUED" && created + updated + failed === 0) return 0;
  return status === "DONE" ? 1 : Math.floor((position / size) * 1_000) / 1_000;
}

const isSettled = ({ status }: MenuImportRow) => status === "DONE" || status === "FAILED";

function presentProgress(row: MenuImportRow) {
  const progress = progressOf(row);
  const estimatedEndAt = isSettled(row) ? null : estimateEnd(progress, row.startedAt, Date.now());
  return { ...countsOf(row), status: row.status, progress, estimatedEndAt };
}

const present = (row: MenuImportRow): z.output<typeof MenuImport> => ({
  ...presentProgress(row),
  errors: errorsOf(row),
});

const description =
  `The body is the file, as \`text/csv\` or as the part \`file\` of a form: UTF-8, at most ${limits.menuFile.megabytes} MB and ` +
  `${limits.menuFile.rows.toLocaleString("en")} rows. Its first line names its columns, ` +
  "with these exact names and in any order: `name`, `category`, `price` and, if wanted, `externalId`, `description`, `weightGrams`, " +
  "`available` (true, false, 1, 0, yes, no). Fields are separated by commas or by semicolons; prices have a decimal point " +
  "or comma. " +
  "A row updates the item with its `externalId`, else the one with its category and name, ignoring case; an archived item " +
  "is restored. Without a match it creates an item. A missing column leaves the field unchanged, and so does an empty " +
  "`available`; an empty `description` or `weightGrams` clears it. Invalid rows, and rows of items that come from the POS, " +
  "are skipped and counted. The last row for an item wins. Files of one partner are imported one after the other. " +
  "An import that takes longer is answered 202, with its progress. At `Location` are its progress and its result, with the skipped " +
  "rows and the reasons. " +
  `A menu may have ${config.MENU_ITEMS} items beside those of a POS, and ${config.REPEATED_ROWS} rows of a file may name an item of ` +
  `another row close by; further ones are skipped. 403: the partner is suspended or rejected. 409: ${config.OPEN_IMPORTS} of its ` +
  "imports are not finished.";

export const menuImports = section({ prefix: "/menu/import/csv", tag: "Menu" });

menuImports.post(
  "/",
  {
    name: "importMenu",
    summary: "Import a menu",
    description,
    auth: "PARTNER",
    upload: { part: "file", alone: CSV },
    answers: { 200: Imported, 202: OpenImport },
    errors: [
      notAMenu,
      menuBrokenOff,
      menuPartnerBlocked,
      tooManyImports,
      uploadExpired,
      importFailed,
      storageUnreachable,
    ],
  },
  async ({ user, partner, incoming, gone, requestId }) => {
    refuseBlocked(partner);
    const menu = await receiveMenu(user.id, partner.id, incoming);
    const importId = await stageImport(menu, { user, partner }, requestId);
    const latest: { row?: MenuImportRow | undefined } = {};
    const settled = await awaitResult(
      { name: "menu-import", id: importId, deadlineMs: config.SYNC_WAIT_MS, abort: gone },
      async () => {
        const row = await findMenuImport(lookups, importId, partner.id);
        latest.row = row;
        return row && isSettled(row) ? row : null;
      },
    );
    const location = `/api/v1/menu/import/csv/${importId}`;
    if (settled === null) return accepted(latest.row ? presentProgress(latest.row) : { importId }, location);
    if (settled.status === "FAILED") throw refusalOfFailed(settled);
    return ok(countsOf(settled), { Location: location });
  },
);

/**
 * Inserts an import with its job, and returns its id. From then on the file belongs to the import. A file takes minutes to arrive:
 * the caller may have left the partner, or an admin suspended it, in the meantime.
 */
async function stageImport(
  { fileId, ...menu }: StoredMenu,
  { user, partner: { id: partnerId } }: { user: User; partner: Partner },
  requestId: string,
): Promise<string> {
  try {
    const partner = await authorize({ user, sessionId: null, apiKeyId: null, expiresAt: null }, "PARTNER");
    if (partner?.id !== partnerId) throw partnersOnly();
    refuseBlocked(partner);
    return await changeImports(partnerId, async (tx) => {
      if (!(await deleteUnfinishedFile(tx, fileId))) throw uploadExpired();
      await refuseWhenFull(tx, partnerId, 0);
      const id = await insertMenuImport(tx, { ...menu, partnerId });
      await updateMenuImportJob(tx, id, await stageJob(tx, menuImport, { importId: id }, { requestId }));
      return id;
    });
  } catch (error) {
    if (error instanceof ApiError) {
      await deleteUnfinishedFile(sql, fileId);
      await files.delete(menu.fileKey);
    }
    throw error;
  }
}

/** The error for a failed import, with the counts of what was imported before. */
function refusalOfFailed(row: MenuImportRow): ApiError {
  const { failure, failureLine } = row;
  if (failureLine === null) return importFailed({ retryAfterSeconds: 5 }, failure ?? undefined);
  const errors = errorsOf(row).map(({ line, column, message }) => ({
    path: [`line ${line ?? failureLine}`, column].filter(Boolean).join(", "),
    message,
  }));
  return menuBrokenOff({ ...countsOf(row), errors: firstErrors(errors) }, `Line ${failureLine}: ${failure ?? ""}.`);
}

menuImports.get(
  "/:importId",
  {
    name: "readMenuImport",
    summary: "Read the progress and result of an import",
    auth: "PARTNER",
    answers: { 200: MenuImport },
  },
  async ({ partner, params }) =>
    ok(present(found(await findMenuImport(lookups, params.importId, partner.id), "This import"))),
);
