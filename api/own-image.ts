import { ApiError, type ErrorCode } from "../lib/errors.js";
import type { Db } from "../sql/db.js";
import { takeImage } from "../sql/queries/files.js";
import { Id } from "./schemas.js";

export const ImageFileId = Id.meta({ description: "an image that the caller has uploaded" });

/** Takes an uploaded image of the caller's to show it somewhere; answers its name. Throws 400 when it is none. */
export async function takeOwnImage(
  tx: Db,
  fileId: string,
  userId: string,
  { path, code }: { path: string; code: ErrorCode },
): Promise<string> {
  const name = await takeImage(tx, fileId, userId);
  if (name !== undefined) return name;
  const message = "is no image that you have uploaded";
  throw new ApiError(400, code, `${path}: ${message}`, { errors: [{ path, message }] });
}
