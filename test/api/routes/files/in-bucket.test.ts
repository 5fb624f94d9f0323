import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import type { Reply } from "../../../support/api.js";
import type { Character } from "../../../support/cast.js";
import { fileForm, heavyPicture, pdf, pictureBytes } from "../../../support/pictures.js";
import { startS3 } from "../../../support/s3.js";
import { task } from "../../../support/task.js";
import { until } from "../../../support/until.js";

const s3 = await startS3();
process.env["S3_BUCKET"] = s3.bucket;
process.env["S3_REGION"] = s3.region;
process.env["S3_ENDPOINT"] = s3.endpoint;
process.env["S3_ACCESS_KEY_ID"] = s3.accessKeyId;
process.env["S3_SECRET_ACCESS_KEY"] = s3.secretAccessKey;

const { startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { disconnect, startQueueWorker } = await import("../../../support/queue-worker.js");
const { images } = await import("../../../../queues/index.js");
const { sql } = await import("../../../../sql/db.js");
const { convertUpload } = await import("../../../../workers/images.js");
const { runUpkeep } = await import("../../../../workers/upkeep.js");

let api: Awaited<ReturnType<typeof startApi>>;
let anna: Character;
let worker: ReturnType<typeof startQueueWorker>;

beforeAll(async () => {
  api = await startApi();
  anna = await cast.user(api.client);
  worker = startQueueWorker(images, convertUpload, 2);
});

afterAll(async () => {
  await api.stop();
  await worker.stop();
  await disconnect();
  await s3.stop();
});

const path = "/api/v1/files/upload";
const upload = (bytes: Uint8Array, type: string) => anna.client.post(path, fileForm(bytes, type));
const served = async (address: unknown, init?: RequestInit) => {
  const { pathname, search } = new URL(String(address));
  const response = await fetch(api.client.url + pathname + search, init);
  return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
};
/** The original is deleted after the answer. */
const originalsGone = () => until(() => ![...s3.objects.keys()].some((key) => key.startsWith("originals/")));
const del = ({ body }: Reply) => anna.client.delete(`/api/v1/files/${String(body["fileId"])}`);

test("an image is stored in the bucket, served from it, and deleted from it", async () => {
  const reply = await upload(await pictureBytes("jpeg", 600, 300), "image/jpeg");
  expect(reply.status).toBe(201);
  await originalsGone();
  expect([...s3.objects.keys()].map((key) => key.split("/")[0])).toEqual(["images", "images"]);
  const whole = await served(reply.body["url"]);
  expect(await sharp(whole.bytes).metadata()).toMatchObject({ format: "webp", width: 600, height: 300 });
  const piece = await served(reply.body["url"], { headers: { range: "bytes=4-9" } });
  expect(piece).toEqual({ status: 206, bytes: whole.bytes.subarray(4, 10) });
  expect((await del(reply)).status).toBe(204);
  expect(s3.objects.size).toBe(0);
  expect((await served(reply.body["url"])).status).toBe(404);
});

test("a document is stored in the bucket", async () => {
  const reply = await upload(pdf, "application/pdf");
  expect(reply.status).toBe(201);
  expect((await served(reply.body["url"])).bytes).toEqual(pdf);
  expect((await del(reply)).status).toBe(204);
});

const isDirect = (url: string) => url.startsWith(s3.endpoint);
/** The address of a part, wherever the API of this test listens. */
const here = (url: string) => {
  const { pathname, search } = new URL(url);
  return isDirect(url) ? url : api.client.url + pathname + search;
};

test("a large image is uploaded in parts, the full ones not through the API", async () => {
  const big = await heavyPicture(18);
  const reply = await upload(big, "image/png");
  expect(reply.status).toBe(202);
  const { parts, partSize, completeUrl } = reply.body["uploadPolicy"] as {
    parts: { partNumber: number; url: string; method: string; size: number | null }[];
    partSize: number;
    completeUrl: string;
  };
  expect(parts.map(({ url, size }) => [isDirect(url), size])).toEqual([
    [true, partSize],
    [true, partSize],
    [false, null],
  ]);
  for (const { url, size } of parts) {
    const tooLong = await fetch(here(url), { method: "PUT", body: Buffer.alloc(partSize + 1) });
    expect(tooLong.status).toBe(size === null ? 413 : 403);
  }
  const received = s3.received();
  const sent = await Promise.all(
    parts.map(async ({ partNumber, url: address, method }) => {
      const url = here(address);
      const body = big.subarray((partNumber - 1) * partSize, partNumber * partSize);
      const response = await fetch(url, { method, body });
      expect(response.status).toBe(200);
      return { partNumber, etag: response.headers.get("etag") };
    }),
  );
  expect(s3.received() - received).toBe(big.length);
  const done = await anna.client.post(new URL(completeUrl).pathname, { parts: sent });
  expect(done.status).toBe(201);
  expect(done.body).toMatchObject({ contentType: "image/webp", fileId: reply.body["fileId"] });
  await originalsGone();
  expect(s3.uploads.size).toBe(0);
  expect((await del(done)).status).toBe(204);
});

/** Starts an upload in parts. */
const begin = async () => {
  const reply = await upload(await heavyPicture(11), "image/png");
  expect(reply.status).toBe(202);
  return { reply, ...(reply.body["uploadPolicy"] as { parts: { url: string }[]; completeUrl: string }) };
};

test("deleting an unfinished upload deletes its parts and refuses more of them", async () => {
  const { reply, parts } = await begin();
  const full = Buffer.alloc(8 * 1_048_576);
  const put = async () =>
    Promise.all(
      parts.map(
        async ({ url }) => (await fetch(here(url), { method: "PUT", body: isDirect(url) ? full : "x" })).status,
      ),
    );
  expect(await put()).toEqual([200, 200]);
  expect((await del(reply)).status).toBe(204);
  expect(s3.uploads.size).toBe(0);
  expect(await put()).toEqual([404, 404]);
});

test("an abandoned upload is deleted, unless the bucket does not list uploads", async () => {
  const forget = async () => {
    const { reply } = await begin();
    await sql`delete from files where id = ${reply.string("fileId")}::uuid`;
    for (const each of s3.uploads.values()) each.begun = new Date(Date.now() - 25 * 3_600_000);
    await begin();
    await runUpkeep(task({ task: "clear-away-files" }));
  };
  await forget();
  expect(s3.uploads.size).toBe(1);
  s3.failNext("ListMultipartUploads", { status: 403, code: "AccessDenied" });
  await forget();
  expect(s3.uploads.size).toBe(3);
  s3.uploads.clear();
});

describe("while the bucket fails", () => {
  const slow = { status: 503, code: "SlowDown" };
  const unavailable = [503, "UNAVAILABLE", "30"];
  const outcome = ({ status, body, headers }: Reply) => [status, body["code"], headers.get("retry-after")];
  /** Makes an operation fail for good: temporary faults are tried three times. */
  const failing = (operation: string, fault = slow, times = 1) => {
    for (let n = 0; n < times * (fault === slow ? 3 : 1); n += 1) s3.failNext(operation, fault);
  };

  test.each([slow, { status: 403, code: "AccessDenied" }, { status: 404, code: "NoSuchBucket" }])(
    "an upload fails with %j as unavailable and leaves nothing behind",
    async (fault) => {
      const before = new Set(s3.objects.keys());
      failing("PutObject", fault);
      expect(outcome(await upload(await pictureBytes(), "image/jpeg"))).toEqual(unavailable);
      failing("CreateMultipartUpload", fault);
      expect(outcome(await upload(await heavyPicture(11), "image/png"))).toEqual(unavailable);
      expect([...s3.objects.keys()].filter((key) => !before.has(key))).toEqual([]);
      expect(s3.uploads.size).toBe(0);
      expect((await upload(await pictureBytes(), "image/jpeg")).status).toBe(201);
    },
  );

  test("files cannot be read, deleted or completed, but still exist", async () => {
    const shown = await upload(await pictureBytes(), "image/jpeg");
    failing("HeadObject");
    expect((await served(shown.body["url"])).status).toBe(503);
    failing("GetObject");
    expect((await served(shown.body["url"])).status).toBe(503);
    // once for each object that may belong to the file
    failing("DeleteObject", slow, 5);
    expect(outcome(await del(shown))).toEqual(unavailable);
    expect((await anna.client.get(`/api/v1/files/${shown.string("fileId")}`)).status).toBe(200);
    const { completeUrl } = await begin();
    failing("CompleteMultipartUpload");
    const parts = [{ partNumber: 1, etag: "x" }];
    expect(outcome(await anna.client.post(new URL(completeUrl).pathname, { parts }))).toEqual(unavailable);
  });
});
