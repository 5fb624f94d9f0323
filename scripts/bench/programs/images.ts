import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import sharp from "sharp";
import { config } from "../../../lib/process/config.js";
import { files, keysOf, newFileName } from "../../../lib/storage/file-store.js";
import { log } from "../../../lib/process/log.js";
import { sql } from "../../../sql/db.js";
import { insertFile, updateFileStored } from "../../../sql/queries/files.js";
import { convertUpload } from "../../../workers/images.js";
import { ConversionPlan } from "../messages.js";
import { answerParent } from "./answer.js";

// Converts photographs: uploaded ones, as the worker does; or others of the same size, with sharp alone.

const photograph = await sharp({
  create: {
    width: 4_000,
    height: 3_000,
    channels: 3,
    background: "#000000",
    noise: { type: "gaussian", mean: 128, sigma: 40 },
  },
})
  .blur(3)
  .jpeg({ quality: 90 })
  .toBuffer();

async function stage(userId: string): Promise<() => Promise<void>> {
  const name = newFileName();
  await files.put(keysOf(name).original, Readable.from([photograph]), "image/jpeg");
  const expiresAt = new Date(Date.now() + 3_600_000);
  const fileId = await insertFile(sql, userId, { name, contentType: "image/jpeg", inParts: null, expiresAt });
  await updateFileStored(sql, fileId, photograph.length);
  return () =>
    convertUpload({
      payload: { fileId },
      log,
      progress: () => undefined,
      requestId: undefined,
      attempt: 1,
      signal: new AbortController().signal,
      done: () => Promise.resolve(),
    });
}

const folder = config.STORAGE_DIR ?? "";

async function prepareBare(): Promise<() => Promise<void>> {
  const path = join(folder, newFileName());
  await writeFile(path, photograph);
  const webp = { quality: 80, effort: 2 };
  return async () => {
    const { data, info } = await sharp(await readFile(path), { autoOrient: true })
      .resize(2_048, 2_048, { fit: "inside", withoutEnlargement: true })
      .toColourspace("srgb")
      .raw()
      .toBuffer({ resolveWithObject: true });
    const raw = { width: info.width, height: info.height, channels: info.channels };
    await sharp(data, { raw }).webp(webp).toFile(`${path}.webp`);
    await sharp(data, { raw }).resize(400, 400, { fit: "inside" }).webp(webp).toFile(`${path}-thumbnail.webp`);
  };
}

answerParent(ConversionPlan, async ({ how, images, atOnce }) => {
  const [user] = await sql<{ id: string }[]>`select id from users limit 1`;
  const prepare = how === "worker" ? () => stage(user?.id ?? "") : prepareBare;
  const waiting = await Promise.all(Array.from({ length: images }, prepare));
  const start = performance.now();
  const convertNext = async () => {
    for (let convert = waiting.pop(); convert; convert = waiting.pop()) await convert();
  };
  await Promise.all(Array.from({ length: atOnce }, convertNext));
  return { perSecond: (images * 1_000) / (performance.now() - start) };
});
