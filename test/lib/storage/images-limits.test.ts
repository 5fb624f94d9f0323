import { readdir, readFile } from "node:fs/promises";
import { getPriority } from "node:os";
import { PassThrough, Readable } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import { convertImage, UnreadableImage } from "../../../lib/storage/images.js";
import { animatedGif, blankPng, picture, pictureBytes } from "../../support/pictures.js";
import { alive, childrenOf, startProcess } from "../../support/processes.js";
import { until } from "../../support/until.js";

const convert = (bytes: Uint8Array) => convertImage(Readable.from([bytes]));
const ordinary = async () => await convert(await pictureBytes());
/** As large as a phone's photograph; its decoder is the slowest of all accepted types. */
const slow = await picture(4_000, 3_000).avif({ effort: 0 }).toBuffer();
const unlimited = { megabytes: 4_096, cpuSeconds: 600, seconds: 600 };

/** Starts the conversion of an image that arrives when the test writes it; returns the process that converts it. */
async function openConversion(limits = unlimited) {
  // an idle converter would be used again
  for (const idle of await childrenOf(process.pid)) {
    process.kill(idle, "SIGKILL");
    await until(async () => !(await alive(idle)));
  }
  const original = new PassThrough();
  const converted = convertImage(original, limits);
  converted.catch(() => undefined);
  const pid = await until(async () => (await childrenOf(process.pid))[0]);
  return { original, converted, pid };
}

describe("an image is refused", () => {
  test("when a side is too long, also two at once, while an ordinary one is converted", async () => {
    const bomb = await blankPng(1_000_000, 49);
    const [first, second, other] = await Promise.allSettled([convert(bomb), convert(bomb), ordinary()]);
    for (const each of [first, second])
      expect(each).toMatchObject({ reason: new UnreadableImage("Error: a side is longer than 16383 pixels") });
    expect(other).toMatchObject({ value: { width: 60, height: 40 } });
  });

  test("when it is too large once it is decoded", async () => {
    const refused = convert(await blankPng(6_000, 6_000));
    await expect(refused).rejects.toThrow(new UnreadableImage("Error: decoded it is larger than 200 MB"));
  });

  test("when its conversion takes too much memory, and the next one is converted", async () => {
    const image = Readable.from([await blankPng(4_900, 4_900, { interlaced: true })]);
    const refused = convertImage(image, { ...unlimited, megabytes: 200 });
    await expect(refused).rejects.toThrow(new UnreadableImage("its conversion takes more than 200 MB of memory"));
    expect(await ordinary()).toMatchObject({ width: 60 });
  });

  test("when its conversion takes too much CPU time, and the next one is converted", async () => {
    const refused = convertImage(Readable.from([slow]), { ...unlimited, cpuSeconds: 0.2 });
    await expect(refused).rejects.toThrow(new UnreadableImage("its conversion takes more than 0.2 s of CPU time"));
    expect(await ordinary()).toMatchObject({ width: 60 });
  });

  test("when its conversion is stuck, and the next one is converted", async () => {
    const { original, converted, pid } = await openConversion({ ...unlimited, seconds: 1 });
    process.kill(pid, "SIGSTOP");
    original.end(await pictureBytes());
    await expect(converted).rejects.toThrow(new UnreadableImage("its conversion takes longer than 1 s"));
    expect(await ordinary()).toMatchObject({ width: 60 });
  });
});

describe("an image is converted", () => {
  test("from the first of its frames, however many there are", async () => {
    const { width, height, image } = await convert(animatedGif(2_000, 2_000, 1_000));
    expect([width, height, (await sharp(image).metadata()).pages]).toEqual([2_000, 2_000, undefined]);
  });

  test.each(["webp", "gif"] as const)("from the first frame of an animated %s", async (format) => {
    const frame = { width: 20, height: 20, channels: 3 } as const;
    const [blue, red] = await Promise.all(
      ["#0000ff", "#ff0000"].map((background) =>
        sharp({ create: { ...frame, background } })
          .raw()
          .toBuffer(),
      ),
    );
    const frames = Buffer.concat([blue!, red!]);
    const animated = sharp(frames, { raw: { width: 20, height: 40, channels: 3, pageHeight: 20 } });
    const { width, height, image } = await convert(await animated.toFormat(format).toBuffer());
    expect([width, height]).toEqual([20, 20]);
    const { channels } = await sharp(image).stats();
    expect(channels[2]!.mean).toBeGreaterThan(200);
  });

  test("when its decoder is slow", async () => {
    expect((await convert(slow)).width).toBe(2_048);
  });

  test("without what follows it in the file", async () => {
    const page = Buffer.from("<!doctype html><script>alert(1)</script>");
    const { image, thumbnail } = await convert(Buffer.concat([await pictureBytes(), page]));
    for (const each of [image, thumbnail]) expect(each.includes("<script>")).toBe(false);
  });
});

describe("a converter", () => {
  test("that is killed says nothing about its image, and is replaced", async () => {
    const { converted, pid } = await openConversion();
    process.kill(pid, "SIGKILL");
    await expect(converted).rejects.not.toBeInstanceOf(UnreadableImage);
    expect(await ordinary()).toMatchObject({ width: 60 });
  });

  test("whose image cannot be read from storage says nothing about it, and is replaced", async () => {
    const { original, converted } = await openConversion();
    original.destroy(new Error("storage is gone"));
    await expect(converted).rejects.toThrow(new Error("storage is gone"));
    expect(await ordinary()).toMatchObject({ width: 60 });
  });

  test("is used again", async () => {
    await ordinary();
    const before = await childrenOf(process.pid);
    await ordinary();
    expect(await childrenOf(process.pid)).toEqual(before);
  });

  test("has no secrets in its environment, and is killed first when memory runs out", async () => {
    const { original, converted, pid } = await openConversion();
    original.end(await pictureBytes());
    await converted;
    const environment = (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0").filter(Boolean);
    expect(environment.filter((entry) => !entry.startsWith("NODE_CHANNEL_"))).toEqual([]);
    expect(await readFile(`/proc/${pid}/oom_score_adj`, "utf8")).toBe("1000\n");
  });

  test("leaves the CPU to all else, with each of its threads", async () => {
    const { original, converted, pid } = await openConversion();
    original.end(await pictureBytes());
    await converted;
    const threads = (await readdir(`/proc/${pid}/task`)).map(Number);
    expect(new Set(threads.map(getPriority))).toEqual(new Set([10]));
  });

  test("ignores the signals that stop a worker", async () => {
    await ordinary();
    const { original, converted, pid } = await openConversion();
    original.end(await pictureBytes());
    await converted;
    process.kill(pid, "SIGTERM");
    process.kill(pid, "SIGINT");
    await ordinary();
    expect(await childrenOf(process.pid)).toEqual([pid]);
  });

  test("ends with the process that started it", async () => {
    const parent = startProcess("convert.ts");
    const pid = await until(async () => (await childrenOf(parent.pid))[0]);
    parent.kill("SIGKILL");
    await until(async () => !(await alive(pid)));
  });
});
