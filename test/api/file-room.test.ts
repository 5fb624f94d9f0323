import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { closeBroker } from "../../queues/broker.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { insertFile } from "../../sql/queries/files.js";
import { closeSignals } from "../../sql/signals.js";
import { startApi, type Reply } from "../support/api.js";
import * as cast from "../support/cast.js";
import { fileForm, heavyPicture, pdf } from "../support/pictures.js";

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
const outcome = ({ status, body }: Reply) => [status, body["code"]];
const contentType = "application/pdf";
const begin = async ({ id }: cast.Character, uploads: number, expiresAt: Date) => {
  for (let n = 0; n < uploads; n += 1)
    await insertFile(sql, id, { name: randomUUID(), contentType, inParts: null, expiresAt });
};

test("nobody has more than fifty unfinished uploads, and one that is deleted makes room", async () => {
  const [anna, boris] = [await cast.user(api.client), await cast.user(api.client)];
  await begin(anna, 49, new Date(Date.now() + 3_600_000));
  const last = await upload(anna, await heavyPicture(11), "image/png");
  expect(last.status).toBe(202);
  expect(outcome(await upload(anna, await heavyPicture(11), "image/png"))).toEqual([409, "CONFLICT"]);
  expect(outcome(await upload(anna, pdf, contentType))).toEqual([409, "CONFLICT"]);
  expect((await upload(boris, pdf, contentType)).status).toBe(201);
  expect((await anna.client.delete(`/api/v1/files/${last.string("fileId")}`)).status).toBe(204);
  expect((await upload(anna, pdf, contentType)).status).toBe(201);
});

test("those that begin at the same moment find no more room than others, and a refusal leaves nothing in storage", async () => {
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

test("an upload whose time is over takes no room", async () => {
  const anna = await cast.user(api.client);
  await begin(anna, 50, new Date(Date.now() - 1_000));
  expect((await upload(anna, pdf, contentType)).status).toBe(201);
});

test("nobody keeps more than a gigabyte of documents", async () => {
  const anna = await cast.user(api.client);
  const keep = (bytes: number) => sql`
    insert into files (user_id, name, content_type, size, status, settled_at)
    values (${anna.id}::uuid, ${randomUUID()}, ${contentType}, ${bytes}::bigint, 'READY', now())`;
  await keep(2 ** 30 - pdf.length - 1);
  expect((await upload(anna, pdf, contentType)).status).toBe(201);
  await keep(1);
  expect(outcome(await upload(anna, pdf, contentType))).toEqual([409, "CONFLICT"]);
  expect((await upload(anna, await heavyPicture(11), "image/png")).status).toBe(202);
});
