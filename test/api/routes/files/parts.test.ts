import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { images } from "../../../../queues/index.js";
import { convertUpload } from "../../../../workers/images.js";
import { startApi, type Reply } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { fileForm, heavyPicture, pictureBytes } from "../../../support/pictures.js";
import { disconnect, startQueueWorker } from "../../../support/queue-worker.js";

let api: Awaited<ReturnType<typeof startApi>>;
let anna: cast.Character;
let boris: cast.Character;
let worker: ReturnType<typeof startQueueWorker>;

beforeAll(async () => {
  api = await startApi();
  anna = await cast.user(api.client);
  boris = await cast.user(api.client);
  worker = startQueueWorker(images, convertUpload, 2);
});

afterAll(async () => {
  await api.stop();
  await worker.stop();
  await disconnect();
});

const path = "/api/v1/files/upload";
const upload = (bytes: Uint8Array, type: string) => anna.client.post(path, fileForm(bytes, type));
const outcome = ({ status, body }: Reply) => (status < 400 ? String(status) : `${status} ${String(body["code"])}`);

/** Where a given address leads in this test. */
const here = (address: unknown) => {
  const { pathname, search } = new URL(String(address));
  return api.client.url + pathname + search;
};

interface Policy {
  partSize: number;
  parts: { partNumber: number; url: string; method: string }[];
  completeUrl: string;
}

const policyOf = ({ body }: Reply) => body["uploadPolicy"] as Policy;

/** Sends a file in the parts of its policy; answers their numbers and ETags. */
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

  test("comes in parts, and is then as any other", async () => {
    const reply = await upload(big, "image/png");
    expect(outcome(reply)).toBe("202");
    const policy = policyOf(reply);
    expect(policy.parts).toHaveLength(Math.ceil(big.length / policy.partSize));
    const location = String(reply.headers.get("location"));
    // half of them at the first addresses, the others at those that an app finds which had to start again
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
    expect((await fetch(here(policy.parts[0]?.url), { method: "PUT", body: "x" })).status).toBe(404);
  });

  test("also when it does not say how large it is", async () => {
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
    expect(uploadPolicy.parts).toHaveLength(13);
    const parts = await sendParts(big, uploadPolicy);
    expect(outcome(await complete(uploadPolicy, parts))).toBe("201");
  });

  test("is nobody else's to finish, and not with other parts", async () => {
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

  test("is not finished while a part is missing, and can be then", async () => {
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

  test("is gone when it is deleted, and takes no more parts", async () => {
    const reply = await upload(big, "image/png");
    const [part] = policyOf(reply).parts;
    const put = async () => (await fetch(here(part?.url), { method: "PUT", body: "x" })).status;
    expect(await put()).toBe(200);
    expect((await anna.client.delete(`/api/v1/files/${reply.string("fileId")}`)).status).toBe(204);
    expect(await put()).toBe(404);
    expect(await readdir(join(process.env["STORAGE_DIR"] ?? "", "uploads"))).not.toContain(
      (reply.body["uploadPolicy"] as { uploadId: string }).uploadId,
    );
  });

  test("is refused when it is another in the end", async () => {
    const policy = policyOf(await upload(big, "image/png"));
    const parts = await sendParts(Buffer.concat([await pictureBytes("jpeg"), Buffer.alloc(5_000)]), policy);
    expect(outcome(await complete(policy, parts))).toBe("400 UNSUPPORTED_MEDIA_TYPE");
    expect(outcome(await complete(policy, parts))).toBe("404 NOT_FOUND");
  });

  test("takes only parts that are its own, in time, and not too large", async () => {
    const policy = policyOf(await upload(big, "image/png"));
    const url = new URL(here(policy.parts[0]?.url));
    const put = async (change: (url: URL) => void, body: string | Buffer = "x") => {
      const changed = new URL(url);
      change(changed);
      return (await fetch(changed, { method: "PUT", body })).status;
    };
    expect(await put((changed) => (changed.pathname = changed.pathname.replace(/1$/, "2")))).toBe(403);
    expect(await put((changed) => changed.searchParams.set("expires", "99999999999"))).toBe(403);
    expect(await put((changed) => changed.searchParams.delete("signature"))).toBe(403);
    expect(await put(() => undefined, Buffer.alloc(policy.partSize + 1))).toBe(413);
    expect(await put(() => undefined)).toBe(200);
  });
});
