import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { inspect } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { s3Storage, type S3Options } from "../../../lib/storage/s3-storage.js";
import {
  NoFile,
  StorageUnavailable,
  WrongParts,
  type PartsUpload,
  type Storage,
} from "../../../lib/storage/storage.js";
import { startS3, type Fault } from "../../support/s3.js";
import { checkSignature } from "../../support/s3-signature.js";
import { describeParts, describeStorage, upTo } from "./storage-promises.js";

const PART_BYTES = 5 * 1_048_576;

let s3: Awaited<ReturnType<typeof startS3>>;
let storage: Storage;

const open = (options: Partial<S3Options> = {}) => s3Storage({ ...s3, credentials: s3, ...options });

beforeAll(async () => {
  s3 = await startS3();
});

beforeEach(() => {
  storage = open();
  s3.objects.clear();
  s3.uploads.clear();
  s3.asked.length = 0;
});

afterAll(() => s3.stop());

const later = (seconds: number) => new Date(Date.now() + seconds * 1_000);
const put = (key: string, bytes: Buffer) => storage.put(key, Readable.from([bytes]), "image/webp");
const get = async (key: string) => buffer(await storage.read(key));
const send = (url: string, body: Buffer | string) => fetch(url, { method: "PUT", body });
const partUrl = async (upload: PartsUpload, partNumber: number, bytes: number, seconds = 60) =>
  (await storage.partUrl(upload, partNumber, bytes, later(seconds))) ?? "";
async function uploadPart(upload: PartsUpload, partNumber: number, bytes: Buffer): Promise<string> {
  const response = await send(await partUrl(upload, partNumber, bytes.length), bytes);
  expect(response.status).toBe(200);
  return response.headers.get("etag") ?? "";
}
const failures = (operation: string, fault: Fault, times: number) => {
  for (let n = 0; n < times; n++) s3.failNext(operation, fault);
};
const times = (operation: string) => s3.asked.filter((request) => request.operation === operation).length;

const trial = { storage: () => storage, count: () => Promise.resolve(s3.objects.size + s3.uploads.size), uploadPart };
describeStorage("a bucket of S3", trial);
describeParts("a bucket of S3", trial);
describeParts("a bucket of S3 through this service", {
  ...trial,
  uploadPart: (upload, partNumber, bytes) => storage.putPart(upload, partNumber, Readable.from([bytes]), bytes.length),
});

describe("a request to S3", () => {
  test("has the file's metadata, and no checksum that other vendors do not know", async () => {
    await put("short.webp", Buffer.from("short"));
    await put("long.webp", Buffer.alloc(PART_BYTES + 1));
    await get("long.webp");
    const upload = await storage.beginParts("parts.pdf", "application/pdf");
    await storage.joinParts(
      upload,
      [{ partNumber: 1, etag: await uploadPart(upload, 1, Buffer.from("part")) }],
      upTo(4),
    );
    const types = ["short.webp", "long.webp", "parts.pdf"].map((key) => s3.objects.get(key)?.headers["content-type"]);
    expect(types).toEqual(["image/webp", "image/webp", "application/pdf"]);
    expect(s3.asked.flatMap(({ headers }) => headers).filter((name) => name.includes("checksum"))).toEqual([]);
  });

  const faults: [string, Fault][] = [
    ["an error of S3", { status: 500, code: "InternalError" }],
    ["the word that it is asked too much", { status: 503, code: "SlowDown" }],
    ["a connection that is cut", "cut"],
    ["an answer that is lost", "lost"],
    ["silence", "silence"],
  ];
  test.each(faults)("is repeated after %s, with the same result", async (_name, fault) => {
    if (fault === "silence") storage = open({ silenceMs: 1_000 });
    const long = Buffer.alloc(2 * PART_BYTES + 1, 7);
    failures("PutObject", fault, 1);
    await put("short.webp", Buffer.from("short"));
    for (const operation of ["CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload"])
      failures(operation, fault, 1);
    await put("long.webp", long);
    for (const operation of ["HeadObject", "GetObject", "DeleteObject"]) failures(operation, fault, 1);
    expect(await storage.size("long.webp")).toBe(long.length);
    expect((await get("long.webp")).equals(long)).toBe(true);
    await storage.delete("short.webp");
    // an upload whose id was lost stays until the bucket's own rule removes it
    expect(s3.uploads.size).toBe(fault === "lost" ? 1 : 0);
    s3.uploads.clear();

    const upload = await storage.beginParts("parts.pdf", "application/pdf");
    const part = { partNumber: 1, etag: await uploadPart(upload, 1, Buffer.from("part")) };
    failures("CompleteMultipartUpload", fault, 1);
    await storage.joinParts(upload, [part], upTo(4));
    const other = await storage.beginParts("other.pdf", "application/pdf");
    failures("AbortMultipartUpload", fault, 1);
    await storage.dropParts(other);
    expect([...s3.objects.keys()]).toEqual(["long.webp", "parts.pdf"]);
    expect(s3.uploads.size).toBe(0);
  });

  test("is made three times at most", async () => {
    failures("HeadObject", { status: 503, code: "SlowDown" }, 3);
    await expect(storage.size("a.webp")).rejects.toThrow("S3 answered HeadObject with 503");
    expect(times("HeadObject")).toBe(3);
    storage = open({ silenceMs: 1_000 });
    failures("GetObject", "silence", 3);
    await expect(storage.read("a.webp")).rejects.toThrow("no answer from S3 to GetObject (TimeoutError)");
    expect(times("GetObject")).toBe(3);
  });

  test("that is refused is not reported as a missing file, and is not repeated", async () => {
    failures("HeadObject", { status: 403, code: "AccessDenied" }, 1);
    await expect(storage.size("a.webp")).rejects.toThrow("S3 answered HeadObject with 403");
    expect(times("HeadObject")).toBe(1);
  });

  test("that fails with the status 200 is an error", async () => {
    const upload = await storage.beginParts("parts.pdf", "application/pdf");
    const part = { partNumber: 1, etag: await uploadPart(upload, 1, Buffer.from("part")) };
    failures("CompleteMultipartUpload", "late", 3);
    const outcome = storage.joinParts(upload, [part], upTo(4));
    await expect(outcome).rejects.toThrow("InternalError");
    await expect(outcome).rejects.not.toThrow(WrongParts);
    await storage.joinParts(upload, [part], upTo(4));
    expect(await get("parts.pdf")).toEqual(Buffer.from("part"));
  });
});

describe("the bucket", () => {
  test("is reported as present or missing", async () => {
    await storage.check();
    await expect(open({ bucket: "elsewhere" }).check()).rejects.toThrow(StorageUnavailable);
    // a HEAD response has no more details
    expect(await open({ bucket: "elsewhere" }).size("a.webp")).toBeNull();
    await expect(open({ bucket: "elsewhere" }).read("a.webp")).rejects.toThrow(StorageUnavailable);
  });
});

describe("a file being stored", () => {
  test("is read from its stream no faster than S3 accepts it", async () => {
    const before = s3.received();
    let [given, ahead] = [0, 0];
    const body = Readable.from(
      (function* () {
        for (let n = 0; n < 640; n++) {
          yield Buffer.alloc(65_536, n);
          given += 65_536;
          ahead = Math.max(ahead, given - (s3.received() - before));
        }
      })(),
    );
    await storage.put("long.webp", body, "image/webp");
    expect(await storage.size("long.webp")).toBe(640 * 65_536);
    expect(ahead).toBeLessThan(4 * PART_BYTES);
  });

  test.each(["CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload"])(
    "leaves nothing behind when %s fails for good, and is read no further",
    async (operation) => {
      await put("kept.webp", Buffer.from("before"));
      failures(operation, { status: 403, code: "AccessDenied" }, 1);
      let given = 0;
      const body = Readable.from(
        (function* () {
          const end = operation === "CompleteMultipartUpload" ? 200 : 2_000;
          for (; given < end; given++) yield Buffer.alloc(65_536);
        })(),
      );
      await expect(storage.put("kept.webp", body, "image/webp")).rejects.toThrow(`S3 answered ${operation} with 403`);
      expect(body.destroyed).toBe(true);
      expect(given).toBeLessThan(600);
      expect(s3.uploads.size).toBe(0);
      expect([...s3.objects.keys()]).toEqual(["kept.webp"]);
      expect(await get("kept.webp")).toEqual(Buffer.from("before"));
    },
  );
});

describe("a file being read", () => {
  test("fails when the download breaks off", async () => {
    await put("a.webp", Buffer.alloc(300_000));
    failures("GetObject", "half", 1);
    const body = await storage.read("a.webp");
    await expect(buffer(body)).rejects.toThrow();
  });

  test("that does not exist is reported as gone", async () => {
    await expect(storage.read("a.webp")).rejects.toThrow(NoFile);
  });
});

describe("parts", () => {
  const only = async (upload: PartsUpload, bytes: Buffer) => [
    { partNumber: 1, etag: await uploadPart(upload, 1, bytes) },
  ];

  test("can be joined again when the answer was lost", async () => {
    const upload = await storage.beginParts("parts.pdf", "application/pdf");
    const parts = await only(upload, Buffer.from("part"));
    await storage.joinParts(upload, parts, upTo(100));
    await storage.joinParts(upload, parts, upTo(100));
    await expect(storage.joinParts(upload, [{ partNumber: 1, etag: '"another"' }], upTo(4))).rejects.toThrow(
      WrongParts,
    );
  });

  test("are refused when they are too small, except the last", async () => {
    const upload = await storage.beginParts("parts.pdf", "application/pdf");
    const [first] = await only(upload, Buffer.from("small"));
    const parts = [...(first ? [first] : []), { partNumber: 2, etag: await uploadPart(upload, 2, Buffer.from("x")) }];
    await expect(storage.joinParts(upload, parts, upTo(100))).rejects.toThrow(WrongParts);
  });

  test("have URLs for one part of one upload, which expire and allow no unsigned headers", async () => {
    const upload = await storage.beginParts("parts.pdf", "application/pdf");
    const address = new URL(await partUrl(upload, 1, 4));
    expect(address.origin).toBe(s3.endpoint);
    expect(address.searchParams.get("X-Amz-SignedHeaders")).toBe("content-length;host");
    expect(Number(address.searchParams.get("X-Amz-Expires"))).toBeLessThanOrEqual(60);
    expect(address.search).not.toMatch(/checksum/i);
    const elsewhere = new URL(address);
    elsewhere.searchParams.set("partNumber", "2");
    const longer = new URL(address);
    longer.searchParams.set("X-Amz-Expires", "3600");
    for (const { href } of [elsewhere, longer]) expect((await send(href, "part")).status).toBe(403);
    for (const seconds of [0, -60]) {
      const expired = await send(await partUrl(upload, 1, 4, seconds), "part");
      expect(expired.status).toBe(403);
      expect(await expired.text()).toContain("Request has expired");
    }
    expect((await send(address.href, "part")).status).toBe(200);
  });

  test("have URLs that take exactly the size they were signed for", async () => {
    const upload = await storage.beginParts("parts.pdf", "application/pdf");
    const url = await partUrl(upload, 1, 4);
    for (const body of ["", "par", "parts", "x".repeat(100_000)]) expect((await send(url, body)).status).toBe(403);
    const inChunks = await fetch(url, { method: "PUT", body: new Blob(["part"]).stream(), duplex: "half" });
    expect(inChunks.status).toBe(403);
    expect(s3.uploads.get(upload.uploadId)?.parts.size).toBe(0);
    expect((await send(url, "part")).status).toBe(200);
  });

  test("sent through this service that break off are not stored", async () => {
    const upload = await storage.beginParts("parts.pdf", "application/pdf");
    const body = Readable.from(
      (function* () {
        yield Buffer.from("pa");
        throw new Error("the client is gone");
      })(),
    );
    await expect(storage.putPart(upload, 1, body, 4)).rejects.toThrow(StorageUnavailable);
    expect(s3.uploads.get(upload.uploadId)?.parts.size).toBe(0);
  });
});

describe("the access key", () => {
  test("can be the machine's own", async () => {
    process.env["AWS_ACCESS_KEY_ID"] = s3.accessKeyId;
    process.env["AWS_SECRET_ACCESS_KEY"] = s3.secretAccessKey;
    try {
      await put("a.webp", Buffer.from("a"));
      expect(await open({ credentials: undefined }).size("a.webp")).toBe(1);
    } finally {
      delete process.env["AWS_ACCESS_KEY_ID"];
      delete process.env["AWS_SECRET_ACCESS_KEY"];
    }
  });

  test("is in no error, nor is anything signed with it", async () => {
    const wrong = open({ credentials: { ...s3, secretAccessKey: "a-wrong-secret" } });
    const upload = { key: "a.webp", uploadId: "gone" };
    const bytes = Readable.from([Buffer.from("a")]);
    const long = Readable.from([Buffer.alloc(PART_BYTES + 1)]);
    const outcomes = await Promise.allSettled([
      wrong.put("a.webp", bytes, "image/webp"),
      wrong.put("a.webp", long, "image/webp"),
      wrong.size("a.webp"),
      wrong.read("a.webp"),
      wrong.delete("a.webp"),
      wrong.beginParts("a.webp", "image/webp"),
      wrong.joinParts(upload, [{ partNumber: 1, etag: "x" }], upTo(1)),
      wrong.putPart(upload, 1, Readable.from([Buffer.from("a")]), 1),
      wrong.dropParts(upload),
      open({ endpoint: "http://127.0.0.1:9" }).size("a.webp"),
    ]);
    const texts = outcomes.map((outcome) =>
      outcome.status === "rejected" ? inspect(outcome.reason, { depth: Infinity, showHidden: true }) : "no error",
    );
    expect(texts).toHaveLength(10);
    for (const text of texts) {
      expect(text).toMatch(/S3Failure/);
      expect(text).not.toMatch(/wrong-secret|AKIDFILES|[sS]ignature=|StringToSign|AWS4-HMAC|[0-9a-f]{64}/);
    }
    expect(texts[0]).toContain("S3 answered PutObject with 403 SignatureDoesNotMatch");
    expect(texts.at(-1)).toContain("no answer from S3 to HeadObject");
  });
});

describe("the stand-in for S3", () => {
  // the examples in AWS's description of Signature Version 4
  const keys = {
    accessKeyId: "AKIAIOSFODNN7EXAMPLE",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    region: "us-east-1",
  };
  const time = Date.UTC(2013, 4, 24);
  const host = "examplebucket.s3.amazonaws.com";
  const credential = "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request";
  const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  const inHeader = {
    method: "GET",
    url: "/test.txt",
    headers: {
      host,
      range: "bytes=0-9",
      "x-amz-content-sha256": nothing,
      "x-amz-date": "20130524T000000Z",
      authorization: `AWS4-HMAC-SHA256 Credential=${credential},SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41`,
    },
  };
  const query = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${encodeURIComponent(credential)}&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host`;
  const inQuery = {
    method: "GET",
    url: `/test.txt?${query}&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404`,
    headers: { host },
  };

  test("accepts AWS's examples", () => {
    expect(checkSignature(inHeader, keys, time)).toBe(nothing);
    expect(checkSignature(inQuery, keys, time)).toBe("UNSIGNED-PAYLOAD");
  });

  test.each([
    ["another method", { ...inQuery, method: "PUT" }, time, "SignatureDoesNotMatch"],
    ["another path", { ...inQuery, url: inQuery.url.replace("test", "best") }, time, "SignatureDoesNotMatch"],
    ["a longer expiry", { ...inQuery, url: inQuery.url.replace("86400", "86401") }, time, "SignatureDoesNotMatch"],
    ["another host", { ...inQuery, headers: { host: "elsewhere" } }, time, "SignatureDoesNotMatch"],
    ["a header that is not signed", { ...inQuery, headers: { host, "x-amz-acl": "public" } }, time, "AccessDenied"],
    ["an expired URL", inQuery, time + 86_400_000, "AccessDenied"],
    ["no signature", { ...inHeader, headers: { host } }, time, "AccessDenied"],
    [
      "another range",
      { ...inHeader, headers: { ...inHeader.headers, range: "bytes=0-10" } },
      time,
      "SignatureDoesNotMatch",
    ],
    ["a wrong clock", inHeader, time + 901_000, "RequestTimeTooSkewed"],
  ])("refuses %s", (_name, request, now, code) => {
    expect(() => checkSignature(request, keys, now)).toThrow(expect.objectContaining({ code }));
  });
});
