import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { z } from "zod";
import type { Reply } from "../../../support/api.js";
import type { Bakery, Character } from "../../../support/cast.js";
import type { SignedCall } from "../../../support/pos/vendor.js";
import { startVendors, type Vendor } from "../../../support/pos/vendors.js";
import { sized } from "../../../support/size.js";

const vendors = await startVendors();
const { startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { allSettled, allSynced, startPosWorkers } = await import("../../../support/pos-workers.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");

let api: Awaited<ReturnType<typeof startApi>>;
let workers: ReturnType<typeof startPosWorkers>;
let admin: Character;

beforeAll(async () => {
  api = await startApi();
  workers = startPosWorkers();
  admin = await cast.admin(api.client);
});

afterAll(async () => {
  await api.stop();
  await workers.stop();
  await vendors.stop();
  await closeDatabase();
});

const Published = z.looseObject({ credentialsSchema: z.record(z.string(), z.unknown()) });

const connect = ({ id }: Bakery, adapterName: string, credentials: Record<string, unknown>) =>
  admin.client.put("/api/v1/pos/credentials", {
    partnerId: id,
    adapterName,
    credentialsJson: JSON.stringify(credentials),
  });

const tryOut = (adapterName: string, credentials: Record<string, unknown>) =>
  admin.client.post("/api/v1/pos/test-connection", { adapterName, credentialsJson: JSON.stringify(credentials) });

const deliver = (adapter: string, { headers, body }: SignedCall) =>
  api.client.send("post", `/api/v1/pos/webhooks/${adapter}`, body, { headers });

const sync = ({ owner }: Bakery) => owner.client.post("/api/v1/menu/pos/sync");
const counts = ({ status, body: { itemsSynced, itemsFailed } }: Reply) => [status, itemsSynced, itemsFailed];

const menu = async ({ owner }: Bakery) =>
  (await owner.client.get("/api/v1/menu/items?limit=200")).list
    .map(({ externalId, name, category, price, available, source }) => ({
      externalId,
      name,
      category,
      price,
      available,
      source,
    }))
    .sort((one, other) => String(one.externalId).localeCompare(String(other.externalId)));

/** All of them in random order, each `times` times. */
const shuffled = <T>(things: readonly T[], times: number): T[] => {
  const [all = []] = fc.sample(
    fc.shuffledSubarray(Array.from({ length: times }, () => things).flat(), { minLength: things.length * times }),
    1,
  );
  return all;
};

const bread = { id: "1", name: "Багет", category: "Хлеб", price: 12_050 };
const tea = { id: "2", name: "Чай", category: "Напитки", price: 4_500 };
const pie = { id: "3", name: "Пирог", category: "Хлеб", price: 30_000 };
const soup = { id: "4", name: "Суп", category: "Горячее", price: 25_000 };
const asItem = ({ id, name, category, price }: typeof bread, available = true) => ({
  externalId: id,
  name,
  category,
  price: price / 100,
  available,
  source: "POS",
});

describe.each(vendors.all.map((vendor): [string, Vendor] => [vendor.adapter, vendor]))("%s", (adapter, vendor) => {
  let bakery: Bakery;

  beforeAll(async () => {
    bakery = await cast.bakery(api.client);
  });

  test("is listed among the adapters, with the schema of its credentials", async () => {
    const { list } = await admin.client.get("/api/v1/pos/adapters");
    const listed = list.find(({ name }) => name === adapter);
    expect(listed).toMatchObject({ webhooks: true });
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
      Published.parse(listed).credentialsSchema,
    );
    expect([validate(vendor.credentials), validate({}), validate({ ...vendor.credentials, more: 1 })]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("tests a connection: accepts valid credentials, refuses others, and stores nothing", async () => {
    const known = await tryOut(adapter, vendor.credentials);
    expect([known.status, known.body["ok"]]).toEqual([200, true]);
    const unknown = await tryOut(adapter, vendor.wrongCredentials);
    expect([unknown.status, unknown.body["ok"]]).toEqual([200, false]);
    vendor.trouble("drop", { times: 1 });
    const away = await tryOut(adapter, vendor.credentials);
    expect([away.status, away.body["ok"]]).toEqual([200, false]);
    vendor.recover();
    expect((await tryOut(adapter, { ...vendor.credentials, more: 1 })).body["code"]).toBe("INVALID_CREDENTIALS");
    expect((await sql`select from pos_credentials where account = ${vendor.account}`).count).toBe(0);
  });

  test("imports a menu page by page", async () => {
    expect((await connect(bakery, adapter, vendor.credentials)).status).toBe(200);
    vendor.serve([bread, tea, { ...pie, available: false }]);
    expect(counts(await sync(bakery))).toEqual([200, 3, 0]);
    expect(await menu(bakery)).toEqual([asItem(bread), asItem(tea), asItem(pie, false)]);
  });

  test("reports each change five times at once: the menu follows, with fewer syncs than reports", async () => {
    const syncs = async () => (await sql`select from pos_syncs where partner_id = ${bakery.id}::uuid`).count;
    const before = await syncs();
    vendor.serve([{ ...bread, price: 13_000 }, pie, soup]);
    const calls = Array.from({ length: 4 }, () => vendor.newCall());
    const replies = await Promise.all(shuffled(calls, 5).map((call) => deliver(adapter, call)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    await allSettled(bakery.id);
    await allSynced(bakery.id);
    expect(
      await sql`select status::text, count(*) as events from pos_events where partner_id = ${bakery.id}::uuid group by status`,
    ).toEqual([{ status: "PROCESSED", events: 4 }]);
    expect(await menu(bakery)).toEqual([asItem({ ...bread, price: 13_000 }), asItem(pie), asItem(soup)]);
    expect(await syncs()).toBeGreaterThan(before);
    expect(await syncs()).toBeLessThan(before + calls.length);
  });

  test("is unreachable for a while: the menu stays, and the next sync succeeds", async () => {
    const before = await menu(bakery);
    vendor.serve([bread]);
    for (const trouble of ["drop", { status: 503, body: {} }, { body: "<html>" }] as const) {
      vendor.trouble(trouble, { times: 50 });
      const away = await sync(bakery);
      expect([away.status, away.body["code"]]).toEqual([503, "UNAVAILABLE"]);
      vendor.recover();
    }
    expect(await menu(bakery)).toEqual(before);
    expect(counts(await sync(bakery))).toEqual([200, 1, 0]);
    expect(await menu(bakery)).toEqual([asItem(bread)]);
  });

  test("breaks off in the middle: nothing is archived", async () => {
    vendor.serve([bread, tea, pie]);
    await sync(bakery);
    vendor.serve([{ ...bread, price: 1_000 }]);
    // the last request of a pull, whatever else comes before
    const path = { square: "types=ITEM", poster: "batchtickets", iiko: "nomenclature", generic: "/menu" };
    vendor.trouble({ status: 500, body: {} }, { times: 50, path: path[vendor.adapter] });
    expect((await sync(bakery)).status).toBe(503);
    vendor.recover();
    expect((await menu(bakery)).map(({ externalId }) => externalId)).toEqual(["1", "2", "3"]);
  });

  test("refuses credentials: 409 CONFLICT, and the menu is not changed", async () => {
    const before = await menu(bakery);
    expect((await connect(bakery, adapter, vendor.wrongCredentials)).status).toBe(200);
    const refused = await sync(bakery);
    expect([refused.status, refused.body["code"]]).toEqual([409, "CONFLICT"]);
    expect(await menu(bakery)).toEqual(before);
    expect((await connect(bakery, adapter, vendor.credentials)).status).toBe(200);
    expect(counts(await sync(bakery))).toEqual([200, 1, 0]);
  });
});

describe("webhooks of iiko", () => {
  const { iiko } = vendors;
  const stored = async () => (await sql`select from pos_events where provider = 'iiko'`).count;

  test.each<[string, unknown, string]>([
    ["that are not a list", iiko.event(), ""],
    ["that are not events", [7], "0"],
    ["without an account", [iiko.event({ organizationId: undefined })], "0.organizationId"],
    ["without an account before a valid one", [iiko.event({ organizationId: null }), iiko.event()], "0.organizationId"],
    ["without an account after a valid one", [iiko.event(), iiko.event({ organizationId: 7 })], "1.organizationId"],
    ["without a type", [iiko.event({ eventType: undefined })], "0.eventType"],
  ])("%s: 400 BAD_REQUEST that names the field, and nothing is stored", async (_what, events, path) => {
    const before = await stored();
    const refused = await deliver("iiko", iiko.sign(events));
    expect([refused.status, refused.body["code"]]).toEqual([400, "BAD_REQUEST"]);
    expect(refused.body["errors"]).toMatchObject([{ path }]);
    expect(await stored()).toBe(before);
  });
});

describe("a menu that the POS reports as unchanged", () => {
  let bakery: Bakery;
  const { iiko } = vendors;
  const starts = () =>
    iiko.requests
      .filter(({ path }) => path.endsWith("/nomenclature"))
      .map(({ body }) => z.object({ startRevision: z.int().optional() }).parse(body).startRevision);

  beforeAll(async () => {
    bakery = await cast.bakery(api.client);
    // until now the account belongs to the other bakery
    await sql`delete from pos_credentials where adapter = 'iiko'`;
    await connect(bakery, "iiko", iiko.credentials);
    iiko.serve([bread, tea]);
    await sync(bakery);
  });

  test("archives nothing", async () => {
    iiko.recover();
    const { body } = await sync(bakery);
    expect(starts()).toEqual([expect.any(Number)]);
    const read = await bakery.owner.client.get(`/api/v1/menu/pos/sync/${String(body["syncId"])}`);
    expect(read.body).toMatchObject({ status: "DONE", unchanged: true, itemsSynced: 0, itemsArchived: 0 });
    expect(await menu(bakery)).toEqual([asItem(bread), asItem(tea)]);
  });

  test("still has its stop list read", async () => {
    iiko.setStopList([{ productId: "2", balance: 0 }]);
    await sync(bakery);
    expect(await menu(bakery)).toEqual([asItem(bread), asItem(tea, false)]);
    iiko.setStopList([]);
    await sync(bakery);
  });

  test("is read completely after reconnecting", async () => {
    await connect(bakery, "iiko", iiko.credentials);
    iiko.recover();
    expect(counts(await sync(bakery))).toEqual([200, 2, 0]);
    expect(starts()).toEqual([undefined]);
  });

  test("is read completely while one of its items could not be imported", async () => {
    await sql`update menu_items set source = 'MANUAL' where partner_id = ${bakery.id}::uuid and external_id = '2'`;
    iiko.serve([bread, tea, pie]);
    expect(counts(await sync(bakery))).toEqual([200, 2, 1]);
    await sql`update menu_items set source = 'POS' where partner_id = ${bakery.id}::uuid and external_id = '2'`;
    expect(counts(await sync(bakery))).toEqual([200, 3, 0]);
  });
});

describe("the events of a POS", () => {
  const { generic } = vendors;

  /** The events of one shift: orders and their statuses, and items that are sold out or available again. */
  const shift = fc.record({
    lives: fc.array(fc.constantFrom(["READY", "COMPLETED"], ["READY", "CANCELLED"], ["COMPLETED"], []), {
      minLength: 1,
      maxLength: 4,
    }),
    stops: fc.array(fc.record({ id: fc.constantFrom("1", "2", "3"), available: fc.boolean() }), { maxLength: 6 }),
  });

  test("in any order, each five times and many concurrently, lead to the same result", async () => {
    const menuOf = (gone: ReadonlySet<string>) =>
      [bread, tea, pie].map((item) => ({ ...item, available: !gone.has(item.id) }));
    await fc.assert(
      fc.asyncProperty(shift, async ({ lives, stops }) => {
        const bakery = await cast.bakery(api.client);
        const day = randomUUID();
        await sql`delete from pos_credentials where adapter = 'generic'`;
        await connect(bakery, "generic", generic.credentials);
        generic.serve(menuOf(new Set()));
        await sync(bakery);

        const events = lives.flatMap((life, n) => [
          generic.event(
            "order.created",
            { items: [{ externalId: "1", qty: n + 1 }], totalAmount: 120.5 * (n + 1) },
            `order-${n} ${day}`,
          ),
          ...life.map((status) => generic.event("order.status", { orderExternalId: `order-${n} ${day}`, status })),
        ]);
        const gone = new Set<string>();
        for (const { id, available } of stops) {
          if (available) gone.delete(id);
          else gone.add(id);
          events.push(generic.event("item.availability", { items: [{ externalId: id, available }] }));
        }
        generic.serve(menuOf(gone));
        const replies = await Promise.all(shuffled(events, 5).map((event) => deliver("generic", generic.sign(event))));
        expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
        await allSettled(bakery.id);
        await allSynced(bakery.id);

        const stored = await sql<{ status: string }[]>`
          select status::text from pos_events where partner_id = ${bakery.id}::uuid`;
        expect(stored.map(({ status }) => status)).toEqual(events.map(() => "PROCESSED"));
        const { list } = await bakery.owner.client.get("/api/v1/partners/me/orders");
        const ended = list.map(({ totalAmount, status }) => [totalAmount, status]);
        expect(ended.sort()).toEqual(lives.map((life, n) => [120.5 * (n + 1), life.at(-1) ?? "ACCEPTED"]).sort());
        expect((await menu(bakery)).map(({ externalId, available }) => [externalId, available])).toEqual(
          menuOf(gone).map(({ id, available }) => [id, available]),
        );
      }),
      { numRuns: sized(6, 2) },
    );
  });
});
