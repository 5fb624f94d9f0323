import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";
import { crc32, createDeflate } from "node:zlib";
import sharp, { type FormatEnum } from "sharp";

/** Half blue, half red, so that a rotation shows. */
export const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: "#ff0000" } }).composite([
    {
      input: { create: { width: Math.floor(width / 2), height, channels: 3, background: "#0000ff" } },
      left: 0,
      top: 0,
    },
  ]);

/** A picture as bytes. */
export const pictureBytes = (format: string = "jpeg", width = 60, height = 40): Promise<Buffer> =>
  picture(width, height)
    .toFormat(format as keyof FormatEnum)
    .toBuffer();

/** A picture of at least this size in MB, which is quickly converted: it is not compressed, and of one colour. */
export const heavyPicture = (megabytes: number): Promise<Buffer> => {
  const side = Math.ceil(Math.sqrt((megabytes * 1_048_576) / 3) * 1.01);
  return sharp({ create: { width: side, height: side, channels: 3, background: "#204080" } })
    .png({ compressionLevel: 0 })
    .toBuffer();
};

/** First column, first row, and steps of the passes of an interlaced PNG. */
const passes = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

function pngChunk(name: string, content: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(name), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

/** A transparent PNG of 8 bytes a pixel, which are a thousandth of that in the file; a decoder holds an interlaced one whole. */
export async function blankPng(width: number, height: number, { interlaced = false } = {}): Promise<Buffer> {
  let left = 0;
  for (const [x, y, right, down] of interlaced ? passes : ([[0, 0, 1, 1]] as const))
    left += Math.ceil((height - y) / down) * (1 + Math.ceil((width - x) / right) * 8);
  const zeros = function* () {
    const piece = Buffer.alloc(1_048_576);
    for (; left > 0; left -= piece.length) yield piece.subarray(0, left);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([16, 6, 0, 0, interlaced ? 1 : 0], 8);
  const pixels = await buffer(Readable.from(zeros()).pipe(createDeflate({ level: 9 })));
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    pngChunk("IHDR", header),
    pngChunk("IDAT", pixels),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
}

/** An animated GIF, each of whose frames changes one pixel. */
export function animatedGif(width: number, height: number, frames: number): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt16LE(width, 0);
  size.writeUInt16LE(height, 2);
  // a table of two colours
  const header = [Buffer.from("GIF89a"), size, Buffer.from([0x80, 0, 0, 255, 0, 0, 0, 0, 255])];
  const frame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]);
  return Buffer.concat([...header, ...Array<Buffer>(frames).fill(frame), Buffer.from([0x3b])]);
}

/** A form with one file in it. */
export function fileForm(bytes: Uint8Array, type: string, part = "file"): FormData {
  const form = new FormData();
  form.append(part, new Blob([bytes], { type }), "picture");
  return form;
}

export const pdf = Buffer.from("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n%%EOF\n", "latin1");
