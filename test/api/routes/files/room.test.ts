import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { closeBroker } from "../../../../queues/broker.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { insertFile } from "../../../../sql/queries/files.js";
import { closeSignals } from "../../../../sql/signals.js";
import { outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { sendParts } from "../../../support/parts.js";
import { fileForm, heavyPicture, pdf } from "../../../support/pictures.js";

let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
});

const upload = ({ client }: cast.Character, bytes: Uint8Array, type: string) =>
  client.post("/api/v1/files/upload", fileForm(bytes, type));
const contentType = "application/pdf";
const begin = async ({ id }: cast.Character, uploads: number, expiresAt: Date) => {
  for (let n = 0; n < uploads; n += 1)
    await insertFile(sql, id, { name: randomUUID(), contentType, inParts: null, expiresAt });
};

const keepDocument = ({ id }: cast.Character, bytes: number) => sql`
  insert into files (user_id, name, content_type, size, status, settled_at)
  values (${id}::uuid, ${randomUUID()}, ${contentType}, ${bytes}::bigint, 'READY', now())`;

test("a user has at most fifty unfinished uploads, and deleting one makes room", async () => {
  const [anna, boris] = [await cast.user(api.client), await cast.user(api.client)];
  await begin(anna, 49, new Date(Date.now() + 3_600_000));
  const last = await upload(anna, await heavyPicture(11), "image/png");
  expect(last.status).toBe(202);
  expect(outcome(await upload(anna, await heavyPicture(11), "image/png"))).toBe("409 CONFLICT");
  expect(outcome(await upload(anna, pdf, contentType))).toBe("409 CONFLICT");
  expect((await upload(boris, pdf, contentType)).status).toBe(201);
  expect((await anna.client.delete(`/api/v1/files/${last.string("fileId")}`)).status).toBe(204);
  expect((await upload(anna, pdf, contentType)).status).toBe(201);
});

test("concurrent uploads cannot exceed the limit, and refused ones leave nothing in storage", async () => {
  const anna = await cast.user(api.client);
  const uploads = join(process.env["STORAGE_DIR"] ?? "", "uploads");
  const before = (await readdir(uploads)).length;
  await begin(anna, 40, new Date(Date.now() + 3_600_000));
  const large = await heavyPicture(11);
  const replies = await Promise.all(Array.from({ length: 20 }, () => upload(anna, large, "image/png")));
  const answered = (expected: number) => replies.filter(({ status }) => status === expected).length;
  expect([answered(202), answered(409)]).toEqual([10, 10]);
  expect((await readdir(uploads)).length).toBe(before + 10);
});

test("an expired upload takes no room", async () => {
  const anna = await cast.user(api.client);
  await begin(anna, 50, new Date(Date.now() - 1_000));
  expect((await upload(anna, pdf, contentType)).status).toBe(201);
});

test("a user keeps at most a gigabyte of documents", async () => {
  const anna = await cast.user(api.client);
  const keep = (bytes: number) => keepDocument(anna, bytes);
  await keep(2 ** 30 - pdf.length - 1);
  expect((await upload(anna, pdf, contentType)).status).toBe(201);
  await keep(1);
  expect(outcome(await upload(anna, pdf, contentType))).toBe("409 CONFLICT");
  expect((await upload(anna, await heavyPicture(11), "image/png")).status).toBe(202);
});

test("documents in parts reserve their size from the start", async () => {
  const anna = await cast.user(api.client);
  const large = Buffer.concat([pdf, Buffer.alloc(12 * 2 ** 20)]);
  await keepDocument(anna, 2 ** 30 - 30 * 2 ** 20);
  const replies = await Promise.all([1, 2, 3].map(() => upload(anna, large, contentType)));
  expect(replies.map(({ status }) => status).sort()).toEqual([202, 202, 409]);
});

test("a document that exceeds the limit once received is refused and leaves nothing behind", async () => {
  const anna = await cast.user(api.client);
  const documents = async () =>
    (await readdir(process.env["STORAGE_DIR"] ?? "", { recursive: true })).filter((name) => name.endsWith(".pdf"))
      .length;
  const [before, free] = [await documents(), pdf.length * 2 + 5];
  await keepDocument(anna, 2 ** 30 - free);
  const replies = await Promise.all([1, 2, 3, 4].map(() => upload(anna, pdf, contentType)));
  const kept = replies.filter(({ status }) => status === 201).length;
  expect(kept).toBe(2);
  expect(replies.filter(({ status, body }) => status === 409 && body["code"] === "CONFLICT")).toHaveLength(2);
  expect(await documents()).toBe(before + kept);
  expect(await sql`select from files where user_id = ${anna.id}::uuid`).toHaveLength(3);
});

test("a document in parts that exceeds the limit when completed is refused", async () => {
  const anna = await cast.user(api.client);
  const large = Buffer.concat([pdf, Buffer.alloc(11 * 2 ** 20)]);
  const begun = await upload(anna, large, contentType);
  const sent = await sendParts(api.client.url, begun.body["uploadPolicy"], large);
  await keepDocument(anna, 2 ** 30);
  const path = `/api/v1/files/${begun.string("fileId")}`;
  expect(outcome(await anna.client.post(`${path}/complete`, { parts: sent }))).toBe("409 CONFLICT");
  expect((await anna.client.get(path)).status).toBe(404);
});

test("users list only their own files, newest first, page by page, with unfinished uploads that can be deleted", async () => {
  const [anna, boris] = [await cast.user(api.client), await cast.user(api.client)];
  const list = async (path = "/api/v1/files") => anna.client.get(path);
  expect((await list()).list).toEqual([]);
  const document = await upload(anna, pdf, contentType);
  await begin(anna, 1, new Date(Date.now() - 1_000));
  const begun = await upload(anna, await heavyPicture(11), "image/png");
  await upload(boris, pdf, contentType);
  const first = await list("/api/v1/files?limit=1");
  const link = /<(.+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1];
  const second = await list(link);
  expect(second.headers.get("link")).toBeNull();
  expect([...first.list, ...second.list]).toMatchObject([
    { fileId: begun.body["fileId"], status: "UPLOADING", file: null, expiresAt: expect.any(String) },
    { fileId: document.body["fileId"], status: "READY", file: { size: pdf.length, contentType }, expiresAt: null },
  ]);
  expect((await anna.client.delete(`/api/v1/files/${begun.string("fileId")}`)).status).toBe(204);
  expect((await list()).list.map(({ fileId }) => fileId)).toEqual([document.body["fileId"]]);
});
