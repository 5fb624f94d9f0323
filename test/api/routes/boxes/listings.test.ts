import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let bakery: cast.Bakery;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
});

beforeEach(async () => {
  bakery = await cast.bakery(client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const unknownId = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";
const hour = 60 * 60 * 1_000;

// all windows are computed from one moment, so that their lengths are exact
const now = Date.now();
const inHours = (hours: number) => new Date(now + hours * hour).toISOString();
const create = (fields: Record<string, unknown> = {}) => bakery.owner.client.post("/api/v1/boxes", cast.newBox(fields));
const countBoxes = async () => (await sql`select id from boxes where partner_id = ${bakery.id}::uuid`).length;

describe("POST /boxes", () => {
  test("lists a box as ACTIVE, with the given quantity available", async () => {
    const box = await create({ title: "Набор", quantity: 7 });
    expect(box.status).toBe(201);
    expect(box.body).toEqual({ id: expect.any(String), title: "Набор", quantityAvailable: 7, status: "ACTIVE" });
    expect(box.headers.get("location")).toBe(`/api/v1/boxes/${box.string("id")}`);
  });

  test("stores every field, to the kopeck and the second", async () => {
    const [start, end] = [inHours(1), inHours(49)];
    const optional = {
      description: "Что осталось к вечеру",
      originalPrice: 999.99,
      weightGrams: 1_200,
      maxPerCustomer: 2,
    };
    const id = await cast.listBox(bakery, {
      price: 249.9,
      ...optional,
      pickupWindowStart: start.replace("Z", "+00:00"),
      pickupWindowEnd: end,
    });
    expect((await client.get(`/api/v1/boxes/${id}`)).body).toEqual({
      id,
      partnerId: bakery.id,
      title: "Вечерний набор",
      price: 249.9,
      quantityAvailable: 10,
      pickupWindowStart: start,
      pickupWindowEnd: end,
      status: "ACTIVE",
      hidden: false,
      imageUrl: null,
      thumbnailUrl: null,
      items: [],
      ...optional,
    });
    expect(await sql`select price_minor, quantity_reserved from boxes where id = ${id}::uuid`).toMatchObject([
      { priceMinor: 24_990, quantityReserved: 0 },
    ]);
  });

  test("lists its contents from the partner's own menu", async () => {
    const bread = await cast.addMenuItem(bakery);
    const cake = await cast.addMenuItem(bakery, { name: "Торт" });
    const id = await cast.listBox(bakery, {
      items: [
        { menuItemId: cake, qty: 1 },
        { menuItemId: bread.toUpperCase(), qty: 3 },
      ],
    });
    expect((await client.get(`/api/v1/boxes/${id}`)).body["items"]).toEqual([
      { menuItemId: bread, name: "Багет", qty: 3 },
      { menuItemId: cake, name: "Торт", qty: 1 },
    ]);
  });

  test("refuses contents that are unknown, archived or another partner's: 400 VALIDATION_ERROR", async () => {
    const own = await cast.addMenuItem(bakery);
    const archived = await cast.addMenuItem(bakery);
    await bakery.owner.client.delete(`/api/v1/menu/items/${archived}`);
    const foreign = await cast.addMenuItem(await cast.bakery(client));
    for (const menuItemId of [unknownId, archived, foreign]) {
      const refused = await create({
        items: [
          { menuItemId: own, qty: 1 },
          { menuItemId, qty: 1 },
        ],
      });
      expect(outcome(refused)).toBe("400 VALIDATION_ERROR");
    }
    expect(await countBoxes()).toBe(0);
  });

  test("ignores unknown fields", async () => {
    const other = await cast.bakery(client);
    const box = await create({ partnerId: other.id, status: "SOLD_OUT", hidden: true, id: unknownId });
    expect((await client.get(`/api/v1/boxes/${box.string("id")}`)).body).toMatchObject({
      partnerId: bakery.id,
      status: "ACTIVE",
      hidden: false,
      imageUrl: null,
      thumbnailUrl: null,
    });
  });

  test.each([
    ["1 box", { quantity: 1 }],
    ["10 000 boxes", { quantity: 10_000 }],
    ["a free box", { price: 0 }],
    ["a box at its original price", { price: 10, originalPrice: 10 }],
    ["a window that has begun", { pickupWindowStart: inHours(-1) }],
    ["a window of 48 hours", { pickupWindowStart: inHours(0), pickupWindowEnd: inHours(48) }],
    ["instants without seconds", { pickupWindowStart: "2099-01-01T18:00+03:00", pickupWindowEnd: "2099-01-01T19:00Z" }],
    ["instants with microseconds", { pickupWindowStart: inHours(1).replace("Z", "999+00:00") }],
  ])("accepts %s", async (_case, fields) => {
    expect(outcome(await create(fields))).toBe("201");
  });

  test.each([
    ["without a title", "title", { title: undefined }],
    ["with a blank title", "title", { title: " " }],
    ["without a price", "price", { price: undefined }],
    ["with a negative price", "price", { price: -0.01 }],
    ["with three decimals", "price", { price: 0.001 }],
    ["below its original price", "originalPrice", { price: 10, originalPrice: 9.99 }],
    ["without a quantity", "quantity", { quantity: undefined }],
    ["with no boxes", "quantity", { quantity: 0 }],
    ["with a negative quantity", "quantity", { quantity: -1 }],
    ["with a fractional quantity", "quantity", { quantity: 1.5 }],
    ["with 10 001 boxes", "quantity", { quantity: 10_001 }],
    ["with a quantity as text", "quantity", { quantity: "10" }],
    ["without a start", "pickupWindowStart", { pickupWindowStart: undefined }],
    ["without an end", "pickupWindowEnd", { pickupWindowEnd: undefined }],
    ["with a start without an offset", "pickupWindowStart", { pickupWindowStart: "2099-01-01T18:00:00" }],
    ["with a start that is a number", "pickupWindowStart", { pickupWindowStart: 4_070_962_800_000 }],
    ["on a day that does not exist", "pickupWindowStart", { pickupWindowStart: "2099-02-30T18:00:00Z" }],
    ["with an end at its start", "pickupWindowEnd", { pickupWindowStart: inHours(2), pickupWindowEnd: inHours(2) }],
    ["with an end before its start", "pickupWindowEnd", { pickupWindowStart: inHours(2), pickupWindowEnd: inHours(1) }],
    ["with a window in the past", "pickupWindowEnd", { pickupWindowStart: inHours(-2), pickupWindowEnd: inHours(-1) }],
    [
      "with a window of more than 48 hours",
      "pickupWindowEnd",
      { pickupWindowStart: inHours(1), pickupWindowEnd: inHours(49.1) },
    ],
    ["too far in the future", "pickupWindowEnd", { pickupWindowEnd: "9999-12-31T23:59:59Z" }],
    ["with a limit of 0 per customer", "maxPerCustomer", { maxPerCustomer: 0 }],
    ["with a weight of 0", "weightGrams", { weightGrams: 0 }],
    ["with contents that are not a list", "items", { items: { menuItemId: unknownId, qty: 1 } }],
    ["with an invalid id", "items.0.menuItemId", { items: [{ menuItemId: "7", qty: 1 }] }],
    ["with a quantity of 0 for an item", "items.0.qty", { items: [{ menuItemId: unknownId, qty: 0 }] }],
    [
      "with an item twice",
      "items",
      { items: [unknownId, unknownId.toUpperCase()].map((menuItemId) => ({ menuItemId, qty: 1 })) },
    ],
    ["with 51 items", "items", { items: Array(51).fill({ menuItemId: unknownId, qty: 1 }) }],
  ])("%s: 400 VALIDATION_ERROR", async (_case, path, fields) => {
    const refused = await create(fields);
    expect(outcome(refused)).toBe("400 VALIDATION_ERROR");
    expect(refused.body["errors"]).toEqual(expect.arrayContaining([{ path, message: expect.any(String) }]));
    expect(await countBoxes()).toBe(0);
  });

  test.each(["PENDING_REVIEW", "REJECTED", "SUSPENDED"] as const)("a %s partner: 403 FORBIDDEN", async (status) => {
    bakery = await cast.bakery(client, status);
    expect(outcome(await create())).toBe("403 FORBIDDEN");
    expect(await countBoxes()).toBe(0);
  });

  test("a user without a partner: 403 FORBIDDEN", async () => {
    expect(outcome(await (await cast.user(client)).client.post("/api/v1/boxes", cast.newBox()))).toBe("403 FORBIDDEN");
  });
});

describe("GET /boxes/{id}", () => {
  test("is public, with an ETag that changes with the box", async () => {
    const id = await cast.listBox(bakery);
    const read = (etag: string) => client.get(`/api/v1/boxes/${id}`, { headers: { "if-none-match": etag } });
    const etag = (await client.get(`/api/v1/boxes/${id}`)).headers.get("etag") ?? "";
    const unchanged = await read(etag);
    expect([etag !== "", unchanged.status, unchanged.text]).toEqual([true, 304, ""]);
    await sql`update boxes set quantity_available = 9, quantity_reserved = 1 where id = ${id}::uuid`;
    expect((await read(etag)).body["quantityAvailable"]).toBe(9);
  });

  test("shows EXPIRED as soon as the window is over, before a task has recorded it", async () => {
    const id = await cast.listBox(bakery);
    await sql`
      update boxes set pickup_window_start = now() - interval '2 hours', pickup_window_end = now() - interval '1 second'
      where id = ${id}::uuid`;
    expect((await client.get(`/api/v1/boxes/${id}`)).body["status"]).toBe("EXPIRED");
  });

  test("still names an item that was archived after the listing", async () => {
    const bread = await cast.addMenuItem(bakery);
    const id = await cast.listBox(bakery, { items: [{ menuItemId: bread, qty: 2 }] });
    await bakery.owner.client.delete(`/api/v1/menu/items/${bread}`);
    expect((await client.get(`/api/v1/boxes/${id}`)).body["items"]).toEqual([
      { menuItemId: bread, name: "Багет", qty: 2 },
    ]);
  });

  test("a hidden box: 404 NOT_FOUND", async () => {
    const id = await cast.listBox(bakery);
    await sql`update boxes set hidden_at = now() where id = ${id}::uuid`;
    expect(outcome(await client.get(`/api/v1/boxes/${id}`))).toBe("404 NOT_FOUND");
  });

  test.each([unknownId, "7", "by-partner", "..%2Fusers%2Fme"])("%s: 404 NOT_FOUND", async (id) => {
    expect(outcome(await client.get(`/api/v1/boxes/${id}`))).toBe("404 NOT_FOUND");
  });
});

describe("GET /boxes/by-partner/{partnerId}", () => {
  const list = async (query = "", as = client) =>
    (await as.get(`/api/v1/boxes/by-partner/${bakery.id}${query}`)).list.map(({ title }) => title);

  beforeEach(async () => {
    for (const title of ["on offer", "sold out", "hidden", "expired", "over"]) await cast.listBox(bakery, { title });
    await cast.listBox(await cast.bakery(client), { title: "another partner's" });
    const partnerId = bakery.id;
    await sql`update boxes set status = 'SOLD_OUT', quantity_available = 0
              where partner_id = ${partnerId}::uuid and title = 'sold out'`;
    await sql`update boxes set hidden_at = now() where partner_id = ${partnerId}::uuid and title = 'hidden'`;
    await sql`update boxes set status = 'EXPIRED' where partner_id = ${partnerId}::uuid and title = 'expired'`;
    await sql`update boxes set pickup_window_start = now() - interval '2 hours', pickup_window_end = now() - interval '1 second'
              where partner_id = ${partnerId}::uuid and title = 'over'`;
  });

  test("is public and shows visible boxes, newest first", async () => {
    expect(await list()).toEqual(["sold out", "on offer"]);
    expect((await client.get(`/api/v1/boxes/by-partner/${bakery.id}`)).list[1]).toEqual({
      id: expect.any(String),
      partnerId: bakery.id,
      title: "on offer",
      description: null,
      price: 249.9,
      originalPrice: null,
      weightGrams: null,
      maxPerCustomer: null,
      quantityAvailable: 10,
      pickupWindowStart: expect.any(String),
      pickupWindowEnd: expect.any(String),
      status: "ACTIVE",
      hidden: false,
      imageUrl: null,
      thumbnailUrl: null,
    });
  });

  test("shows all boxes with all=true to the partner's people, and to no other caller", async () => {
    const all = ["over", "expired", "hidden", "sold out", "on offer"];
    const clerk = await cast.user(client);
    await sql`insert into partner_staff (user_id, partner_id) values (${clerk.id}::uuid, ${bakery.id}::uuid)`;
    expect(await list("?all=true", bakery.owner.client)).toEqual(all);
    expect(await list("?all=1", clerk.client)).toEqual(all);
    expect(await list("?all=false", bakery.owner.client)).toEqual(["sold out", "on offer"]);
    const stranger = (await cast.bakery(client)).owner.client;
    for (const other of [client, (await cast.user(client)).client, stranger]) {
      expect(await list("?all=true", other)).toEqual(["sold out", "on offer"]);
    }
  });

  test("shows the statuses that hold now", async () => {
    const read = await bakery.owner.client.get(`/api/v1/boxes/by-partner/${bakery.id}?all=true`);
    expect(read.list.map(({ title, status, hidden }) => [title, status, hidden])).toEqual([
      ["over", "EXPIRED", false],
      ["expired", "EXPIRED", false],
      ["hidden", "ACTIVE", true],
      ["sold out", "SOLD_OUT", false],
      ["on offer", "ACTIVE", false],
    ]);
  });

  test("shows a suspended partner's boxes only to the partner itself", async () => {
    await sql`update partners set status = 'SUSPENDED' where id = ${bakery.id}::uuid`;
    expect(await list()).toEqual([]);
    expect(await list("?all=true", bakery.owner.client)).toHaveLength(5);
  });

  test("refuses an invalid token, although none is required", async () => {
    expect(outcome(await client.as("x.y.z").get(`/api/v1/boxes/by-partner/${bakery.id}`))).toBe("401 UNAUTHORIZED");
  });
});

test("a partner without boxes: an empty list; an unknown partner: 404 NOT_FOUND", async () => {
  const empty = await client.get(`/api/v1/boxes/by-partner/${bakery.id}`);
  expect([empty.status, empty.list]).toEqual([200, []]);
  for (const id of [unknownId, "7"]) {
    expect(outcome(await client.get(`/api/v1/boxes/by-partner/${id}`))).toBe("404 NOT_FOUND");
  }
});
