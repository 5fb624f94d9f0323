import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { s3Storage } from "../../lib/s3-storage.js";
import type { PartsUpload, Storage } from "../../lib/storage.js";
import { startS3 } from "../support/s3.js";
import { describeParts, describeStorage } from "./storage-promises.js";

let s3: Awaited<ReturnType<typeof startS3>>;
let storage: Storage;

beforeAll(async () => {
  s3 = await startS3();
  storage = s3Storage({ ...s3, credentials: s3, silenceMs: 1_000 });
});

afterAll(() => s3.stop());

const inAnHour = () => new Date(Date.now() + 3_600_000);
async function uploadPart(upload: PartsUpload, partNumber: number, bytes: Buffer): Promise<string> {
  const url = await storage.partUrl(upload, partNumber, inAnHour());
  const response = await fetch(url, { method: "PUT", body: bytes });
  expect(response.status).toBe(200);
  return response.headers.get("etag") ?? "";
}

const trial = { storage: () => storage, count: () => Promise.resolve(s3.objects.size + s3.uploads.size), uploadPart };
describeStorage("a bucket of S3", trial);
describeParts("a bucket of S3", trial);
