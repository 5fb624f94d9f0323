import sharp, { type FormatEnum } from "sharp";

/** Half blue, half red: whoever turns it is found out. */
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

/** A picture of at least so many bytes, made of noise that cannot be compressed. */
export const heavyPicture = (megabytes: number): Promise<Buffer> => {
  const side = Math.ceil(Math.sqrt((megabytes * 1_048_576) / 3) * 1.01);
  return sharp({
    create: {
      width: side,
      height: side,
      channels: 3,
      background: "#000000",
      noise: { type: "gaussian", mean: 128, sigma: 60 },
    },
  })
    .png({ compressionLevel: 0 })
    .toBuffer();
};

/** A form with one file in it. */
export function fileForm(bytes: Uint8Array, type: string, part = "file"): FormData {
  const form = new FormData();
  form.append(part, new Blob([bytes], { type }), "picture");
  return form;
}

export const pdf = Buffer.from("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n%%EOF\n", "latin1");
