import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import sharp from "sharp";

const maxSide = 2_048;
const maxThumbnailSide = 400;
/** 50 megapixels: larger than any phone's photograph, and 200 MB once it is decoded. */
const maxPixels = 50_000_000;
const secondsToConvert = 30;

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

export interface Converted {
  image: Buffer;
  thumbnail: Buffer;
  /** In pixels, upright. */
  width: number;
  height: number;
}

/** The image cannot be decoded: it is broken, too large or no image. */
export class UnreadableImage extends Error {
  override name = "UnreadableImage";
}

const webp = { quality: 80, effort: 2 } as const;

/**
 * Converts an image to a WebP of at most 2048 pixels a side and a thumbnail of at most 400: upright, first frame, without
 * metadata. It is decoded once for both. Throws UnreadableImage when it cannot be decoded.
 */
export async function convertImage(original: Readable): Promise<Converted> {
  const decoder = sharp({ limitInputPixels: maxPixels, failOn: "error", autoOrient: true })
    .timeout({ seconds: secondsToConvert })
    .resize(maxSide, maxSide, { fit: "inside", withoutEnlargement: true })
    .toColourspace("srgb")
    .raw();
  const decoded = decoder.toBuffer({ resolveWithObject: true });
  // an error of storage says nothing about the image
  let readError: Error | undefined;
  const bytes = async function* () {
    try {
      yield* original as AsyncIterable<Buffer>;
    } catch (error) {
      readError = new Error("the image could not be read", { cause: error });
      throw readError;
    }
  };
  const [{ data, info }] = await Promise.all([decoded, pipeline(bytes, decoder)]).catch((error: unknown) => {
    throw readError ?? new UnreadableImage("the image cannot be decoded", { cause: error });
  });
  const { width, height, channels } = info;
  const pixels = () => sharp(data, { raw: { width, height, channels }, limitInputPixels: maxPixels });
  const image = await pixels().webp(webp).toBuffer();
  const thumbnail = await pixels()
    .resize(maxThumbnailSide, maxThumbnailSide, { fit: "inside", withoutEnlargement: true })
    .webp(webp)
    .toBuffer();
  return { image, thumbnail, width, height };
}
