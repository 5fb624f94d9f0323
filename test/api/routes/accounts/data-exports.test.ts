import { afterAll, expect, test } from "@jest/globals";
import { dataExport } from "../../../../queues/index.js";
import { sql } from "../../../../sql/db.js";
import { insertDataExport, lockDataExports } from "../../../../sql/queries/data-exports.js";
import { exportData } from "../../../../workers/data-export.js";
import { outcome, startApi, type Client } from "../../../support/api.js";
import { user, type Character } from "../../../support/cast.js";
import { countBlocked, lockRows } from "../../../support/locks.js";
import { disconnect, startQueueWorker } from "../../../support/queue-worker.js";
import { task } from "../../../support/task.js";
import { until } from "../../../support/until.js";

const { client, stop } = await startApi();
const path = "/api/v1/users/me/export";

afterAll(async () => {
  await stop();
  await disconnect();
});

/** Makes every file that a user waits for, as a worker would. */
async function makeFiles({ id: userId }: Character): Promise<void> {
  const open = await sql<{ id: string }[]>`
    select id from data_exports where user_id = ${userId}::uuid and status = 'QUEUED'`;
  for (const { id } of open) await exportData(task({ exportId: id }));
}

/** Downloads an address that the API returned, without a token. */
const download = ({ url }: Client, address: unknown) => {
  const { pathname, search } = new URL(String(address));
  return fetch(url + pathname + search);
};

test("a worker makes the file, which its address gives to who has it", async () => {
  const anna = await user(client);
  expect(outcome(await anna.client.get(path))).toBe("404 NOT_FOUND");
  const asked = await anna.client.post(path, undefined, { headers: { "x-request-id": "export-1" } });
  expect([asked.status, asked.headers.get("location")]).toEqual([202, path]);
  expect(asked.body).toMatchObject({ status: "QUEUED", url: null });
  const jobs = await sql<{ requestId: string | null }[]>`
    select request_id from staged_jobs where queue = 'data-export' and request_id = 'export-1'`;
  expect(jobs).toHaveLength(1);

  const worker = startQueueWorker(dataExport, exportData);
  await until(async () => (await anna.client.get(path)).body["status"] === "READY");
  await worker.stop();
  const file = await download(client, (await anna.client.get(path)).string("url"));
  expect([file.status, file.headers.get("content-type"), file.headers.get("cache-control")]).toEqual([
    200,
    "application/json; charset=utf-8",
    "private, no-store",
  ]);
  expect(file.headers.get("content-disposition")).toMatch(/^attachment; filename="[0-9a-f]{12}\.json"$/);
  expect(await file.json()).toMatchObject({ profile: { id: anna.id } });
});

test("the file has no other address, and nobody else reads the export", async () => {
  const [anna, boris] = [await user(client), await user(client)];
  await anna.client.post(path);
  await makeFiles(anna);
  const { pathname, search } = new URL((await anna.client.get(path)).string("url"));
  expect((await fetch(client.url + pathname)).status).toBe(403);
  const other = pathname.replace(/\/\w{40}/, `/${"0".repeat(40)}`);
  expect((await fetch(client.url + other + search)).status).toBe(403);
  // the signature is not one for another form of a file
  expect((await fetch(client.url + pathname.replace(".json", ".pdf") + search)).status).toBe(403);
  expect(outcome(await boris.client.get(path))).toBe("404 NOT_FOUND");
});

test("asking again before the file is made begins no other, also at once", async () => {
  const anna = await user(client);
  const asked = await Promise.all(Array.from({ length: 5 }, () => anna.client.post(path)));
  expect(new Set(asked.map(({ status, body }) => `${status} ${String(body["requestedAt"])}`)).size).toBe(1);
  expect((await sql`select from data_exports where user_id = ${anna.id}::uuid`).count).toBe(1);
});

test("another process that begins an export at once is waited for", async () => {
  const anna = await user(client);
  const unlock = await lockRows(async (tx) => {
    await lockDataExports(tx, anna.id);
    await insertDataExport(tx, anna.id, "begun elsewhere");
  });
  const asked = anna.client.post(path);
  await until(async () => (await countBlocked()) > 0);
  await unlock();
  expect((await asked).status).toBe(202);
  expect((await sql`select from data_exports where user_id = ${anna.id}::uuid`).count).toBe(1);
});

test("three exports in 24 hours, then 429 with the seconds until the next", async () => {
  const anna = await user(client);
  for (let n = 0; n < 3; n += 1) {
    expect((await anna.client.post(path)).status).toBe(202);
    await makeFiles(anna);
  }
  const refused = await anna.client.post(path);
  expect([outcome(refused), refused.body["reason"]]).toEqual(["429 RATE_LIMIT", "EXPORTS_USED_UP"]);
  expect(refused.body["retryAfterSeconds"]).toBeGreaterThan(80_000);
  expect((await anna.client.get(path)).body["status"]).toBe("READY");

  await sql`
    update data_exports set created_at = created_at - interval '1 day'
    where id = (select id from data_exports where user_id = ${anna.id}::uuid order by id limit 1)`;
  expect((await anna.client.post(path)).status).toBe(202);
});

test("a request that was given up makes room for another", async () => {
  const anna = await user(client);
  await anna.client.post(path);
  await sql`update data_exports set expires_at = now() where user_id = ${anna.id}::uuid`;
  expect(outcome(await anna.client.get(path))).toBe("404 NOT_FOUND");
  expect((await anna.client.post(path)).status).toBe(202);
  expect((await sql`select from data_exports where user_id = ${anna.id}::uuid`).count).toBe(2);
});

test("of an account that is deleted meanwhile no export begins", async () => {
  const anna = await user(client);
  await sql`update users set deleted_at = now() where id = ${anna.id}::uuid`;
  expect(await insertDataExport(sql, anna.id, "name")).toBeUndefined();
});
