import { existsSync, readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { setPriority } from "node:os";
import sharp from "sharp";
import { describeError } from "../process/describe-error.js";
import type { Answer } from "./images.js";

// A converter, which `images.ts` starts: it gets the pieces of an image and then "end", and sends its answer.

const maxSide = 2_048;
const maxThumbnailSide = 400;
/** Larger than any phone's photograph. */
const maxPixels = 50_000_000;
/** That of WebP. The memory for a wide image is many times its decoded size. */
const maxOriginalSide = 16_383;
/** 50 megapixels of four channels with 8 bits. */
const maxDecodedBytes = 200_000_000;

// One thread per image, and as many images at once as there are cores: together that is faster than all threads on one.
sharp.concurrency(1);
sharp.cache(false);
// Only the decoders of accepted types; libvips has many more.
sharp.block({ operation: ["VipsForeignLoad"] });
sharp.unblock({
  operation: [
    "VipsForeignLoadJpeg",
    "VipsForeignLoadPng",
    "VipsForeignLoadWebp",
    "VipsForeignLoadHeif",
    "VipsForeignLoadNsgif",
  ],
});

/** Conversions leave the CPU to requests, to SQL and to all other jobs. Node's scale goes from -20 to 19; 0 is usual. */
const priority = 10;
const threadFolder = "/proc/self/task";

/** Linux has a priority for each thread; those that start later take over that of the thread that starts them. */
function lowerPriority(): void {
  const threads = existsSync(threadFolder) ? readdirSync(threadFolder) : [process.pid];
  for (const thread of threads) setPriority(Number(thread), priority);
}

const webp = { quality: 80, effort: 2 } as const;

/** Opens an image, of which only the first frame is decoded. */
const open = (original: Buffer) => sharp(original, { limitInputPixels: maxPixels, failOn: "error", autoOrient: true });

/** Decodes an image, upright and small enough, once its header shows that it may be decoded. */
async function decode(original: Buffer) {
  const { width, height, channels, depth } = await open(original).metadata();
  if (Math.max(width, height) > maxOriginalSide) throw new Error(`a side is longer than ${maxOriginalSide} pixels`);
  // the accepted types have 8 or 16 bits
  if (width * height * channels * (depth === "uchar" ? 1 : 2) > maxDecodedBytes)
    throw new Error(`decoded it is larger than ${maxDecodedBytes / 1e6} MB`);
  return await open(original)
    .resize(maxSide, maxSide, { fit: "inside", withoutEnlargement: true })
    .toColourspace("srgb")
    .raw()
    .toBuffer({ resolveWithObject: true });
}

/** Converts an image; it is decoded once for both results. */
async function convert(original: Buffer): Promise<Answer> {
  const decoded = await decode(original).catch((error: unknown) => ({ refusal: describeError(error) }));
  if ("refusal" in decoded) return decoded;
  const { width, height, channels } = decoded.info;
  const pixels = () => sharp(decoded.data, { raw: { width, height, channels } });
  const image = await pixels().webp(webp).toBuffer();
  const thumbnail = await pixels()
    .resize(maxThumbnailSide, maxThumbnailSide, { fit: "inside", withoutEnlargement: true })
    .webp(webp)
    .toBuffer();
  return { image, thumbnail, width, height };
}

lowerPriority();

let pieces: Uint8Array[] = [];
process.on("message", (message) => {
  if (message instanceof Uint8Array) {
    pieces.push(message);
    return;
  }
  const original = Buffer.concat(pieces);
  pieces = [];
  void convert(original).then((answer) => process.send?.(answer));
});

// An orderly exit would wait for the decoder.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
// A signal to the whole group lets the worker finish its jobs.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => undefined);
// Where memory runs out all the same, Linux kills this process before any other.
writeFile("/proc/self/oom_score_adj", "1000").catch(() => undefined);
