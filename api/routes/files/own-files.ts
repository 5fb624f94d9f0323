import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { deleteStored } from "../../../lib/storage/file-store.js";
import { isForeignKeyViolation, lookups, sql, transaction } from "../../../sql/db.js";
import { deleteOwnFile, findOwnFile, listOwnFiles, type ListedFile } from "../../../sql/queries/files.js";
import { noContent, ok, section } from "../../http/endpoint.js";
import { page, PageQuery } from "../../http/pagination.js";
import { notFound, storageUnreachable } from "../../http/refusals.js";
import { Id, Timestamp } from "../../http/schemas.js";
import { comesInParts, presentPolicy } from "./parts.js";
import { fileConverting, imageInUse, imageUnreadable } from "./refusals.js";
import { later, Pending, present, StoredFile } from "./stored-file.js";

const OwnFile = z
  .object({
    fileId: Id,
    status: z.enum(enums.fileStatus).meta({
      description:
        "UPLOADING: can be finished until `expiresAt`; STORED: is being converted; REFUSED: could not be read",
    }),
    createdAt: Timestamp,
    expiresAt: Timestamp.nullable().meta({ description: "when an unfinished upload expires" }),
    file: StoredFile.nullable().meta({ description: "when it is READY" }),
  })
  .meta({ id: "OwnFile" });

const presentListed = (row: ListedFile): z.output<typeof OwnFile> => ({
  fileId: row.id,
  status: row.status,
  createdAt: row.createdAt,
  expiresAt: row.expiresAt,
  file: row.status === "READY" ? present(row) : null,
});

/** Where an image is shown, by the foreign key that refers to it. */
const places: Readonly<Record<string, string>> = {
  users_avatar_fkey: "as your avatar",
  boxes_image_fkey: "with a box",
  ad_banners_image_fkey: "as a banner",
};
const shownStill = (constraint = "") =>
  imageInUse(`This image is shown ${places[constraint] ?? "somewhere"}: remove it there first.`);

export const ownFiles = section({ prefix: "/files", tag: "Files" });

ownFiles.get(
  "/",
  {
    name: "listFiles",
    summary: "List your files, newest first",
    description: "Includes unfinished uploads; deleting one makes room for another.",
    auth: "USER",
    query: PageQuery,
    answers: { 200: z.array(OwnFile) },
  },
  ({ user, query, address }) =>
    page(address, query, (after, limit) => listOwnFiles(sql, user.id, after, limit), presentListed),
);

ownFiles.get(
  "/:id",
  {
    name: "readFile",
    summary: "Read your file",
    description: "202 while it is being uploaded or converted.",
    auth: "USER",
    answers: {
      200: StoredFile,
      202: Pending.describe(
        "With `uploadPolicy`: parts are still to be sent, to new addresses. Without: it is being processed; repeat the request later.",
      ),
    },
    errors: [imageUnreadable, storageUnreachable],
  },
  async ({ user, params }) => {
    const file = await findOwnFile(lookups, params.id, user.id);
    if (!file || file.expired) throw notFound("This file");
    if (file.status === "REFUSED") throw imageUnreadable();
    if (file.status === "READY") return ok(present(file));
    return later(file.id, comesInParts(file) ? await presentPolicy(file) : undefined);
  },
);

ownFiles.delete(
  "/:id",
  {
    name: "deleteFile",
    summary: "Delete your file",
    description: "An image that is shown somewhere must be removed there first.",
    auth: "USER",
    answers: { 204: null },
    errors: [imageInUse, fileConverting, storageUnreachable],
  },
  async ({ user, params }) => {
    await transaction(async (tx) => {
      const deleted = await deleteOwnFile(tx, params.id, user.id);
      if (deleted) await deleteStored(deleted);
      else if (await findOwnFile(tx, params.id, user.id)) throw fileConverting();
      else throw notFound("This file");
    }).catch((error: unknown) => {
      throw isForeignKeyViolation(error) ? shownStill(error.constraint_name) : error;
    });
    return noContent();
  },
);
