import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { type Client, outcome, type Reply, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let bakery: cast.Bakery;
let owner: Client;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
});

beforeEach(async () => {
  bakery = await cast.bakery(client);
  owner = bakery.owner.client;
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const unknownId = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";
const baguette = { name: "Багет", category: "Хлеб", price: 120.5 };

const add = (fields: Record<string, unknown> = {}) => owner.post("/api/v1/menu/items", { ...baguette, ...fields });
const names = ({ list }: Reply) => list.map(({ name }) => name);

describe("POST /menu/items", () => {
  test("creates an item and its category", async () => {
    const added = await add();
    expect(added.status).toBe(201);
    expect(added.body).toEqual({
      id: expect.any(String),
      ...baguette,
      archived: false,
      available: true,
      description: null,
      weightGrams: null,
      externalId: null,
      source: "MANUAL",
    });
    expect((await owner.get("/api/v1/menu/items")).list).toEqual([added.body]);
    expect((await owner.get("/api/v1/menu/categories")).list).toEqual([{ id: expect.any(String), name: "Хлеб" }]);
    expect(await sql`select price_minor from menu_items where id = ${added.string("id")}::uuid`).toMatchObject([
      { priceMinor: 12_050 },
    ]);
  });

  test("stores the optional fields", async () => {
    const optional = { description: "Хрустящий", weightGrams: 250, externalId: "b-1", available: false };
    expect((await add(optional)).body).toMatchObject(optional);
  });

  test("ignores unknown fields", async () => {
    const other = await cast.bakery(client);
    const added = await add({ partnerId: other.id, archived: true, source: "POS", id: unknownId });
    expect(added.body).toMatchObject({ archived: false, source: "MANUAL" });
    expect(added.body).not.toMatchObject({ id: unknownId });
    expect(names(await other.owner.client.get("/api/v1/menu/items"))).toEqual([]);
  });

  test.each([
    ["without a name", { name: undefined }],
    ["with a blank name", { name: "  " }],
    ["with too long a name", { name: "x".repeat(201) }],
    ["without a category", { category: undefined }],
    ["with a category that is a number", { category: 1 }],
    ["without a price", { price: undefined }],
    ["with a negative price", { price: -1 }],
    ["with three decimals", { price: 1.005 }],
    ["with a price as text", { price: "120" }],
    ["with too high a price", { price: 10_000_000.01 }],
    ["with a weight of 0", { weightGrams: 0 }],
    ["with a fractional weight", { weightGrams: 0.5 }],
    ["with an availability as text", { available: "yes" }],
    ["with an empty external id", { externalId: "" }],
  ])("%s: 400 VALIDATION_ERROR", async (_case, fields) => {
    const refused = await add(fields);
    expect(outcome(refused)).toBe("400 VALIDATION_ERROR");
    expect(refused.body["errors"]).toEqual([{ path: Object.keys(fields)[0], message: expect.any(String) }]);
    expect(names(await owner.get("/api/v1/menu/items"))).toEqual([]);
  });

  test("accepts a price of 0", async () => {
    expect((await add({ price: 0 })).body["price"]).toBe(0);
  });

  test("updates the item with the same external id and restores it from the archive", async () => {
    const first = await add({ externalId: "b-1", description: "Вчерашний" });
    await owner.delete(`/api/v1/menu/items/${first.string("id")}`);
    const second = await add({ externalId: "b-1", name: "Батон", category: "Выпечка", price: 90 });
    expect(second.body).toEqual({
      ...first.body,
      name: "Батон",
      category: "Выпечка",
      price: 90,
      description: null,
      archived: false,
    });
    expect(names(await owner.get("/api/v1/menu/items?archived=true"))).toEqual(["Батон"]);
  });

  test("keeps external ids separate for each partner", async () => {
    const other = await cast.bakery(client);
    const one = await add({ externalId: "b-1" });
    expect(await cast.addMenuItem(other, { externalId: "b-1" })).not.toBe(one.string("id"));
    expect((await owner.get("/api/v1/menu/items")).list).toHaveLength(1);
  });

  test("creates one item when one external id is sent 10 times at once", async () => {
    const replies = await Promise.all(Array.from({ length: 10 }, () => add({ externalId: "b-1" })));
    expect(new Set(replies.map((reply) => reply.string("id"))).size).toBe(1);
    expect((await owner.get("/api/v1/menu/items")).list).toHaveLength(1);
  });
});

describe("categories", () => {
  test("are unique by name ignoring case, and keep their first spelling", async () => {
    await add({ category: "Хлеб" });
    expect((await add({ category: " ХЛЕБ " })).body["category"]).toBe("Хлеб");
    const cake = await add({ category: "Торты" });
    expect((await owner.put(`/api/v1/menu/items/${cake.string("id")}`, { category: "хлеб" })).body["category"]).toBe(
      "Хлеб",
    );
    expect(names(await owner.get("/api/v1/menu/categories"))).toEqual(["Хлеб", "Торты"]);
  });

  test("are created once when ten concurrent items name a new one", async () => {
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, n) => add({ category: n % 2 ? "ПИРОГИ" : "пироги" })),
    );
    expect(replies.map(outcome)).toEqual(Array(10).fill("201"));
    expect((await owner.get("/api/v1/menu/categories")).list).toHaveLength(1);
  });

  test("are separate for each partner", async () => {
    const other = await cast.bakery(client);
    await add();
    expect((await other.owner.client.get("/api/v1/menu/categories")).list).toEqual([]);
  });
});

describe("PUT /menu/items/{id}", () => {
  test("changes the given fields and keeps the rest", async () => {
    const item = await add({ description: "Хрустящий", weightGrams: 250, externalId: "b-1" });
    const put = (changes: unknown) => owner.put(`/api/v1/menu/items/${item.string("id")}`, changes);
    const renamed = await put({ name: "Батон", price: 99.9 });
    expect([renamed.status, renamed.body]).toEqual([200, { ...item.body, name: "Батон", price: 99.9 }]);
    const rest = { category: "Выпечка", description: "Мягкий", weightGrams: 300, available: false };
    expect((await put(rest)).body).toEqual({ ...renamed.body, ...rest });
    expect((await put({ price: 0 })).body).toEqual({ ...renamed.body, ...rest, price: 0 });
  });

  test("takes the item as it was read, and null clears a field", async () => {
    const read = (await add({ description: "С хрустящей коркой", externalId: "bread-1" })).body;
    const path = `/api/v1/menu/items/${String(read["id"])}`;
    expect((await owner.put(path, read)).body).toEqual(read);
    expect((await owner.put(path, { ...read, description: null, weightGrams: 300 })).body).toEqual({
      ...read,
      description: null,
      weightGrams: 300,
    });
    expect((await owner.put(path, { weightGrams: null })).body).toMatchObject({ weightGrams: null });
  });

  test("does not change whether an item is archived, nor its external id", async () => {
    const item = await add({ externalId: "b-1" });
    const path = `/api/v1/menu/items/${item.string("id")}`;
    expect((await owner.put(path, { archived: true, externalId: "b-2", price: 1 })).body).toMatchObject({
      archived: false,
      externalId: "b-1",
    });
    await owner.delete(path);
    expect((await owner.put(path, { archived: false, price: 2 })).body).toMatchObject({ archived: true, price: 2 });
  });

  test.each([
    ["an empty body", {}],
    ["only unknown fields", { archived: true }],
    ["an empty name", { name: "" }],
    ["a null price", { price: null }],
    ["a negative price", { price: -0.01 }],
  ])("%s: 400 VALIDATION_ERROR", async (_case, changes) => {
    const item = await add();
    expect(outcome(await owner.put(`/api/v1/menu/items/${item.string("id")}`, changes))).toBe("400 VALIDATION_ERROR");
  });

  test("another partner's item: 404 NOT_FOUND, and nothing is changed or created", async () => {
    const other = await cast.bakery(client);
    const item = await add();
    const foreign = other.owner.client;
    const path = `/api/v1/menu/items/${item.string("id")}`;
    expect(outcome(await foreign.put(path, { name: "Моё", category: "Чужое" }))).toBe("404 NOT_FOUND");
    expect(outcome(await foreign.delete(path))).toBe("404 NOT_FOUND");
    expect((await foreign.get("/api/v1/menu/categories")).list).toEqual([]);
    expect((await owner.get("/api/v1/menu/items")).list).toEqual([item.body]);
  });

  test.each([unknownId, "7", "null"])("%s: 404 NOT_FOUND", async (id) => {
    expect(outcome(await owner.put(`/api/v1/menu/items/${id}`, { name: "Батон" }))).toBe("404 NOT_FOUND");
    expect(outcome(await owner.delete(`/api/v1/menu/items/${id}`))).toBe("404 NOT_FOUND");
  });
});

describe("DELETE /menu/items/{id}", () => {
  test("archives the item: it leaves the menu, not the database", async () => {
    const item = await add();
    await add({ name: "Батон" });
    const archived = await owner.delete(`/api/v1/menu/items/${item.string("id")}`);
    expect([archived.status, archived.body]).toEqual([200, {}]);
    expect(names(await owner.get("/api/v1/menu/items"))).toEqual(["Батон"]);
    expect(names(await owner.get("/api/v1/menu/items?archived=false"))).toEqual(["Батон"]);
    expect((await owner.get("/api/v1/menu/items?archived=true")).list).toMatchObject([
      { ...item.body, archived: true },
      { name: "Батон", archived: false },
    ]);
  });

  test("can be repeated", async () => {
    const path = `/api/v1/menu/items/${(await add()).string("id")}`;
    await owner.delete(path);
    const since = await sql`select archived_at from menu_items where partner_id = ${bakery.id}::uuid`;
    expect((await owner.delete(path)).status).toBe(200);
    expect(await sql`select archived_at from menu_items where partner_id = ${bakery.id}::uuid`).toEqual(since);
  });
});

test.each(["archived=yes", "archived=", "archived=true&archived=false", "limit=0", "cursor=x"])(
  "GET /menu/items?%s: 400 VALIDATION_ERROR",
  async (query) => {
    expect(outcome(await owner.get(`/api/v1/menu/items?${query}`))).toBe("400 VALIDATION_ERROR");
  },
);

test.each(["PENDING_REVIEW", "REJECTED", "SUSPENDED"] as const)(
  "a %s partner keeps access to its menu",
  async (status) => {
    const partner = await cast.bakery(client, status);
    const id = await cast.addMenuItem(partner);
    expect((await partner.owner.client.get("/api/v1/menu/items")).list).toMatchObject([{ id }]);
  },
);
