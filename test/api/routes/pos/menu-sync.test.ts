import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Reply } from "../../../support/api.js";
import type { Bakery, Character } from "../../../support/cast.js";
import { startTill, type Till, type TillItem } from "../../../support/till.js";
import { until } from "../../../support/until.js";

process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";

const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { allSynced, startPosWorkers } = await import("../../../support/pos-workers.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { requestPosSync } = await import("../../../../sql/queries/pos-syncs.js");

let api: Awaited<ReturnType<typeof startApi>>;
let workers: ReturnType<typeof startPosWorkers>;
let till: Till;
let admin: Character;
let bakery: Bakery;

beforeAll(async () => {
  api = await startApi();
  till = await startTill();
  workers = startPosWorkers();
  admin = await cast.admin(api.client);
});

afterAll(async () => {
  await api.stop();
  await workers.stop();
  await till.stop();
  await closeDatabase();
});

beforeEach(async () => {
  till.fail(null);
  till.serve([]);
  bakery = await cast.bakery(api.client);
  await connect();
  till.asked.length = 0;
});

const connect = (fields: Record<string, unknown> = {}) =>
  admin.client.put("/api/v1/pos/credentials", {
    partnerId: bakery.id,
    adapterName: "generic",
    credentialsJson: till.credentials(`account-${randomUUID()}`, fields),
  });

const sync = (of = bakery) => of.owner.client.post("/api/v1/menu/pos/sync");
const read = (syncId: unknown) => bakery.owner.client.get(`/api/v1/menu/pos/sync/${String(syncId)}`);
const counts = ({ status, body: { itemsSynced, itemsFailed } }: Reply) => [status, itemsSynced, itemsFailed];

const menu = async (archived = false) =>
  (await bakery.owner.client.get(`/api/v1/menu/items?limit=200&archived=${archived}`)).list;
const names = async (archived = false) => (await menu(archived)).map(({ name }) => name).sort();

const item = (externalId: string, fields: Partial<TillItem> = {}): TillItem => ({
  externalId,
  name: `Item ${externalId}`,
  category: "Bread",
  price: 60,
  ...fields,
});

describe("a POS menu", () => {
  test("is imported page by page, with all fields of its items", async () => {
    till.serve(
      [item("1", { name: "Багет", price: 120.5 }), item("2", { category: "bread" })],
      [item("3", { category: "Напитки", available: false })],
    );
    const synced = await sync();
    expect(counts(synced)).toEqual([200, 3, 0]);
    expect(await menu()).toMatchObject([
      { name: "Багет", category: "Bread", price: 120.5, externalId: "1", source: "POS", available: true },
      { category: "Bread", externalId: "2" },
      { category: "Напитки", externalId: "3", available: false },
    ]);
    expect((await bakery.owner.client.get("/api/v1/menu/categories")).list).toHaveLength(2);
    const { body } = await read(synced.body["syncId"]);
    expect(body).toMatchObject({
      status: "DONE",
      progress: 1,
      itemsSynced: 3,
      itemsFailed: 0,
      errors: [],
      reason: null,
    });
  });

  test("is followed: changed items are updated, missing ones archived, returning ones restored, the others not touched", async () => {
    till.serve([item("1"), item("2"), item("3")]);
    await sync();
    const before = await menu();
    const touched = () =>
      sql`select external_id as id, updated_at as at from menu_items where partner_id = ${bakery.id}::uuid and external_id = '1'`;
    const untouched = await touched();
    till.serve([item("1"), item("2", { name: "Пирог", price: 75 })]);
    const second = await sync();
    expect(counts(second)).toEqual([200, 2, 0]);
    expect((await read(second.body["syncId"])).body).toMatchObject({ itemsArchived: 1 });
    expect(await menu()).toMatchObject([{ externalId: "1" }, { externalId: "2", name: "Пирог", price: 75 }]);
    expect(await touched()).toEqual(untouched);
    till.serve([item("1"), item("2"), item("3")]);
    await sync();
    expect((await menu()).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  });

  test("does not restore items archived by a person, nor change manual or CSV items", async () => {
    till.serve([item("1"), item("2")]);
    await sync();
    const [first] = await menu();
    await bakery.owner.client.delete(`/api/v1/menu/items/${String(first!["id"])}`);
    await cast.addMenuItem(bakery, { externalId: "by-hand", name: "Своё", price: 10 });
    await cast.addMenuItem(bakery, { name: "Без номера", price: 10 });
    const csv = await cast.addMenuItem(bakery, { externalId: "by-csv", name: "Из файла", price: 10 });
    await sql`update menu_items set source = 'CSV' where id = ${csv}::uuid`;
    till.serve([item("1"), item("by-hand"), item("by-csv")]);
    const synced = await sync();
    expect(counts(synced)).toEqual([200, 1, 2]);
    expect(await names()).toEqual(["Без номера", "Из файла", "Своё"]);
    const message = "an item that was made by hand or by CSV has this external id";
    expect((await read(synced.body["syncId"])).body).toMatchObject({
      itemsArchived: 1,
      errors: expect.arrayContaining([
        { externalId: "by-hand", name: "Item by-hand", position: null, message },
        { externalId: "by-csv", name: "Item by-csv", position: null, message },
      ]),
    });
  });

  test("skips invalid items; those already in the menu stay", async () => {
    till.serve([item("1"), item("2"), item("3")]);
    await sync();
    till.serve([item("1", { price: 70 }), { externalId: "2", name: 7 }, item("1", { name: "Второй" })]);
    const synced = await sync();
    expect(counts(synced)).toEqual([200, 1, 2]);
    expect((await menu()).map(({ externalId, price }) => [externalId, price])).toEqual([
      ["1", 70],
      ["2", 60],
    ]);
    expect((await read(synced.body["syncId"])).body["errors"]).toEqual(
      expect.arrayContaining([
        { externalId: "2", name: null, position: 2, message: "its name must be text, its price is missing" },
        { externalId: "1", name: "Второй", position: 3, message: "another item has the same id" },
      ]),
    );
  });

  test("with an item without an id archives nothing", async () => {
    till.serve([item("1"), item("2")]);
    await sync();
    till.serve([item("1"), { name: "Кто я?" }]);
    const synced = await sync();
    expect(counts(synced)).toEqual([200, 1, 1]);
    expect(await names()).toEqual(["Item 1", "Item 2"]);
    expect((await read(synced.body["syncId"])).body["errors"]).toEqual([
      {
        externalId: null,
        name: "Кто я?",
        position: 2,
        message: "its externalId is missing, its price is missing",
      },
    ]);
  });

  test("that is empty archives nothing and fails the sync: 409 CONFLICT", async () => {
    till.serve([item("1"), item("2")]);
    await sync();
    till.serve([]);
    const refused = await sync();
    expect(outcome(refused)).toBe("409 CONFLICT");
    expect(refused.body["detail"]).toMatch(/^The POS sent an empty menu/);
    expect(await names()).toEqual(["Item 1", "Item 2"]);
    const [last] = await sql<{ id: string }[]>`
      select id from pos_syncs where partner_id = ${bakery.id}::uuid order by id desc limit 1`;
    expect((await read(last?.id)).body).toMatchObject({
      status: "FAILED",
      itemsArchived: 0,
      reason: refused.body["detail"],
    });
    expect((await sql`select from pos_syncs where partner_id = ${bakery.id}::uuid and settled_at is null`).count).toBe(
      0,
    );
    till.serve([item("1")]);
    expect(counts(await sync())).toEqual([200, 1, 0]);
    expect(await names()).toEqual(["Item 1"]);
  });

  test("that is empty is a success when no item came from the POS before", async () => {
    await cast.addMenuItem(bakery, { name: "Своё", price: 10 });
    expect(counts(await sync())).toEqual([200, 0, 0]);
    expect(await names()).toEqual(["Своё"]);
  });

  test("without one valid item archives nothing", async () => {
    till.serve([item("1"), item("2")]);
    await sync();
    till.serve([{ externalId: "3", name: 7 }]);
    expect(counts(await sync())).toEqual([200, 0, 1]);
    expect(await names()).toEqual(["Item 1", "Item 2"]);
  });

  test("that breaks off archives nothing, and the pages read so far are kept", async () => {
    till.serve([item("1"), item("2")]);
    await sync();
    // a page in a format that the protocol does not allow
    till.serve([item("3")], "no page" as unknown as unknown[]);
    expect(outcome(await sync())).not.toBe("200");
    expect(await names()).toEqual(["Item 1", "Item 2", "Item 3"]);
  });

  test("is separate for each partner", async () => {
    till.serve([item("1")]);
    await sync();
    const other = bakery;
    bakery = await cast.bakery(api.client);
    await connect();
    till.serve([item("1", { name: "Другое" })]);
    await sync();
    expect(await names()).toEqual(["Другое"]);
    bakery = other;
    expect(await names()).toEqual(["Item 1"]);
  });
});

describe("a sync", () => {
  test("of a partner without a POS: 409 CONFLICT", async () => {
    expect(outcome(await sync(await cast.bakery(api.client)))).toBe("409 CONFLICT");
  });

  test("is shared by all who request it while it runs", async () => {
    till.serve([item("1")]);
    const release = till.hold();
    const asking = [sync(), sync(), sync()];
    await until(() => till.asked.length > 0);
    release();
    const replies = await Promise.all(asking);
    expect(replies.map(counts)).toEqual(asking.map(() => [200, 1, 0]));
  });

  test("cannot be read by another partner", async () => {
    till.serve([item("1")]);
    const { body } = await sync();
    const other = await cast.bakery(api.client);
    expect((await other.owner.client.get(`/api/v1/menu/pos/sync/${String(body["syncId"])}`)).status).toBe(404);
  });

  test("that the POS refuses: 409 CONFLICT, without a retry", async () => {
    await connect({ token: "a-former-one" });
    const refused = await sync();
    expect(outcome(refused)).toBe("409 CONFLICT");
    expect(refused.body["detail"]).toMatch(/^The POS refuses the connection: /);
    expect((await sql`select from pos_syncs where partner_id = ${bakery.id}::uuid and settled_at is null`).count).toBe(
      0,
    );
  });

  test("of an unreachable POS: 503 UNAVAILABLE; it is retried later, or at once on request", async () => {
    till.serve([item("1")]);
    till.fail(503);
    const away = await sync();
    expect(outcome(away)).toBe("503 UNAVAILABLE");
    expect(away.headers.get("retry-after")).toBe("60");
    expect(
      await sql`
        select s.attempt, s.start_at > now() + interval '50 seconds' and j.run_at = s.start_at as "soon"
        from pos_syncs s join staged_jobs j on j.id = s.job_id
        where s.partner_id = ${bakery.id}::uuid and s.settled_at is null`,
    ).toEqual([{ attempt: 2, soon: true }]);
    till.fail(null);
    expect(counts(await sync())).toEqual([200, 1, 0]);
  });

  test("waits as long as the POS asks it to, up to an hour", async () => {
    const wait = async () =>
      (
        await sql<{ minutes: number }[]>`
          select round(extract(epoch from start_at - now()) / 60)::integer as minutes from pos_syncs
          where partner_id = ${bakery.id}::uuid and settled_at is null`
      )[0]?.minutes;
    till.fail(429, { "retry-after": "600" });
    await sync();
    expect(await wait()).toBe(10);
    till.fail(429, { "retry-after": "86400" });
    await sync();
    expect(await wait()).toBe(60);
  });

  test("that fails five times is left to the schedule", async () => {
    till.fail(500);
    for (let n = 0; n < 5; n += 1) expect(outcome(await sync())).toBe("503 UNAVAILABLE");
    expect(
      await sql`select max(attempt) as attempt, count(*) filter (where settled_at is null) as open from pos_syncs where partner_id = ${bakery.id}::uuid`,
    ).toEqual([{ attempt: 5, open: 0 }]);
  });

  test("ends when credentials are replaced meanwhile, and another starts with the new ones", async () => {
    till.serve([item("1")]);
    const release = till.hold();
    const asking = sync();
    await until(() => till.asked.length > 0);
    expect((await connect()).status).toBe(200);
    const refused = await asking;
    expect(outcome(refused)).toBe("409 CONFLICT");
    release();
    await allSynced(bakery.id);
    expect(
      await sql`select status::text, failure::text from pos_syncs where partner_id = ${bakery.id}::uuid order by id`,
    ).toEqual([
      { status: "FAILED", failure: "REPLACED" },
      { status: "DONE", failure: null },
    ]);
    expect(await names()).toEqual(["Item 1"]);
  });

  test("is followed by one more when the POS reports changes meanwhile, without delaying its caller", async () => {
    till.serve([item("1")]);
    const release = till.hold();
    const asking = sync();
    await until(() => till.asked.length > 0);
    for (let n = 0; n < 10; n += 1) await requestPosSync(sql, bakery.id, { byUser: false, requestId: null });
    till.serve([item("1", { name: "Новое" })]);
    release();
    expect((await asking).status).toBe(200);
    await allSynced(bakery.id);
    expect(till.asked).toHaveLength(2);
    expect(await names()).toEqual(["Новое"]);
  });

  test("is staged once when the POS reports ten changes before it begins", async () => {
    const ids = await Promise.all(
      Array.from({ length: 10 }, () => requestPosSync(sql, bakery.id, { byUser: false, requestId: null })),
    );
    expect(new Set(ids).size).toBe(1);
    await allSynced(bakery.id);
  });
});
