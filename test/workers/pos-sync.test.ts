import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Bakery, Character } from "../support/cast.js";
import { startTill, type Till } from "../support/till.js";
import { until } from "../support/until.js";

process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
process.env["SYNC_WAIT_MS"] = "0";

const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { allSynced, startPosWorkers } = await import("../support/pos-workers.js");
const { task } = await import("../support/task.js");
const { Snooze } = await import("../../lib/process/errors.js");
const { closeBroker } = await import("../../queues/broker.js");
const { closeDatabase, sql, transaction } = await import("../../sql/db.js");
const { archiveAbsentItems } = await import("../../sql/queries/pos-menu.js");
const { addSyncProgress, deleteOldPosSyncs, requestDueSyncs, requestPosSync, claimPosSync, settleAbandonedSyncs } =
  await import("../../sql/queries/pos-syncs.js");
const { closeSignals } = await import("../../sql/signals.js");
const { syncMenu } = await import("../../workers/pos-sync.js");

let api: Awaited<ReturnType<typeof startApi>>;
let till: Till;
let admin: Character;
let bakery: Bakery;

beforeAll(async () => {
  api = await startApi();
  till = await startTill();
  admin = await cast.admin(api.client);
});

afterAll(async () => {
  await api.stop();
  await till.stop();
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
});

beforeEach(async () => {
  till.fail(null);
  bakery = await connectedBakery();
});

async function connectedBakery(): Promise<Bakery> {
  const opened = await cast.bakery(api.client);
  await admin.client.put("/api/v1/pos/credentials", {
    partnerId: opened.id,
    adapterName: "generic",
    credentialsJson: till.credentials(`account-${randomUUID()}`),
  });
  return opened;
}

const items = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => ({
    externalId: `item-${from + n}`,
    name: `Item ${from + n}`,
    category: `Category ${n % 7}`,
    price: (1_000 + n) / 100,
  }));

const request = async () => String(await requestPosSync(sql, bakery.id, { byUser: false, requestId: null }));
const read = (id: string) => bakery.owner.client.get(`/api/v1/menu/pos/sync/${id}`);
const countItems = async () =>
  (await sql`select from menu_items where partner_id = ${bakery.id}::uuid and archived_at is null`).count;

test("a request that is not answered in time says where to look, and a worker runs the sync", async () => {
  till.serve(items(3));
  const asked = await bakery.owner.client.post("/api/v1/menu/pos/sync");
  const location = String(asked.headers.get("location"));
  expect([asked.status, location]).toEqual([202, `/api/v1/menu/pos/sync/${asked.string("syncId")}`]);
  const progress = { status: "QUEUED", progress: 0, estimatedEndAt: null, itemsSynced: 0, itemsFailed: 0 };
  expect(asked.body).toEqual({ syncId: asked.string("syncId"), ...progress });
  expect((await bakery.owner.client.get(location)).body).toMatchObject(progress);
  const workers = startPosWorkers();
  await allSynced(bakery.id);
  await workers.stop();
  expect((await bakery.owner.client.get(location)).body).toMatchObject({ status: "DONE", itemsSynced: 3 });
});

test("requests share a sync until it ends, whether or not it has begun", async () => {
  const ask = async () => (await bakery.owner.client.post("/api/v1/menu/pos/sync")).string("syncId");
  till.serve(items(1));
  const first = await ask();
  expect(await Promise.all(Array.from({ length: 5 }, ask))).toEqual(Array.from({ length: 5 }, () => first));
  expect(await request()).toBe(first);
  await claimPosSync(sql, first);
  expect([await ask(), await request()]).toEqual([first, first]);
  await syncMenu(task({ syncId: first }));
  expect(await ask()).not.toBe(first);
});

test("a long menu is imported in batches, and the sync fails at the item limit", async () => {
  till.serve(items(2_500), items(1, 2_500));
  const id = await request();
  await syncMenu(task({ syncId: id }));
  expect((await read(id)).body).toMatchObject({ status: "DONE", itemsSynced: 2_501, itemsFailed: 0 });
  expect(await countItems()).toBe(2_501);
  expect((await bakery.owner.client.get("/api/v1/menu/categories")).list).toHaveLength(7);

  const rejected = Array.from({ length: 100_001 }, (_, n) => ({ externalId: `bad-${n}` }));
  till.serve(rejected);
  const next = await request();
  await syncMenu(task({ syncId: next }));
  expect((await read(next)).body).toMatchObject({
    status: "FAILED",
    reason: "The menu cannot be imported: the menu has more than 100000 items.",
  });
  expect(await countItems()).toBe(2_501);
});

test("what a large menu lacks is found also by a plan that takes the menu and every list to be short", async () => {
  const count = 20_000;
  // before the menu has items, as at a first sync
  await sql`vacuum analyze menu_items`;
  await sql`
    with category as (
      insert into menu_categories (partner_id, name) values (${bakery.id}::uuid, 'Large') returning id
    )
    insert into menu_items (partner_id, category_id, name, price_minor, external_id, source)
    select ${bakery.id}::uuid, category.id, 'Item ' || n, 100, 'item-' || n, 'POS'
    from category, generate_series(1, ${count}::integer) as n`;
  const present = Array.from({ length: count - 1 }, (_, n) => `item-${n + 1}`);
  // Postgres plans for the values five times, and then for any: a join of each item with each one present would not end in time
  const archived = await transaction(async (tx) => {
    await tx`set local statement_timeout = 10000`;
    const counts: number[] = [];
    for (let n = 0; n < 7; n += 1) counts.push(await archiveAbsentItems(tx, bakery.id, present));
    return counts;
  });
  expect(archived).toEqual([1, 0, 0, 0, 0, 0, 0]);
});

test("items without an id count towards the limit", async () => {
  till.serve(Array.from({ length: 100_001 }, () => 0));
  const id = await request();
  await syncMenu(task({ syncId: id }));
  expect((await read(id)).body).toMatchObject({
    status: "FAILED",
    reason: "The menu cannot be imported: the menu has more than 100000 items.",
  });
});

test("items keep their availability when the POS does not send it", async () => {
  const [rye, bun] = items(2);
  const sync = async (...menu: unknown[]) => {
    till.serve(menu);
    await syncMenu(task({ syncId: await request() }));
    const { list } = await bakery.owner.client.get("/api/v1/menu/items");
    return Object.fromEntries(
      list.map(({ externalId, available }): [string, unknown] => [String(externalId), available]),
    );
  };
  expect(await sync(rye, { ...bun, available: false })).toEqual({ "item-0": true, "item-1": false });
  expect(await sync({ ...rye, price: 1 }, { ...bun, price: 2 })).toEqual({ "item-0": true, "item-1": false });
  expect(await sync({ ...rye, available: false }, { ...bun, available: true })).toEqual({
    "item-0": false,
    "item-1": true,
  });
  expect(await sync(rye, bun)).toEqual({ "item-0": false, "item-1": true });
});

test("an entry without an id prevents archiving, and the sync says so", async () => {
  till.serve(items(3));
  await syncMenu(task({ syncId: await request() }));
  till.serve([...items(1), { name: "no id", price: 1 }]);
  const id = await request();
  await syncMenu(task({ syncId: id }));
  const { status, itemsArchived, reason } = (await read(id)).body;
  expect({ status, itemsArchived }).toEqual({ status: "DONE", itemsArchived: 0 });
  expect(reason).toMatch(/nothing was archived/);
  expect(await countItems()).toBe(3);
});

describe("an interrupted sync", () => {
  test("starts again after a crash, with correct counts", async () => {
    till.serve(items(10), items(10, 10));
    const id = await request();
    const started = await claimPosSync(sql, id);
    const bad = { externalId: null, name: null, position: 1, message: "bad" };
    await transaction((tx) => addSyncProgress(tx, started!, 7, [bad]));
    await syncMenu(task({ syncId: id }));
    expect((await read(id)).body).toMatchObject({ status: "DONE", itemsSynced: 20, itemsFailed: 0, errors: [] });
    expect(await countItems()).toBe(20);
  });

  test("is put back when its process stops, and can start again", async () => {
    till.serve(items(10));
    const id = await request();
    const stopping = new AbortController();
    const release = till.hold();
    const work = syncMenu({ ...task({ syncId: id }), signal: stopping.signal });
    await until(() => till.asked.length > 0);
    stopping.abort();
    release();
    await expect(work).rejects.toThrow(Snooze);
    await syncMenu(task({ syncId: id }));
    expect((await read(id)).body).toMatchObject({ status: "DONE", itemsSynced: 10 });
  });

  test("cannot be continued by the former run once it has started again", async () => {
    till.serve(items(10));
    const id = await request();
    till.asked.length = 0;
    const release = till.hold();
    const former = syncMenu(task({ syncId: id }));
    former.catch(() => undefined);
    await until(() => till.asked.length > 0);
    const current = await claimPosSync(sql, id);
    release();
    await expect(former).rejects.toThrow("");
    expect((await read(id)).body).toMatchObject({ status: "RUNNING", itemsSynced: 0 });
    expect(current?.run).toBe(2);
    expect(await countItems()).toBe(0);
  });

  test("whose job is dead makes room for others", async () => {
    const id = await request();
    await sql`update staged_jobs set dead_at = now() where payload ->> 'syncId' = ${id}`;
    const abandoned = await settleAbandonedSyncs(sql, 100);
    expect(abandoned).toBeGreaterThan(0);
    expect((await read(id)).body).toMatchObject({
      status: "FAILED",
      reason: "The sync was given up after internal errors.",
    });
    till.serve(items(1));
    const next = await request();
    expect(next).not.toBe(id);
    expect(await settleAbandonedSyncs(sql, 100)).toBe(0);
    await syncMenu(task({ syncId: next }));
    expect(await countItems()).toBe(1);
  });
});

test("the progress is relative to the number of items before the sync", async () => {
  till.serve(items(40));
  const first = task({ syncId: await request() });
  await syncMenu(first);
  expect(first.reported.at(-1)).toEqual([40, 40]);
  const id = await request();
  const started = await claimPosSync(sql, id);
  const progress = async () => (await read(id)).body["progress"];
  expect(await progress()).toBe(0);
  await transaction((tx) => addSyncProgress(tx, started!, 10, []));
  expect(await progress()).toBe(0.25);
  await sql`update pos_syncs set started_at = now() - interval '1 minute' where id = ${id}::uuid`;
  const { estimatedEndAt } = (await read(id)).body;
  expect(Date.parse(String(estimatedEndAt)) - Date.now()).toBeGreaterThan(2 * 60_000);
  await transaction((tx) => addSyncProgress(tx, started!, 100, []));
  expect(await progress()).toBe(0.99);
});

describe("the sync schedule", () => {
  const nextAt = async (partnerId: string) =>
    (
      await sql<{ at: Date }[]>`
        select next_sync_at as at from pos_credentials where partner_id = ${partnerId}::uuid`
    )[0]!.at.getTime();

  // ends the first syncs of partners that have just been connected
  beforeEach(async () => {
    while ((await requestDueSyncs(sql, 100)) > 0);
    await sql`update pos_syncs set status = 'DONE', settled_at = now() where settled_at is null`;
  });

  test("syncs every partner every 6 hours, each at its own time", async () => {
    const sixHours = 6 * 3_600_000;
    const others = await Promise.all(Array.from({ length: 5 }, connectedBakery));
    expect(await requestDueSyncs(sql, 100)).toBe(5);
    const times = await Promise.all([bakery, ...others].map(({ id }) => nextAt(id)));
    for (const at of times) {
      expect(at).toBeGreaterThan(Date.now());
      expect(at).toBeLessThanOrEqual(Date.now() + sixHours);
    }
    expect(new Set(times).size).toBe(6);

    await sql`update pos_credentials set next_sync_at = next_sync_at - interval '12 hours' where partner_id = ${bakery.id}::uuid`;
    expect(await requestDueSyncs(sql, 100)).toBe(1);
    const queued = await sql`select from pos_syncs where partner_id = ${bakery.id}::uuid and status = 'QUEUED'`;
    expect(queued.count).toBe(1);
    expect(await nextAt(bakery.id)).toBe(times[0]);
    expect(await requestDueSyncs(sql, 100)).toBe(0);
  });

  test("skips suspended and rejected partners, but not those that wait for review", async () => {
    for (const [status, asked] of [
      ["SUSPENDED", 0],
      ["REJECTED", 0],
      ["PENDING_REVIEW", 1],
    ] as const) {
      await sql`update partners set status = ${status} where id = ${bakery.id}::uuid`;
      await sql`update pos_credentials set next_sync_at = now() where partner_id = ${bakery.id}::uuid`;
      expect(await requestDueSyncs(sql, 100)).toBe(1);
      const syncs = await sql`select from pos_syncs where partner_id = ${bakery.id}::uuid and settled_at is null`;
      expect(syncs.count).toBe(asked);
      expect(await nextAt(bakery.id)).toBeGreaterThan(Date.now());
    }
  });

  test("stages a few at a time, and each once when it runs twice", async () => {
    const partners = [bakery, ...(await Promise.all(Array.from({ length: 4 }, connectedBakery)))].map(({ id }) => id);
    await sql`update pos_credentials set next_sync_at = now() where partner_id = any(${partners}::uuid[])`;
    const asked = await Promise.all([requestDueSyncs(sql, 2), requestDueSyncs(sql, 2)]);
    expect(asked.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(4);
    while ((await requestDueSyncs(sql, 2)) > 0);
    const syncs = await sql`
      select from pos_syncs where partner_id = any(${partners}::uuid[]) and settled_at is null`;
    expect(syncs.count).toBe(5);
  });
});

describe.each(["SUSPENDED", "REJECTED"] as const)("the POS of a partner that becomes %s", (status) => {
  const leave = () => sql`update partners set status = ${status} where id = ${bakery.id}::uuid`;
  const open = () => sql`select from pos_syncs where partner_id = ${bakery.id}::uuid and settled_at is null`;

  test("is not called for a waiting sync, which is failed", async () => {
    till.serve(items(1));
    const id = await request();
    await leave();
    till.asked.length = 0;
    await syncMenu(task({ syncId: id }));
    expect(till.asked).toEqual([]);
    expect(await sql`select status::text, failure::text, reason from pos_syncs where id = ${id}::uuid`).toEqual([
      { status: "FAILED", failure: "ABANDONED", reason: "the partner is suspended or rejected" },
    ]);
    expect((await open()).count).toBe(0);
    expect(await countItems()).toBe(0);
  });

  test("is not retried after a running sync got no answer", async () => {
    const id = await request();
    till.fail(503);
    till.asked.length = 0;
    const release = till.hold();
    const work = syncMenu(task({ syncId: id }));
    await until(() => till.asked.length > 0);
    await leave();
    await sql`update pos_syncs set again = true where id = ${id}::uuid`;
    release();
    await work;
    expect((await open()).count).toBe(0);
  });
});

test("syncs are deleted after 30 days", async () => {
  till.serve([]);
  const id = await request();
  await syncMenu(task({ syncId: id }));
  await sql`update pos_syncs set settled_at = now() - interval '31 days' where id = ${id}::uuid`;
  expect(await deleteOldPosSyncs(sql, 100)).toBe(1);
  expect((await read(id)).status).toBe(404);
});
