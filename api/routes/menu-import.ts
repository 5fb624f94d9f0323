import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { z } from "zod";
import { config } from "../../lib/config.js";
import { ApiError, notFound, unavailable } from "../../lib/errors.js";
import { files, newFileKey } from "../../lib/file-store.js";
import { readHeader, WrongHeader, type MenuHeader } from "../../lib/menu-csv.js";
import { NotUtf8, Utf8Check } from "../../lib/utf8.js";
import { menuImport } from "../../queues/index.js";
import { lookups, transaction } from "../../sql/db.js";
import {
  findMenuImport,
  insertMenuImport,
  updateMenuImportJob,
  type MenuImportRow,
  type NewMenuImport,
} from "../../sql/queries/menu-imports.js";
import { stageJob } from "../../sql/queries/staged-jobs.js";
import { awaitResult, poke } from "../../sql/signals.js";
import { ok, section } from "../endpoint.js";
import { Id } from "../schemas.js";

const MAX_BYTES = 50 * 1_048_576;
/** The header is looked for in so many bytes. */
const HEAD_BYTES = 65_536;
const MAX_ERRORS = 1_000;

const refuse = (path: string, detail: string) =>
  new ApiError(400, "VALIDATION_ERROR", detail, { errors: [{ path, message: detail }] });
const tooLarge = () => new ApiError(413, "PAYLOAD_TOO_LARGE", `The file is larger than ${MAX_BYTES / 1_048_576} MB.`);

/** A file as it comes in. */
type Pieces = AsyncIterator<Buffer, undefined>;

/** Opens the file that a request brings. Whoever stops reading it early leaves the request able to be answered. */
function openCsv(incoming: IncomingMessage): Pieces {
  const [type = ""] = (incoming.headers["content-type"] ?? "").split(";", 1);
  if (type.trim().toLowerCase() !== "text/csv")
    throw new ApiError(400, "BAD_REQUEST", "The body must be sent as text/csv.");
  if (Number(incoming.headers["content-length"] ?? 0) > MAX_BYTES) throw tooLarge();
  return incoming.iterator({ destroyOnReturn: false });
}

/** Reads the beginning of a file; all of it when it is short. */
async function readHead(body: Pieces): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let length = 0; length < HEAD_BYTES;) {
    const { done, value } = await body.next();
    if (done) break;
    pieces.push(value);
    length += value.length;
  }
  return Buffer.concat(pieces);
}

/** Gives the file piece by piece as long as it is UTF-8 and not too large. */
async function* checked(head: Buffer, body: Pieces, seen: { bytes: number }): AsyncGenerator<Buffer> {
  const utf8 = new Utf8Check();
  for (let piece: Buffer | undefined = head; piece;) {
    seen.bytes += piece.length;
    if (seen.bytes > MAX_BYTES) throw tooLarge();
    utf8.add(piece);
    yield piece;
    const { done, value } = await body.next();
    piece = done ? undefined : value;
  }
  utf8.end();
}

/** The refusal of a file that can be seen to be no menu before any of its rows is read; undefined when it is something else. */
function refusalOf(error: unknown): ApiError | undefined {
  if (error instanceof WrongHeader) return refuse(error.column ?? "file", error.message);
  if (error instanceof NotUtf8) return refuse("file", `The file must be UTF-8, and line ${error.line} is not.`);
  return undefined;
}

type StoredMenu = Pick<NewMenuImport, "fileKey" | "size"> & MenuHeader;

/** Puts a file into storage as it comes in, unless its beginning or its bytes say that it is no menu. */
async function storeMenu(body: Pieces): Promise<StoredMenu> {
  const fileKey = newFileKey("csv");
  const seen = { bytes: 0 };
  try {
    const head = await readHead(body);
    const header = readHeader(head);
    await files.put(fileKey, Readable.from(checked(head, body, seen), { objectMode: false }), "text/csv");
    return { ...header, fileKey, size: seen.bytes };
  } catch (error) {
    throw refusalOf(error) ?? error;
  }
}

const Count = z.int().min(0);

const Imported = z
  .object({
    importId: Id,
    created: Count.meta({ description: "rows that made an item" }),
    updated: Count.meta({ description: "rows that name an item that was there, whether or not it had to be changed" }),
    failed: Count.meta({ description: "rows that were skipped" }),
  })
  .meta({ id: "ImportedMenu" });

const MenuImport = Imported.extend({
  status: z.enum(["QUEUED", "RUNNING", "DONE", "FAILED"]).meta({
    description: "FAILED: it ended before the end of the file; what had been imported stays",
  }),
  progress: z.number().min(0).max(1).meta({ description: "the part of the file that is dealt with", example: 0.4 }),
  errors: z
    .array(
      z.object({
        line: z.int().nullable().meta({ description: "where the row begins; null when the file is not at fault" }),
        column: z.string().nullable().meta({ description: "null when it is the row as a whole" }),
        message: z.string(),
      }),
    )
    .max(MAX_ERRORS)
    .meta({ description: `why the first rows were skipped; before them, what ended an import that FAILED` }),
}).meta({ id: "MenuImport" });

const RowErrors = z.array(z.object({ line: z.int(), column: z.string().nullable(), message: z.string() }));

const countsOf = ({ id, created, updated, failed }: MenuImportRow) => ({ importId: id, created, updated, failed });

const errorsOf = ({ errors, failure, failureLine }: MenuImportRow) =>
  [
    ...(failure === null ? [] : [{ line: failureLine, column: null, message: failure }]),
    ...RowErrors.parse(errors),
  ].slice(0, MAX_ERRORS);

const present = (row: MenuImportRow): z.output<typeof MenuImport> => ({
  ...countsOf(row),
  status: row.status,
  progress: row.status === "DONE" ? 1 : Math.floor((row.position / row.size) * 1_000) / 1_000,
  errors: errorsOf(row),
});

const description =
  "The body is the file, as `text/csv`: UTF-8, at most 50 MB and 500,000 rows. Its first line names its columns, " +
  "with these exact names and in any order: `name`, `category`, `price` and, if wanted, `externalId`, `description`, `weightGrams`, " +
  "`available` (true, false, 1, 0, yes, no). Fields are separated by commas or by semicolons; prices have a decimal point " +
  "or comma. " +
  "A row changes the item with its `externalId`, else the one with its category and name, ignoring case; an archived one " +
  "comes back; without either it makes one. A column that is left out leaves items as they are, and so does an empty " +
  "`available`; an empty `description` or `weightGrams` takes theirs away. Rows that cannot be read, and rows of items that belong to the point-of-sale " +
  "system, are skipped and counted. A later row for the same item wins. Files of one partner are imported one after the other. " +
  "What takes longer is answered 202; the result is at `Location` then.";

export const menuImports = section({ prefix: "/menu/import/csv", tag: "Menu" });

menuImports.post(
  "/",
  {
    summary: "Import a menu",
    description,
    auth: "PARTNER",
    upload: "file",
    answers: { 200: Imported, 202: z.object({ importId: Id }) },
    errors: ["400 BAD_REQUEST", "400 VALIDATION_ERROR"],
  },
  async ({ partner, incoming, gone, requestId }) => {
    const menu = await storeMenu(openCsv(incoming));
    const importId = await stageImport({ ...menu, partnerId: partner.id }, requestId);
    const settled = await awaitResult(
      { name: "menu-import", id: importId, deadlineMs: config.SYNC_WAIT_MS, abort: gone },
      async () => {
        const row = await findMenuImport(lookups, importId, partner.id);
        return row && (row.status === "DONE" || row.status === "FAILED") ? row : null;
      },
    );
    if (settled === null)
      return { status: 202 as const, body: { importId }, headers: { Location: `/api/v1/menu/import/csv/${importId}` } };
    if (settled.status === "FAILED") throw refusalOfFailed(settled);
    return ok(countsOf(settled));
  },
);

/** Saves an import together with the job that does it; answers its id. */
async function stageImport(menu: NewMenuImport, requestId: string): Promise<string> {
  try {
    const importId = await transaction(async (tx) => {
      const id = await insertMenuImport(tx, menu);
      await updateMenuImportJob(tx, id, await stageJob(tx, menuImport, { importId: id }, { requestId }));
      return id;
    });
    poke("staged_jobs");
    return importId;
  } catch (error) {
    await files.delete(menu.fileKey);
    throw error;
  }
}

/** A file that could be read only in part: what is wrong with it, and what was imported before. */
function refusalOfFailed(row: MenuImportRow): ApiError {
  const { failure, failureLine } = row;
  if (failureLine === null) return unavailable(failure ?? "The import failed.");
  const errors = errorsOf(row).map(({ line, column, message }) => ({
    path: [`line ${line ?? failureLine}`, column].filter(Boolean).join(", "),
    message,
  }));
  return new ApiError(400, "VALIDATION_ERROR", `Line ${failureLine}: ${failure ?? ""}.`, {
    ...countsOf(row),
    errors: errors.slice(0, 100),
  });
}

menuImports.get(
  "/:importId",
  {
    summary: "Read what an import comes to",
    auth: "PARTNER",
    params: z.object({ importId: Id }),
    answers: { 200: MenuImport },
  },
  async ({ partner, params }) => {
    const row = await findMenuImport(lookups, params.importId, partner.id);
    if (!row) throw notFound("This import");
    return ok(present(row));
  },
);
