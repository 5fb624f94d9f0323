import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Snooze } from "../../lib/process/errors.js";
import { until } from "../support/until.js";

import { startApi } from "../support/api.js";
import * as cast from "../support/cast.js";
import { countWaiting, endWaiting, hold } from "../support/hold.js";
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
  partnerId = await newPartner();
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

const head = "externalId,name,category,price\n";

/** A menu of so many items; every third has no key of its own. */
const menuOf = (count: number, price = 1) =>
  head +
  Array.from({ length: count }, (_, n) => `${n % 3 ? `k-${n}` : ""},Item ${n},Category ${n % 7},${price}\n`).join("");

/** An import as the API leaves it. */
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
/** Stops an import before it saves its next batch. */
const holdImport = (id: string) => hold((tx) => tx`select from menu_imports where id = ${id}::uuid for update`);
const someoneWaits = () => until(async () => (await countWaiting()) > 0);

describe("an import that is cut short", () => {
  test("by its process stopping saves what it has, and goes on from there", async () => {
    const id = await queue(menuOf(12_000));
    await sql`update menu_imports set status = 'RUNNING' where id = ${id}::uuid`;
    const stopping = new AbortController();
    const release = await holdImport(id);
    const running = run(id, { signal: stopping.signal });
    await someoneWaits();
    stopping.abort();
    await release();
    await expect(running).rejects.toBeInstanceOf(Snooze);
    expect(await find(id)).toMatchObject({ status: "RUNNING", created: 1_000 });
    expect(await countItems()).toBe(1_000);
    await run(id);
    expect(await find(id)).toMatchObject({ status: "DONE", created: 12_000, updated: 0, failed: 0 });
    expect(await countItems()).toBe(12_000);
  });

  test("by its connection being killed in the middle of a batch keeps the batches before it, and nothing of that one", async () => {
    const [first, second] = [await queue(menuOf(12_000)), await queue(menuOf(12_000, 2))];
    await run(first);
    const release = await hold(
      (tx) => tx`select from menu_items where partner_id = ${partnerId}::uuid and external_id = 'k-7001' for update`,
    );
    const running = run(second);
    await until(async () => (await find(second)).updated > 0 && (await countWaiting()) > 0);
    await endWaiting();
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

  test("at its end has lost nothing but the knowledge of it", async () => {
    const id = await queue(menuOf(3));
    const { fileKey } = await find(id);
    await run(id);
    // as if it had been killed before it deleted the file
    await files.put(fileKey, Readable.from([Buffer.from("x")]), "text/csv");
    await run(id);
    expect([await find(id), await files.size(fileKey)]).toMatchObject([{ status: "DONE", created: 3 }, null]);
  });
});

describe("two runs of one import at once", () => {
  test("do not do the same rows twice; the one that is overtaken keeps away for a while", async () => {
    const id = await queue(menuOf(12_000));
    const outcomes = await Promise.allSettled([run(id), run(id), run(id)]);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toBeInstanceOf(Snooze);
    }
    await run(id);
    expect(await find(id)).toMatchObject({ status: "DONE", created: 12_000, updated: 0, failed: 0 });
    expect(await countItems()).toBe(12_000);
  });

  test("where both have read the same batch, one saves it", async () => {
    const id = await queue(menuOf(10));
    await sql`update menu_imports set status = 'RUNNING' where id = ${id}::uuid`;
    const release = await holdImport(id);
    const runs = [run(id), run(id)];
    await until(async () => (await countWaiting()) === 2);
    await release();
    const outcomes = (await Promise.allSettled(runs)).map(({ status }) => status);
    expect(outcomes.sort()).toEqual(["fulfilled", "rejected"]);
    expect(await find(id)).toMatchObject({ status: "DONE", created: 10, updated: 0, failed: 0 });
  });
});

describe("imports of one partner", () => {
  test("come in the order in which they were sent", async () => {
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

  test("the one that waits is due as soon as its turn has come", async () => {
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
    ["was given up", "dead_at = now()"],
    ["is done", "done_at = now()"],
  ])("one whose job %s holds up no other, and has failed", async (_case, ending) => {
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
    // replayed after all, it does nothing
    await run(first);
    expect(await find(first)).toMatchObject({ status: "FAILED", created: 0 });
  });

  test("imports of different partners do not wait for each other", async () => {
    await queue(menuOf(3));
    partnerId = await newPartner();
    const other = await queue(menuOf(3));
    await run(other);
    expect(await find(other)).toMatchObject({ status: "DONE" });
  });
});

test("an import that cannot go on is tried again, and has failed after its last attempt", async () => {
  const id = await queue(menuOf(3));
  await files.delete((await find(id)).fileKey);
  await expect(run(id)).rejects.toThrow();
  expect(await find(id)).toMatchObject({ status: "RUNNING" });
  await expect(run(id, { attempt: menuImport.attempts })).rejects.toThrow();
  expect(await find(id)).toMatchObject({ status: "FAILED", failure: expect.any(String), line: null });
});

test("rows beyond 500,000 end the import, wherever it has been resumed; those before them stay", async () => {
  const id = await queue(menuOf(3));
  await sql`
    update menu_imports set status = 'RUNNING', rows_created = 499_000, rows_updated = 500, rows_failed = 498
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

test("an import whose job was given up without a word has failed before long, one that waits has not", async () => {
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

/** One name, spelled in many ways that not everyone takes for the same: a dotted capital I is two letters once it is small. */
const spelling = (n: number) => n.toString(2).padStart(13, "0").replaceAll("0", "i").replaceAll("1", "İ");

test.each([
  ["one item", () => ",Bread,Bread,1\n", 1],
  ["items of one name", (n: number) => `k-${n},Bread,Bread,1\n`, 5_000],
  ["one item in many spellings", (n: number) => `,${spelling(n)},Bread,1\n`, 1],
])(
  "a file of nothing but rows for %s is imported within the time that a statement may take",
  async (_case, row, created) => {
    const id = await queue(head + Array.from({ length: 5_000 }, (_, n) => row(n)).join(""));
    await run(id);
    expect(await find(id)).toMatchObject({ status: "DONE", created, updated: 5_000 - created, failed: 0 });
  },
);

test("an import and a change of the same item to the same new category wait for each other in one order", async () => {
  await run(await queue(`${head}k-1,One,Bread,1\nk-2,Two,Bread,1\n`));
  const items = await sql<{ id: string; key: string }[]>`
    select id, external_id as key from menu_items where partner_id = ${partnerId}::uuid order by id`;
  const [first, second] = items;
  if (!first || !second) throw new Error("the items are not there");
  const release = await hold((tx) => tx`select from menu_items where id = ${second.id}::uuid for update`);
  const id = await queue(`${head}k-1,One,Bread,2\nk-2,Two,Bread,2\n,Three,Cakes,2\n,Three,Cakes,3\n`);
  const importing = run(id);
  await someoneWaits();
  const changing = updateMenuItem(sql, partnerId, first.id, { category: "Cakes" });
  await until(async () => (await countWaiting()) === 2);
  await release();
  await importing;
  expect(await changing).toMatchObject({ category: "Cakes", priceMinor: 200 });
  expect(await find(id)).toMatchObject({ status: "DONE", created: 1, updated: 3 });
});

test("an import that makes an item while someone else makes one with its external id changes that one when it is tried again", async () => {
  await run(await queue(`${head},Bread,Bread,1\n`));
  const commit = await hold(
    (tx) => tx`
      insert into menu_items (partner_id, category_id, name, price_minor, external_id)
      select partner_id, id, 'Rye', 1, 'k-1' from menu_categories where partner_id = ${partnerId}::uuid`,
  );
  const id = await queue(`${head}k-1,Rye,Bread,2\nk-2,Oat,Bread,2\n`);
  const running = run(id);
  await someoneWaits();
  await commit();
  await expect(running).rejects.toMatchObject({ constraint_name: "menu_items_by_external_id" });
  await run(id, { attempt: 2 });
  expect(await find(id)).toMatchObject({ status: "DONE", created: 1, updated: 1, failed: 0 });
  expect(await countItems()).toBe(3);
});

test("an import that is gone leaves nothing to do", async () => {
  await run(randomUUID());
});

test("settled imports are forgotten after 30 days", async () => {
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
