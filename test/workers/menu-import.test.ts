import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Snooze } from "../../lib/process/errors.js";
import { until } from "../support/until.js";

import { startApi } from "../support/api.js";
import * as cast from "../support/cast.js";
import { countBlocked, terminateBlocked, lockRows } from "../support/locks.js";
import { task } from "../support/task.js";
import { files, keysOf, newFileName } from "../../lib/storage/file-store.js";
import { readHeader } from "../../lib/menu-csv/menu-csv.js";
import { menuImport } from "../../queues/index.js";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { insertMenuImport, updateMenuImportJob } from "../../sql/queries/menu-imports.js";
import { updateMenuItem } from "../../sql/queries/menu.js";
import { stageJob } from "../../sql/outbox.js";
import { closeSignals } from "../../sql/signals.js";
import { importMenu } from "../../workers/menu-import.js";
import { runUpkeep } from "../../workers/upkeep.js";

let api: Awaited<ReturnType<typeof startApi>>;
let partnerId: string;

const newPartner = async () => (await cast.bakery(api.client)).id;

beforeAll(async () => {
  api = await startApi();
});

beforeEach(async () => {
  // a long import would let it run first
  await sql`
    update menu_imports set status = 'FAILED', failure = 'of another test', settled_at = now() where settled_at is null`;
  partnerId = await newPartner();
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

const head = "externalId,name,category,price\n";

/** A menu of this many items; every third has no external id. */
const menuOf = (count: number, price = 1) =>
  head +
  Array.from({ length: count }, (_, n) => `${n % 3 ? `k-${n}` : ""},Item ${n},Category ${n % 7},${price}\n`).join("");

/** Inserts an import as the API does. */
async function queue(text: string): Promise<string> {
  const bytes = Buffer.from(text);
  const fileKey = keysOf(newFileName()).menu;
  await files.put(fileKey, Readable.from([bytes]), "text/csv");
  return transaction(async (tx) => {
    const id = await insertMenuImport(tx, { ...readHeader(bytes), partnerId, fileKey, size: bytes.length });
    await updateMenuImportJob(tx, id, await stageJob(tx, menuImport, { importId: id }));
    return id;
  });
}

interface Import {
  status: string;
  position: number;
  created: number;
  updated: number;
  failed: number;
  failure: string | null;
  line: number | null;
  fileKey: string;
}

async function find(id: string): Promise<Import> {
  const [row] = await sql<Import[]>`
    select status, position, rows_created as created, rows_updated as updated, rows_failed as failed, failure,
           failure_line as line, file_key as "fileKey"
    from menu_imports where id = ${id}::uuid`;
  if (!row) throw new Error("there is no such import");
  return row;
}

const countItems = async () => (await sql`select from menu_items where partner_id = ${partnerId}::uuid`).length;
const run = (importId: string, given: { attempt?: number; signal?: AbortSignal } = {}) =>
  importMenu({ ...task({ importId }), ...given });
/** Blocks an import before it saves its next batch. */
const lockImport = (id: string) => lockRows((tx) => tx`select from menu_imports where id = ${id}::uuid for update`);
const untilBlocked = () => until(async () => (await countBlocked()) > 0);

describe("an interrupted import", () => {
  test("saves its batch when the process stops, and continues from there", async () => {
    const id = await queue(menuOf(12_000));
    await sql`update menu_imports set status = 'RUNNING' where id = ${id}::uuid`;
    const stopping = new AbortController();
    const release = await lockImport(id);
    const running = run(id, { signal: stopping.signal });
    await untilBlocked();
    stopping.abort();
    await release();
    await expect(running).rejects.toBeInstanceOf(Snooze);
    expect(await find(id)).toMatchObject({ status: "RUNNING", created: 1_000 });
    expect(await countItems()).toBe(1_000);
    await run(id);
    expect(await find(id)).toMatchObject({ status: "DONE", created: 12_000, updated: 0, failed: 0 });
    expect(await countItems()).toBe(12_000);
  });

  test("keeps the batches before the one in which its connection was killed, and nothing of that one", async () => {
    const [first, second] = [await queue(menuOf(12_000)), await queue(menuOf(12_000, 2))];
    await run(first);
    const release = await lockRows(
      (tx) => tx`select from menu_items where partner_id = ${partnerId}::uuid and external_id = 'k-7001' for update`,
    );
    const running = run(second);
    await until(async () => (await find(second)).updated > 0 && (await countBlocked()) > 0);
    await terminateBlocked();
    await expect(running).rejects.not.toBeInstanceOf(Snooze);
    await release();
    const changed = () =>
      sql`select from menu_items where partner_id = ${partnerId}::uuid and price_minor = 200`.then(
        ({ length }) => length,
      );
    expect([await find(second), await changed()]).toMatchObject([{ status: "RUNNING", updated: 7_000 }, 7_000]);
    await run(second);
    expect(await find(second)).toMatchObject({ status: "DONE", created: 0, updated: 12_000, failed: 0 });
    expect([await changed(), await countItems()]).toEqual([12_000, 12_000]);
  });

  test("that was already finished only deletes its file when it runs again", async () => {
    const id = await queue(menuOf(3));
    const { fileKey } = await find(id);
    await run(id);
    // as if the worker had been killed before it deleted the file
    await files.put(fileKey, Readable.from([Buffer.from("x")]), "text/csv");
    await run(id);
    expect([await find(id), await files.size(fileKey)]).toMatchObject([{ status: "DONE", created: 3 }, null]);
  });
});

test("an import says how far it is, in bytes of its file", async () => {
  const menu = menuOf(3_000);
  const size = Buffer.byteLength(menu);
  const given = task({ importId: await queue(menu) });
  await importMenu(given);
  const parts = given.reported.map(([done]) => done);
  // before each batch, and at the end
  expect(parts.length).toBeGreaterThanOrEqual(4);
  expect(parts).toEqual(parts.toSorted((one, other) => one - other));
  expect(given.reported.at(-1)).toEqual([size, size]);
});

test("an import leaves no category without an item", async () => {
  await run(await queue(`${head}a,Rye,Bread,1\nb,Bun,Rolls,1\n`));
  await run(await queue(`${head}a,Rye,Loaves,1\n`));
  const left = await sql<{ name: string }[]>`
    select name from menu_categories where partner_id = ${partnerId}::uuid order by name`;
  expect(left.map(({ name }) => name)).toEqual(["Loaves", "Rolls"]);
});

describe("two concurrent runs of one import", () => {
  test("never import the same rows twice; the slower one is snoozed", async () => {
    const id = await queue(menuOf(12_000));
    const outcomes = await Promise.allSettled([run(id), run(id), run(id)]);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toBeInstanceOf(Snooze);
    }
    await run(id);
    expect(await find(id)).toMatchObject({ status: "DONE", created: 12_000, updated: 0, failed: 0 });
    expect(await countItems()).toBe(12_000);
  });

  test("save a batch once when both have read it", async () => {
    const id = await queue(menuOf(10));
    await sql`update menu_imports set status = 'RUNNING' where id = ${id}::uuid`;
    const release = await lockImport(id);
    const runs = [run(id), run(id)];
    await until(async () => (await countBlocked()) === 2);
    await release();
    const outcomes = (await Promise.allSettled(runs)).map(({ status }) => status);
    expect(outcomes.sort()).toEqual(["fulfilled", "rejected"]);
    expect(await find(id)).toMatchObject({ status: "DONE", created: 10, updated: 0, failed: 0 });
  });
});

describe("imports of one partner", () => {
  test("run in the order in which they were sent", async () => {
    const [first, second] = [await queue(menuOf(3, 1)), await queue(menuOf(3, 2))];
    await expect(run(second)).rejects.toBeInstanceOf(Snooze);
    expect(await find(second)).toMatchObject({ status: "QUEUED" });
    await run(first);
    await run(second);
    expect(await find(second)).toMatchObject({ status: "DONE", updated: 3 });
  });

  test("never run together, even when the later one has begun", async () => {
    const [first, second] = [await queue(menuOf(3, 1)), await queue(menuOf(3, 2))];
    await sql`update menu_imports set status = 'RUNNING' where id = ${second}::uuid`;
    await expect(run(first)).rejects.toBeInstanceOf(Snooze);
    await expect(sql`update menu_imports set status = 'RUNNING' where id = ${first}::uuid`).rejects.toThrow(
      "menu_imports_running",
    );
  });

  test("become due as soon as the one before has ended", async () => {
    const [first, second] = [await queue(menuOf(3, 1)), await queue(menuOf(3, 2))];
    await sql`
      update staged_jobs set run_at = now() + interval '1 hour', next_send_at = now() + interval '1 hour'
      where payload ->> 'importId' = ${second}`;
    await run(first);
    const due = await sql`
      select from staged_jobs where payload ->> 'importId' = ${second} and run_at <= now() and next_send_at <= now()`;
    expect(due).toHaveLength(1);
  });

  test.each([
    ["is dead", "dead_at = now()"],
    ["is completed", "done_at = now()"],
  ])("fail when their job %s, and no longer block the next one", async (_case, ending) => {
    const [first, second] = [await queue(menuOf(3, 1)), await queue(menuOf(3, 2))];
    await sql`update menu_imports set status = 'RUNNING' where id = ${first}::uuid`;
    const dead = ending.startsWith("dead");
    await sql`
      update staged_jobs set dead_at = case when ${dead} then now() end, done_at = case when not ${dead} then now() end
      where payload ->> 'importId' = ${first}`;
    await run(second);
    expect([await find(first), await find(second)]).toMatchObject([
      { status: "FAILED", failure: expect.stringContaining("send the file again"), line: null },
      { status: "DONE", created: 3 },
    ]);
    expect(await files.size((await find(first)).fileKey)).toBeNull();
    // replaying it does nothing
    await run(first);
    expect(await find(first)).toMatchObject({ status: "FAILED", created: 0 });
  });

  test("do not block imports of other partners", async () => {
    await queue(menuOf(3));
    partnerId = await newPartner();
    const other = await queue(menuOf(3));
    await run(other);
    expect(await find(other)).toMatchObject({ status: "DONE" });
  });
});

test("an import that cannot continue is retried, and fails after its last attempt", async () => {
  const id = await queue(menuOf(3));
  await files.delete((await find(id)).fileKey);
  await expect(run(id)).rejects.toThrow();
  expect(await find(id)).toMatchObject({ status: "RUNNING" });
  await expect(run(id, { attempt: menuImport.attempts })).rejects.toThrow();
  expect(await find(id)).toMatchObject({ status: "FAILED", failure: expect.any(String), line: null });
});

test("rows beyond 500,000 fail the import, wherever it was resumed; those before them stay", async () => {
  const id = await queue(menuOf(3));
  await sql`
    update menu_imports set status = 'RUNNING', rows_created = 499000, rows_updated = 500, rows_failed = 498
    where id = ${id}::uuid`;
  await run(id);
  expect(await find(id)).toMatchObject({
    status: "FAILED",
    created: 499_002,
    line: 4,
    failure: expect.stringContaining("500000 rows"),
  });
  expect(await countItems()).toBe(2);
});

test("upkeep fails an import whose job is dead, but not one that waits", async () => {
  const [abandoned, waiting] = [await queue(menuOf(3)), await queue(menuOf(3))];
  await sql`update menu_imports set status = 'RUNNING' where id = ${abandoned}::uuid`;
  await sql`update staged_jobs set dead_at = now() where payload ->> 'importId' = ${abandoned}`;
  await runUpkeep(task({ task: "settle-menu-imports" }));
  const { fileKey } = await find(abandoned);
  expect([await find(abandoned), await find(waiting), await files.size(fileKey)]).toMatchObject([
    { status: "FAILED", failure: expect.stringContaining("send the file again"), line: null },
    { status: "QUEUED" },
    null,
  ]);
});

/** One name in many spellings whose case folding differs: a dotted capital I becomes two characters in lower case. */
const spelling = (n: number) => n.toString(2).padStart(13, "0").replaceAll("0", "i").replaceAll("1", "İ");

test.each([
  ["one item", () => ",Bread,Bread,1\n", 1],
  ["items of one name", (n: number) => `k-${n},Bread,Bread,1\n`, 5_000],
  ["one item in many spellings", (n: number) => `,${spelling(n)},Bread,1\n`, 1],
])("a file with rows for %s only is imported within the statement timeout", async (_case, row, created) => {
  const id = await queue(head + Array.from({ length: 5_000 }, (_, n) => row(n)).join(""));
  await run(id);
  expect(await find(id)).toMatchObject({ status: "DONE", created, updated: 5_000 - created, failed: 0 });
});

test("an import and a concurrent change of the same item to the same new category do not deadlock", async () => {
  await run(await queue(`${head}k-1,One,Bread,1\nk-2,Two,Bread,1\n`));
  const items = await sql<{ id: string; key: string }[]>`
    select id, external_id as key from menu_items where partner_id = ${partnerId}::uuid order by id`;
  const [first, second] = items;
  if (!first || !second) throw new Error("the items are not there");
  const release = await lockRows((tx) => tx`select from menu_items where id = ${second.id}::uuid for update`);
  const id = await queue(`${head}k-1,One,Bread,2\nk-2,Two,Bread,2\n,Three,Cakes,2\n,Three,Cakes,3\n`);
  const importing = run(id);
  await untilBlocked();
  const changing = updateMenuItem(sql, partnerId, first.id, { category: "Cakes" });
  await until(async () => (await countBlocked()) === 2);
  await release();
  await importing;
  expect(await changing).toMatchObject({ category: "Cakes", priceMinor: 200 });
  expect(await find(id)).toMatchObject({ status: "DONE", created: 1, updated: 3 });
});

test("an import that creates an item concurrently with another transaction updates that item when it is retried", async () => {
  await run(await queue(`${head},Bread,Bread,1\n`));
  const commit = await lockRows(
    (tx) => tx`
      insert into menu_items (partner_id, category_id, name, price_minor, external_id)
      select partner_id, id, 'Rye', 1, 'k-1' from menu_categories where partner_id = ${partnerId}::uuid`,
  );
  const id = await queue(`${head}k-1,Rye,Bread,2\nk-2,Oat,Bread,2\n`);
  const running = run(id);
  await untilBlocked();
  await commit();
  await expect(running).rejects.toMatchObject({ constraint_name: "menu_items_by_key" });
  await run(id, { attempt: 2 });
  expect(await find(id)).toMatchObject({ status: "DONE", created: 1, updated: 1, failed: 0 });
  expect(await countItems()).toBe(3);
});

test("an unknown import leaves nothing to do", async () => {
  await run(await queue(menuOf(3)));
  await expect(run(randomUUID())).resolves.toBeUndefined();
  expect(await countItems()).toBe(3);
});

test("finished imports are deleted after 30 days", async () => {
  const [old, waiting, fresh] = [await queue(menuOf(1)), await queue(menuOf(1)), await queue(menuOf(1))];
  await run(old);
  await sql`update menu_imports set created_at = now() - interval '31 days' where id in (${old}::uuid, ${waiting}::uuid)`;
  await sql`update menu_imports set status = 'DONE', settled_at = now() where id = ${fresh}::uuid`;
  const upkeep = task({ task: "purge-menu-imports" });
  await runUpkeep(upkeep);
  expect(upkeep.lines).toMatchObject([{ rows: 1 }]);
  await expect(find(old)).rejects.toThrow();
  expect([await find(waiting), await find(fresh)]).toMatchObject([{ status: "QUEUED" }, { status: "DONE" }]);
});
