import { readdir } from "node:fs/promises";
import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { closeBroker } from "../../../../queues/broker.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { closeSignals } from "../../../../sql/signals.js";
import { outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { countBlocked, lockRows } from "../../../support/locks.js";
import { sendParts } from "../../../support/parts.js";
import { fileForm, pdf } from "../../../support/pictures.js";
import { until } from "../../../support/until.js";

let api: Awaited<ReturnType<typeof startApi>>;
let anna: cast.Character;

beforeAll(async () => {
  api = await startApi();
  anna = await cast.user(api.client);
});

afterAll(async () => {
  await api.stop();
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
});

const large = Buffer.concat([pdf, Buffer.alloc(11 * 1_048_576)]);

/** The documents in storage. */
const stored = async () => {
  const names = await readdir(process.env["STORAGE_DIR"] ?? "", { recursive: true });
  return names.filter((name) => name.startsWith("documents/") && name.endsWith(".pdf"));
};

/** Starts a document in parts and sends them all. */
async function sendInParts() {
  const reply = await anna.client.post("/api/v1/files/upload", fileForm(large, "application/pdf"));
  const sent = await sendParts(api.client.url, reply.body["uploadPolicy"], large);
  const path = `/api/v1/files/${reply.string("fileId")}`;
  return { id: reply.string("fileId"), path, complete: () => anna.client.post(`${path}/complete`, { parts: sent }) };
}

test("an upload deleted after its parts were joined leaves no file and is not found", async () => {
  const { id, complete } = await sendInParts();
  const commit = await lockRows((tx) => tx`delete from files where id = ${id}::uuid`);
  const completing = complete();
  await until(async () => (await countBlocked()) === 1);
  expect(await stored()).toHaveLength(1);
  await commit();
  expect(outcome(await completing)).toBe("404 NOT_FOUND");
  expect(await stored()).toEqual([]);
});

test("an upload deleted while it is being completed is either complete or gone", async () => {
  for (let n = 0; n < 6; n += 1) {
    const { path, complete } = await sendInParts();
    const completing = complete();
    for (let waits = 0; waits < n; waits += 1) await fetch(`${api.client.url}/healthz`);
    const [completed, deleted] = await Promise.all([completing, anna.client.delete(path)]);
    expect([201, 404]).toContain(completed.status);
    expect(deleted.status).toBe(204);
    expect(await stored()).toEqual([]);
  }
});

test("an upload in one piece that is deleted while it is being sent leaves no file and is not found", async () => {
  const form = new Response(fileForm(large.subarray(0, 1_048_576), "application/pdf"));
  const whole = Buffer.from(await form.arrayBuffer());
  const sent = request(`${api.client.url}/api/v1/files/upload`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${anna.client.token ?? ""}`,
      "content-type": String(form.headers.get("content-type")),
      "content-length": whole.length,
    },
  });
  const status = new Promise((resolve, reject) => {
    sent.on("response", (response) => resolve(response.resume().statusCode)).on("error", reject);
  });
  sent.write(whole.subarray(0, 500_000));
  const begun = await until(async () => {
    const [row] = await sql<{ id: string }[]>`
      select id from files where user_id = ${anna.id}::uuid and status = 'UPLOADING' and upload_id is null`;
    return row;
  });
  expect((await anna.client.delete(`/api/v1/files/${begun.id}`)).status).toBe(204);
  sent.end(whole.subarray(500_000));
  expect(await status).toBe(404);
  expect(await stored()).toEqual([]);
});
