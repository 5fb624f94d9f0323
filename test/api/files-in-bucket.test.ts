import { afterAll, beforeAll, expect, test } from "@jest/globals";
import sharp from "sharp";
import type { Reply } from "../support/api.js";
import type { Character } from "../support/cast.js";
import { fileForm, heavyPicture, pdf, pictureBytes } from "../support/pictures.js";
import { startS3 } from "../support/s3.js";

const s3 = await startS3();
// however busy the machine is, a file that is still converted is none of the cases here
process.env["SYNC_WAIT_MS"] = "60000";
process.env["S3_BUCKET"] = s3.bucket;
process.env["S3_REGION"] = s3.region;
process.env["S3_ENDPOINT"] = s3.endpoint;
process.env["S3_ACCESS_KEY_ID"] = s3.accessKeyId;
process.env["S3_SECRET_ACCESS_KEY"] = s3.secretAccessKey;

const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { closeBroker } = await import("../../queues/broker.js");
const { images } = await import("../../queues/index.js");
const { closeDatabase } = await import("../../sql/db.js");
const { closeSignals } = await import("../../sql/signals.js");
const { consume } = await import("../../workers/consume.js");
const { settleImage } = await import("../../workers/images.js");
const { startRelay } = await import("../../workers/relay.js");

let api: Awaited<ReturnType<typeof startApi>>;
let anna: Character;
let relay: ReturnType<typeof startRelay>;
let consumer: ReturnType<typeof consume>;

beforeAll(async () => {
  api = await startApi();
  anna = await cast.user(api.client);
  relay = startRelay([images]);
  consumer = consume(images, settleImage, { concurrency: 2, signal: new AbortController().signal });
});

afterAll(async () => {
  await api.stop();
  await Promise.all([relay.stop(), consumer.close()]);
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
  await s3.stop();
});

const path = "/api/v1/files/upload";
const upload = (bytes: Uint8Array, type: string) => anna.client.post(path, fileForm(bytes, type));
const served = async (address: unknown, init?: RequestInit) => {
  const { pathname, search } = new URL(String(address));
  const response = await fetch(api.client.url + pathname + search, init);
  return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
};
const del = ({ body }: Reply) => anna.client.delete(`/api/v1/files/${String(body["fileId"])}`);

test("an image is kept in the bucket, is served from it, and leaves it when it is deleted", async () => {
  const reply = await upload(await pictureBytes("jpeg", 600, 300), "image/jpeg");
  expect(reply.status).toBe(201);
  expect([...s3.objects.keys()].map((key) => key.split("/")[0])).toEqual(["images", "images"]);
  const whole = await served(reply.body["url"]);
  expect(await sharp(whole.bytes).metadata()).toMatchObject({ format: "webp", width: 600, height: 300 });
  const piece = await served(reply.body["url"], { headers: { range: "bytes=4-9" } });
  expect(piece).toEqual({ status: 206, bytes: whole.bytes.subarray(4, 10) });
  expect((await del(reply)).status).toBe(204);
  expect(s3.objects.size).toBe(0);
  expect((await served(reply.body["url"])).status).toBe(404);
});

test("a document is kept in the bucket", async () => {
  const reply = await upload(pdf, "application/pdf");
  expect(reply.status).toBe(201);
  expect((await served(reply.body["url"])).bytes).toEqual(pdf);
  expect((await del(reply)).status).toBe(204);
});

test("a large image goes to the bucket in parts, past the API", async () => {
  const big = await heavyPicture(11);
  const reply = await upload(big, "image/png");
  expect(reply.status).toBe(202);
  const { parts, partSize, completeUrl } = reply.body["uploadPolicy"] as {
    parts: { partNumber: number; url: string; method: string }[];
    partSize: number;
    completeUrl: string;
  };
  const received = s3.received();
  const sent = await Promise.all(
    parts.map(async ({ partNumber, url, method }) => {
      expect(new URL(url).origin).toBe(s3.endpoint);
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
  expect([...s3.objects.keys()].filter((key) => key.startsWith("originals/"))).toEqual([]);
  expect(s3.uploads.size).toBe(0);
  expect((await del(done)).status).toBe(204);
});

test("while the bucket cannot be reached an upload is refused as unavailable, and nothing is left of it", async () => {
  for (let attempt = 0; attempt < 3; attempt += 1) s3.failNext("PutObject", { status: 503, code: "SlowDown" });
  const reply = await upload(await pictureBytes(), "image/jpeg");
  expect([reply.status, reply.body["code"]]).toEqual([503, "UNAVAILABLE"]);
  expect(s3.objects.size).toBe(0);
  expect((await upload(await pictureBytes(), "image/jpeg")).status).toBe(201);
});
