import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Snooze } from "../../lib/process/errors.js";
import { readHeader } from "../../lib/menu-csv/menu-csv.js";
import { files, keysOf, newFileName } from "../../lib/storage/file-store.js";
import { menuImport } from "../../queues/index.js";
import { sql, transaction } from "../../sql/db.js";
import { stageJob } from "../../sql/outbox.js";
import { insertMenuImport, updateMenuImportJob } from "../../sql/queries/menu-imports.js";
import { importMenu } from "../../workers/menu-import.js";
import { startApi } from "../support/api.js";
import * as cast from "../support/cast.js";
import { disconnect, startQueueWorker } from "../support/queue-worker.js";
import { task } from "../support/task.js";
import { until } from "../support/until.js";

let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await disconnect();
});

/** Ends what a test leaves waiting. */
async function settleAll(): Promise<void> {
  await sql`update menu_imports set status = 'FAILED', failure = 'unused', settled_at = now() where settled_at is null`;
  await sql`update staged_jobs set done_at = now() where done_at is null`;
}

const nameOf = (n: number) => `Item ${n}`;

/** Inserts an import as the API does. */
async function queue({ id: partnerId }: cast.Bakery, rows: number, name = nameOf): Promise<string> {
  const lines = Array.from({ length: rows }, (_, n) => `${name(n)},Bread,1\n`);
  const bytes = Buffer.from(`name,category,price\n${lines.join("")}`);
  const fileKey = keysOf(newFileName()).menu;
  await files.put(fileKey, Readable.from([bytes]), "text/csv");
  return transaction(async (tx) => {
    const id = await insertMenuImport(tx, { ...readHeader(bytes), partnerId, fileKey, size: bytes.length });
    await updateMenuImportJob(tx, id, await stageJob(tx, menuImport, { importId: id }));
    return id;
  });
}

const find = async (id: string) => {
  const [row] = await sql<{ status: string; created: number; settledAt: Date | null }[]>`
    select status, rows_created as created, settled_at from menu_imports where id = ${id}::uuid`;
  return row;
};

test("a long import lets another partner's run first, and goes on where it stopped", async () => {
  const [chain, corner] = [await cast.bakery(api.client), await cast.bakery(api.client)];
  const [long, short] = [await queue(chain, 12_000), await queue(corner, 1)];
  const run = () => importMenu(task({ importId: long }));
  const yielded = run();
  await expect(yielded).rejects.toThrow(Snooze);
  await expect(yielded).rejects.toMatchObject({ later: 1 });
  expect(await find(long)).toMatchObject({ status: "QUEUED", created: 10_000 });
  const { body } = await chain.owner.client.get(`/api/v1/menu/import/csv/${long}`);
  expect(body).toMatchObject({ status: "QUEUED", created: 10_000 });
  expect(body["progress"]).toBeGreaterThan(0.8);

  await importMenu(task({ importId: short }));
  await run();
  expect(await find(long)).toMatchObject({ status: "DONE", created: 12_000 });
});

test("rows that repeat use up an import's share sooner", async () => {
  const [chain, corner] = [await cast.bakery(api.client), await cast.bakery(api.client)];
  const repeated = await queue(chain, 2_000, () => "Item");
  await queue(corner, 1);
  await expect(importMenu(task({ importId: repeated }))).rejects.toThrow(Snooze);
  const { body } = await chain.owner.client.get(`/api/v1/menu/import/csv/${repeated}`);
  expect(body).toMatchObject({ status: "QUEUED", created: 1, updated: 999 });
  await settleAll();
});

test("an import goes on while only imports wait that could not run: of its own partner, or behind another of theirs", async () => {
  const [chain, corner] = [await cast.bakery(api.client), await cast.bakery(api.client)];
  const long = await queue(chain, 11_000);
  await queue(chain, 1);
  const running = await queue(corner, 1);
  await sql`update menu_imports set status = 'RUNNING' where id = ${running}::uuid`;
  await queue(corner, 1);
  await importMenu(task({ importId: long }));
  expect(await find(long)).toMatchObject({ status: "DONE", created: 11_000 });
  await settleAll();
});

test("a menu of one line is imported before the long files of others that hold every slot end", async () => {
  const chains = [await cast.bakery(api.client), await cast.bakery(api.client)];
  const corner = await cast.bakery(api.client);
  const long = await Promise.all(chains.map((chain) => queue(chain, 40_000)));
  const worker = startQueueWorker(menuImport, importMenu, 2);
  for (const id of long) await until(async () => (await find(id))?.status === "RUNNING");
  const short = await queue(corner, 1);
  const settled = await Promise.all(
    [short, ...long].map((id) => until(async () => (await find(id))?.settledAt ?? false)),
  );
  await worker.stop();
  const [first, ...others] = settled.map(Number);
  for (const other of others) expect(first).toBeLessThan(other);
  for (const id of long) expect(await find(id)).toMatchObject({ status: "DONE", created: 40_000 });
});
