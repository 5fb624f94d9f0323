import { afterAll, afterEach, describe, expect, test } from "@jest/globals";
import { product, startPoster } from "../../support/pos/poster.js";
import { pullAll, received } from "../../support/pos/pull.js";

process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const { poster } = await import("../../../lib/pos/poster.js");
const { MalformedWebhook, PosRefused, PosUnavailable } = await import("../../../lib/pos/adapter.js");

const vendor = await startPoster();
const adapter = poster(vendor.url);
const connect = (fields: Record<string, unknown> = {}) => adapter.connect({ ...vendor.credentials, ...fields });
const signal = new AbortController().signal;

afterEach(() => {
  vendor.recover();
  vendor.setMenu([]);
});
afterAll(() => vendor.stop());

const spots = (...prices: [string, string, string][]) =>
  prices.map(([spot_id, price, visible]) => ({ spot_id, price, visible }));

test("prices are kopecks as text, and both goods and dishes are on the menu", async () => {
  vendor.setMenu([product("1", "Bun", 9_950), product("2", "Soup", 25_000, { type: "2" })]);
  const { items, rejected, end } = await pullAll(connect());
  expect(items.map(({ externalId, priceMinor }) => [externalId, priceMinor])).toEqual([
    ["1", 9_950],
    ["2", 25_000],
  ]);
  expect([rejected, end]).toEqual([[], { unchanged: false, revision: null }]);
});

test("ids may be numbers, and semi-finished products are left out", async () => {
  vendor.setMenu([product("1", "Bun", 1, { product_id: 1 }), product("2", "Dough", 1, { type: "1" })]);
  expect((await pullAll(connect())).items.map(({ externalId }) => externalId)).toEqual(["1"]);
});

test("the category's name comes from the menu's categories, else from the item", async () => {
  const of = (id: string, menu_category_id: string, category_name: string) =>
    product(id, id, 1, { menu_category_id, category_name });
  vendor.setMenu(
    [of("1", "7", "Old name"), of("2", "8", "Own name"), of("3", "0", "")],
    [{ category_id: 7, category_name: "New name", category_hidden: "0" }, { category_id: null }],
  );
  const { items } = await pullAll(connect());
  expect(items.map(({ category }) => category)).toEqual(["New name", "Own name", "Menu"]);
});

test("a hidden product, category or spot makes an item unavailable", async () => {
  const categories = [{ category_id: "9", category_name: "Secret", category_hidden: "1" }];
  vendor.setMenu(
    [
      product("1", "shown", 1),
      product("2", "hidden", 1, { hidden: "1" }),
      product("3", "in a hidden category", 1, { menu_category_id: "9" }),
      product("4", "hidden everywhere", 1, { spots: spots(["1", "1", "0"], ["2", "1", "0"]) }),
      product("5", "shown somewhere", 1, { spots: spots(["1", "1", "0"], ["2", "5", "1"]) }),
    ],
    categories,
  );
  const { items } = await pullAll(connect());
  expect(items.map(({ externalId, available }) => [externalId, available])).toEqual([
    ["1", true],
    ["2", false],
    ["3", false],
    ["4", false],
    ["5", true],
  ]);
  expect(items[4]?.priceMinor).toBe(5);
});

test("a spot has its own prices and visibility, and does not sell products that are not listed there", async () => {
  vendor.setMenu([
    product("1", "A", 0, { spots: spots(["1", "100", "1"], ["2", "200", "0"]) }),
    product("2", "B", 0, { spots: spots(["1", "300", "1"]) }),
    product("3", "C", 0, { spots: undefined, price: { "1": "400", "2": "500" } }),
  ]);
  const menuOf = async (spotId?: string) =>
    (await pullAll(connect(spotId === undefined ? {} : { spotId }))).items.map((one) => [
      one.externalId,
      one.priceMinor,
      one.available,
    ]);
  expect(await menuOf("1")).toEqual([
    ["1", 100, true],
    ["2", 300, true],
    ["3", 400, true],
  ]);
  expect(await menuOf("2")).toEqual([
    ["1", 200, false],
    ["3", 500, true],
  ]);
  expect(await menuOf()).toEqual([
    ["1", 100, true],
    ["2", 300, true],
    ["3", 400, true],
  ]);
});

test("a product with modifications has no price itself: each modification is an item", async () => {
  const modification = (id: string, name: string, price: string, visible = "1") => ({
    modificator_id: id,
    modificator_name: name,
    // the vendor lists spots twice
    spots: [...spots(["1", price, visible]), ...spots(["1", price, visible])],
  });
  vendor.setMenu([
    product("5", "Juice", 0, {
      price: undefined,
      spots: undefined,
      modifications: [
        modification("1", "Apple", "68100"),
        modification("2", "Pear", "70000", "0"),
        { modificator_id: "3" },
      ],
    }),
  ]);
  const { items, rejected } = await pullAll(connect());
  expect(items.map(({ externalId, name, priceMinor, available }) => [externalId, name, priceMinor, available])).toEqual(
    [
      ["5:1", "Juice, Apple", 68_100, true],
      ["5:2", "Juice, Pear", 70_000, false],
    ],
  );
  expect(rejected).toMatchObject([{ externalId: "5:3" }]);
});

test("required choices add at least their price, which is in major units", async () => {
  const dish = (id: string, ...groups: unknown[]) =>
    product(id, id, 10_000, { type: "2", group_modifications: groups });
  const group = (num_min: unknown, ...prices: unknown[]) => ({
    num_min,
    modifications: prices.map((price) => ({ price })),
  });
  vendor.setMenu([
    dish("none"),
    dish("free", group(0, 50)),
    dish("one", group(1, 50.5, 20.1)),
    dish("two", group("2", "3", "1", "2")),
    dish("both", group(1, 1), group(1, 2)),
    dish("impossible", group(1)),
    dish("negative", group(1, -5)),
  ]);
  const { items, rejected } = await pullAll(connect());
  expect(items.map(({ externalId, priceMinor }) => [externalId, priceMinor])).toEqual([
    ["none", 10_000],
    ["free", 10_000],
    ["one", 12_010],
    ["two", 10_300],
    ["both", 10_300],
  ]);
  expect(rejected.map(({ externalId }) => externalId)).toEqual(["impossible", "negative"]);
});

test("an invalid item is skipped alone", async () => {
  vendor.setMenu([
    product("1", "", 1),
    product("2", "x", 1, { spots: spots(["1", "12.50", "1"]) }),
    product("3", "x", 1, { spots: spots(["1", "-1", "1"]) }),
    product("4", "x", 1, { spots: spots(["1", "9999999999", "1"]) }),
    product("5", "x", 1, { spots: undefined, price: undefined }),
    product("6", "x", 1, { product_name: null, modifications: [{ modificator_id: "1" }, { modificator_id: "2" }] }),
    product("7", "good", 1),
    product("7", "again", 1),
    { product_name: "nameless", type: "3" },
  ]);
  const { items, rejected } = await pullAll(connect());
  expect(items.map(({ name }) => name)).toEqual(["good"]);
  expect(rejected.map(({ externalId }) => externalId)).toEqual(["1", "2", "3", "4", "5", "6:1", "6:2", "7", null]);
});

test.each([
  [10, PosRefused],
  [11, PosRefused],
  [12, PosRefused],
  [20, PosRefused],
  [54, PosRefused],
  [700, PosUnavailable],
  [30, PosUnavailable],
])("error %d comes with the status of a success", async (code, kind) => {
  for (const error of [{ code, message: "no-4711" }, code]) {
    vendor.trouble({ body: { error } }, { path: "getProducts" });
    await expect(pullAll(connect())).rejects.toThrow(kind);
  }
});

test.each([{}, { response: null }, { response: {} }, { response: "x" }, { error: {} }, [], null, "x"])(
  "an answer such as %j fails the pull",
  async (body) => {
    vendor.trouble({ body }, { path: "getProducts" });
    await expect(pullAll(connect())).rejects.toThrow(PosUnavailable);
  },
);

test("a pull fails when the dishes cannot be read", async () => {
  vendor.setMenu([product("1", "Bun", 1)]);
  vendor.trouble({ status: 500, body: {} }, { path: "batchtickets" });
  await expect(pullAll(connect())).rejects.toThrow(PosUnavailable);
});

test("a connection test reports a wrong token and an unknown spot without showing them", async () => {
  expect(await connect().test(signal)).toMatchObject({ ok: true });
  expect(await connect({ spotId: "2" }).test(signal)).toMatchObject({ ok: true });
  expect(await connect({ spotId: "9" }).test(signal)).toMatchObject({ ok: false });
  const refused = await connect({ token: "secret-4711" }).test(signal);
  expect(refused).toEqual({ ok: false, message: "The POS answers with its error 11." });
});

describe("a Poster webhook event", () => {
  const read = (fields: Record<string, unknown> = {}) =>
    adapter.webhook.read(received(vendor.sign(vendor.event(fields))));

  test.each(["added", "changed", "removed", "transformed"])("reports a changed menu: %s", (action) => {
    for (const object of ["product", "dish", "category"])
      expect(read({ object, action })).toMatchObject([{ account: vendor.account, change: { kind: "menu.updated" } }]);
  });

  test("about other objects is ignored", () => {
    expect(read({ object: "transaction", action: "closed" })).toMatchObject([{ change: null }]);
  });

  test("is identified by object, action and time", () => {
    const event = vendor.event();
    const ids = [{}, { object_id: 140 }, { object: "dish" }, { action: "removed" }, { time: "1" }].map(
      (fields) => read({ ...event, ...fields })[0]?.id,
    );
    expect(new Set(ids).size).toBe(5);
    // a repeated delivery, with an id of another type
    expect(read({ ...event, object_id: "139" })[0]?.id).toBe(ids[0]);
  });

  test("has no age limit, since Poster repeats it unchanged for two days", () => {
    const old = received(vendor.sign(vendor.event({ time: String(Math.floor(Date.now() / 1_000) - 172_800) })));
    expect(adapter.webhook.verify(old, [vendor.secret], new Date())).toBe(true);
  });

  test("may carry data, which is signed unchanged", () => {
    const withData = received(vendor.sign(vendor.event({ data: '{"a": 1;}' })));
    expect(adapter.webhook.verify(withData, [vendor.secret], new Date())).toBe(true);
  });

  test.each(["{", "[]", "null", "{}"])("that is %s is malformed", (body) => {
    expect(() => adapter.webhook.read({ headers: {}, body: Buffer.from(body) })).toThrow(MalformedWebhook);
  });
});
