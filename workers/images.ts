import { Readable } from "node:stream";
import { files, keysOf } from "../lib/storage/file-store.js";
import type { Logger } from "../lib/process/log.js";
import { convertImage, UnreadableImage, type Converted } from "../lib/storage/images.js";
import { sql, transaction } from "../sql/db.js";
import { findFile, updateFileRefused, updateImageReady } from "../sql/queries/files.js";
import { signal } from "../sql/signals.js";
import type { Handler } from "./consume.js";

/** The converted image; null when the original cannot be decoded, which is logged. */
async function convert(original: string, log: Logger): Promise<Converted | null> {
  try {
    return await convertImage(await files.read(original));
  } catch (error) {
    if (!(error instanceof UnreadableImage)) throw error;
    log.info({ reason: error.message }, "an image was refused");
    return null;
  }
}

/** Replaces the original by the converted image; every run writes the same. */
export const convertUpload: Handler<{ fileId: string }> = async ({ payload: { fileId }, log }) => {
  const file = await findFile(sql, fileId);
  if (!file) return;
  const { original, image, thumbnail } = keysOf(file.name);

  if (file.status === "STORED") {
    const converted = await convert(original, log);
    if (converted) {
      await files.put(image, Readable.from([converted.image]), "image/webp");
      await files.put(thumbnail, Readable.from([converted.thumbnail]), "image/webp");
    }
    await transaction(async (tx) => {
      if (converted) await updateImageReady(tx, fileId, { ...converted, size: converted.image.length });
      else await updateFileRefused(tx, fileId);
      await signal(tx, "file", fileId);
    });
  }
  await files.delete(original);
};
