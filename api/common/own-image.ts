import type { Db } from "../../sql/db.js";
import { findOwnFile, claimImage } from "../../sql/queries/files.js";
import { refusalWith } from "../http/refusal.js";
import { invalidFields, invalidTerms, type InvalidCode } from "../http/refusals.js";
import { Id } from "../http/schemas.js";

export const ImageFileId = Id.meta({ description: "an image that the caller uploaded" });

export const imageNotReady = refusalWith(409, "CONFLICT", "IMAGE_NOT_READY", {
  ...invalidTerms,
  remedy: "Finish the upload, and wait until `GET /files/{id}` answers 200.",
  example: { errors: [{ path: "imageFileId", message: "is still being converted" }] },
});

/** Claims an image that the user uploaded, and returns its name. Throws 400 when there is no such image, 409 while it is not converted. */
export async function claimOwnImage(
  tx: Db,
  fileId: string,
  userId: string,
  { path, code }: { path: string; code: InvalidCode },
): Promise<string> {
  const name = await claimImage(tx, fileId, userId);
  if (name !== undefined) return name;
  const { status } = (await findOwnFile(tx, fileId, userId)) ?? {};
  if (status === "UPLOADING" || status === "STORED") {
    const message = status === "STORED" ? "is still being converted" : "is not fully uploaded yet";
    throw imageNotReady({ errors: [{ path, message }] });
  }
  throw invalidFields(code, [{ path, message: "is not an image that you uploaded" }]);
}
