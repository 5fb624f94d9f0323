import { Readable } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import { convertImage, UnreadableImage } from "../../../lib/storage/images.js";

/** Half red, half blue, so that a rotation shows. */
const photograph = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: "#ff0000" } }).composite([
    {
      input: { create: { width: Math.floor(width / 2), height, channels: 3, background: "#0000ff" } },
      left: 0,
      top: 0,
    },
  ]);

const convert = (bytes: Uint8Array) => convertImage(Readable.from([bytes]));

describe("an image", () => {
  test.each(["jpeg", "png", "webp", "avif", "gif"] as const)(
    "in %s becomes WebP with a thumbnail, within their bounds",
    async (format) => {
      const { image, thumbnail, width, height } = await convert(
        await photograph(2_100, 1_050).toFormat(format).toBuffer(),
      );
      expect([width, height]).toEqual([2_048, 1_024]);
      expect(await sharp(image).metadata()).toMatchObject({ format: "webp", width: 2_048, height: 1_024 });
      expect(await sharp(thumbnail).metadata()).toMatchObject({ format: "webp", width: 400, height: 200 });
    },
  );

  test("that is small keeps its size", async () => {
    const { image, thumbnail, width, height } = await convert(await photograph(30, 20).png().toBuffer());
    expect([width, height]).toEqual([30, 20]);
    for (const each of [image, thumbnail])
      expect(await sharp(each).metadata()).toMatchObject({ width: 30, height: 20 });
  });

  test("is turned upright and loses its metadata", async () => {
    const exif = { IFD0: { Make: "SecretCam" }, IFD3: { GPSLatitudeRef: "N", GPSLatitude: "55/1 45/1 0/1" } };
    const turned = await photograph(200, 100).jpeg().withExif(exif).withMetadata({ orientation: 6 }).toBuffer();
    expect((await sharp(turned).metadata()).orientation).toBe(6);
    const { image, thumbnail, width, height } = await convert(turned);
    expect([width, height]).toEqual([100, 200]);
    for (const each of [image, thumbnail]) {
      const { exif: kept, xmp, icc, iptc, orientation } = await sharp(each).metadata();
      expect([kept, xmp, icc, iptc, orientation]).toEqual([undefined, undefined, undefined, undefined, undefined]);
      expect(each.includes("SecretCam")).toBe(false);
    }
    // its left half is now on top
    const [red = 0, , blue = 0] = await sharp(image)
      .extract({ left: 50, top: 20, width: 1, height: 1 })
      .raw()
      .toBuffer();
    expect(blue).toBeGreaterThan(red);
  });

  test("keeps its transparency", async () => {
    const glass = sharp({ create: { width: 10, height: 10, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } });
    const { image } = await convert(await glass.png().toBuffer());
    expect((await sharp(image).metadata()).hasAlpha).toBe(true);
  });

  const svg = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10"/></svg>',
  );
  const bomb = () => photograph(9_000, 9_000).png({ compressionLevel: 1 }).toBuffer();
  const cut = async () => {
    const whole = await photograph(500, 500).jpeg().toBuffer();
    return whole.subarray(0, whole.length / 2);
  };
  test.each([
    ["empty", () => Buffer.alloc(0)],
    ["text", () => Buffer.from("hello")],
    ["SVG", () => svg],
    ["PDF", () => Buffer.from("%PDF-1.7\n%âãÏÓ\n")],
    ["TIFF", () => photograph(20, 20).tiff().toBuffer()],
    ["too large in pixels", bomb],
    ["truncated", cut],
  ])("that is %s is refused, and the next one is converted", async (_case, bytes) => {
    await expect(convert(await bytes())).rejects.toThrow(UnreadableImage);
    expect((await convert(await photograph(10, 10).png().toBuffer())).width).toBe(10);
  });
});
