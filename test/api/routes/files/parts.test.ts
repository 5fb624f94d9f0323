import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { outcome, type Reply } from "../../../support/api.js";
import { fileForm, heavyPicture, pdf, pictureBytes } from "../../../support/pictures.js";
import { until } from "../../../support/until.js";
import { anna, api, boris, here, path, upload } from "../../../support/uploads.js";

interface Policy {
  partSize: number;
  parts: { partNumber: number; url: string; method: string; size: number | null }[];
  completeUrl: string;
}

const policyOf = ({ body }: Reply) => body["uploadPolicy"] as Policy;

/** Sends a file in the parts of its policy; returns their numbers and ETags. */
const sendParts = (bytes: Buffer, { parts, partSize }: Policy) =>
  Promise.all(
    parts
      .filter(({ partNumber }) => (partNumber - 1) * partSize < bytes.length)
      .map(async ({ partNumber, url, method }) => {
        const body = bytes.subarray((partNumber - 1) * partSize, partNumber * partSize);
        const response = await fetch(here(url), { method, body });
        expect(response.status).toBe(200);
        return { partNumber, etag: String(response.headers.get("etag")) };
      }),
  );

describe("a file above 10 MB", () => {
  let big: Buffer;
  beforeAll(async () => {
    big = await heavyPicture(18);
  });
  const complete = (policy: Policy, parts: unknown, as = anna.client) =>
    as.post(new URL(policy.completeUrl).pathname, { parts });

  test("is uploaded in parts, and is then like any other file", async () => {
    const reply = await upload(big, "image/png");
    expect(outcome(reply)).toBe("202");
    const policy = policyOf(reply);
    expect(policy.parts).toHaveLength(Math.ceil(big.length / policy.partSize));
    const location = String(reply.headers.get("location"));
    // half of them to the first URLs, the others to the URLs that a restarted app reads
    const half = policy.parts.filter(({ partNumber }) => partNumber % 2 === 1);
    const first = await sendParts(big, { ...policy, parts: half });
    const found = await anna.client.get(location);
    expect([found.status, found.headers.get("location")]).toEqual([202, location]);
    const more = policyOf(found);
    expect(more).toMatchObject({ ...policy, parts: policy.parts.map(({ partNumber }) => ({ partNumber })) });
    const rest = more.parts.filter(({ partNumber }) => partNumber % 2 === 0);
    const parts = [...first, ...(await sendParts(big, { ...more, parts: rest }))];
    const [done, again] = await Promise.all([complete(policy, parts), complete(policy, [...parts].reverse())]);
    expect([outcome(done), outcome(again)]).toEqual(["201", "201"]);
    expect(done.body).toMatchObject({ contentType: "image/webp", width: 2_048, fileId: reply.body["fileId"] });
    expect(again.body).toEqual(done.body);
    expect((await anna.client.get(location)).body).toEqual(done.body);
    expect(outcome(await complete(policy, parts))).toBe("201");
    expect((await fetch(here(policy.parts.at(-1)?.url), { method: "PUT", body: "x" })).status).toBe(404);
  });

  test("is announced with its size and its first bytes, so that it is not sent twice", async () => {
    const announce = (size: number | string, as = "image/png") =>
      anna.client.post(`${path}?size=${size}`, fileForm(big.subarray(0, 4_100), as));
    const policy = policyOf(await announce(big.length));
    const full = Math.floor(big.length / policy.partSize);
    expect(policy.parts.map(({ size }) => size)).toEqual([...Array<number>(full).fill(policy.partSize), null]);
    expect(await complete(policy, await sendParts(big, policy))).toMatchObject({ status: 201, body: { width: 2_048 } });

    const small = await pictureBytes("png");
    const smallPolicy = policyOf(await anna.client.post(`${path}?size=${small.length}`, fileForm(small, "image/png")));
    expect(outcome(await complete(smallPolicy, await sendParts(small, smallPolicy)))).toBe("201");

    expect(outcome(await announce(big.length, "image/jpeg"))).toBe("400 UNSUPPORTED_MEDIA_TYPE");
    expect(outcome(await announce(10 ** 12))).toBe("413 PAYLOAD_TOO_LARGE");
    expect(outcome(await announce("0"))).toBe("400 VALIDATION_ERROR");
  });

  test("gets the size of each part that is certainly full, and an address for all the rest", async () => {
    const document = Buffer.concat([pdf, Buffer.alloc(2 * 8 * 1_048_576 - pdf.length + 1)]);
    const policy = policyOf(await upload(document, "application/pdf"));
    expect(policy.parts.map(({ size }) => size)).toEqual([policy.partSize, null, null]);
    expect(outcome(await complete(policy, await sendParts(document, policy)))).toBe("201");
  });

  test("cannot be completed with more bytes than it was announced with", async () => {
    const policy = policyOf(await upload(big, "image/png"));
    const bytes = Buffer.alloc(policy.parts.length * policy.partSize);
    big.copy(bytes);
    const refused = await complete(policy, await sendParts(bytes, policy));
    expect([outcome(refused), refused.body["errors"]]).toEqual([
      "400 VALIDATION_ERROR",
      [{ path: "parts", message: expect.stringMatching(/^the parts have more than the \d+ bytes/) }],
    ]);
    expect(outcome(await complete(policy, await sendParts(big, policy)))).toBe("201");
  });

  test("cannot be completed with fewer bytes than it was announced with", async () => {
    const announced = await anna.client.post(`${path}?size=9000000`, fileForm(pdf, "application/pdf"));
    const policy = policyOf(announced);
    const [first, last] = policy.parts;
    const short = await fetch(here(first?.url), { method: "PUT", body: Buffer.alloc(1_000) });
    expect([short.status, await short.json()]).toMatchObject([403, { reason: "OTHER_LENGTH", size: policy.partSize }]);
    const unsized = here(first?.url).replace(`bytes=${policy.partSize}`, "bytes=");
    expect((await fetch(unsized, { method: "PUT", body: Buffer.alloc(1_000) })).status).toBe(403);

    const document = Buffer.concat([pdf, Buffer.alloc(9_000_000 - pdf.length)]);
    const parts = await sendParts(document.subarray(0, policy.partSize + 500), policy);
    const refused = await complete(policy, parts);
    expect([outcome(refused), refused.body["errors"]]).toEqual([
      "400 VALIDATION_ERROR",
      [{ path: "parts", message: "the parts have fewer than the 9000000 bytes that the upload began with" }],
    ]);
    const rest = await sendParts(document, { ...policy, parts: last ? [last] : [] });
    const done = await complete(policy, [...parts.slice(0, 1), ...rest]);
    expect([outcome(done), done.body["size"]]).toEqual(["201", 9_000_000]);
  });

  test("is uploaded in parts also when its size is not declared", async () => {
    const form = new Response(fileForm(big, "image/png"));
    const response = await fetch(`${api.client.url}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${anna.client.token ?? ""}`,
        "content-type": String(form.headers.get("content-type")),
      },
      body: form.body,
      duplex: "half",
    });
    expect(response.status).toBe(202);
    const { uploadPolicy } = (await response.json()) as { uploadPolicy: Policy };
    expect(uploadPolicy.parts.map(({ size }) => size)).toEqual(Array(13).fill(null));
    const parts = await sendParts(big, uploadPolicy);
    expect(outcome(await complete(uploadPolicy, parts))).toBe("201");
  });

  test("leaves places for others' addresses only, while its client sends many parts and none to its end", async () => {
    const { parts } = policyOf(await upload(big, "image/png"));
    const { hostname, port, pathname, search } = new URL(here(parts.at(-1)?.url));
    const sockets = Array.from({ length: 128 }, () => connect(Number(port), hostname).on("error", () => undefined));
    for (const socket of sockets)
      socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n`);
    const read = () => fetch(`${api.client.url}/files/${"0".repeat(40)}.webp`);
    const refused = await until(async () => {
      const reply = await read();
      return reply.status === 429 ? reply : false;
    });
    expect([refused.headers.get("retry-after"), await refused.json()]).toMatchObject(["1", { code: "RATE_LIMIT" }]);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await read()).status === 404);
  });

  test("can be completed only by its owner and with the right parts", async () => {
    const policy = policyOf(await upload(big, "image/png"));
    const parts = await sendParts(big, policy);
    expect(outcome(await complete(policy, parts, boris.client))).toBe("404 NOT_FOUND");
    expect(outcome(await complete(policy, []))).toBe("400 VALIDATION_ERROR");
    expect(outcome(await complete(policy, [...parts, parts[0]]))).toBe("400 VALIDATION_ERROR");
    expect(outcome(await complete(policy, [{ partNumber: 9, etag: "x" }]))).toBe("400 VALIDATION_ERROR");
    const wrong = parts.map((part) => ({ ...part, etag: '"0123"' }));
    expect(outcome(await complete(policy, wrong))).toBe("400 VALIDATION_ERROR");
    expect(outcome(await complete(policy, parts))).toBe("201");
  });

  test("cannot be completed while a part is missing", async () => {
    const policy = policyOf(await upload(big, "image/png"));
    const parts = await sendParts(big, policy);
    for (const missing of [1, 2]) {
      const refused = await complete(
        policy,
        parts.filter(({ partNumber }) => partNumber !== missing),
      );
      expect([outcome(refused), refused.body["errors"]]).toEqual([
        "400 VALIDATION_ERROR",
        [{ path: "parts", message: `part ${missing} is missing` }],
      ]);
    }
    expect(outcome(await complete(policy, parts))).toBe("201");
  });

  test("accepts no more parts once it is deleted", async () => {
    const reply = await upload(big, "image/png");
    const part = policyOf(reply).parts.at(-1);
    const put = async () => (await fetch(here(part?.url), { method: "PUT", body: "x" })).status;
    expect(await put()).toBe(200);
    expect((await anna.client.delete(`/api/v1/files/${reply.string("fileId")}`)).status).toBe(204);
    expect(await put()).toBe(404);
    expect(await readdir(join(process.env["STORAGE_DIR"] ?? "", "uploads"))).not.toContain(
      (reply.body["uploadPolicy"] as { uploadId: string }).uploadId,
    );
  });

  test("is refused when its content differs from its first bytes", async () => {
    const policy = policyOf(await upload(big, "image/png"));
    const another = Buffer.alloc(big.length);
    (await pictureBytes("jpeg")).copy(another);
    const parts = await sendParts(another, policy);
    expect(outcome(await complete(policy, parts))).toBe("400 UNSUPPORTED_MEDIA_TYPE");
    expect(outcome(await complete(policy, parts))).toBe("404 NOT_FOUND");
  });

  test("accepts only parts with a valid URL and of the allowed size", async () => {
    const policy = policyOf(await upload(big, "image/png"));
    const url = new URL(here(policy.parts.at(-1)?.url));
    const put = async (change: (url: URL) => void, body: string | Buffer = "x") => {
      const changed = new URL(url);
      change(changed);
      return (await fetch(changed, { method: "PUT", body })).status;
    };
    expect(await put((changed) => (changed.pathname = changed.pathname.replace(/\d+$/, "1")))).toBe(403);
    expect(await put((changed) => changed.searchParams.set("expires", "99999999999"))).toBe(403);
    expect(await put((changed) => changed.searchParams.delete("signature"))).toBe(403);
    expect(await put(() => undefined, Buffer.alloc(policy.partSize + 1))).toBe(413);
    expect(await put(() => undefined)).toBe(200);
    const inChunks = await fetch(url, { method: "PUT", body: new Blob(["x"]).stream(), duplex: "half" });
    expect([inChunks.status, await inChunks.json()]).toMatchObject([400, { code: "BAD_REQUEST" }]);
  });
});
