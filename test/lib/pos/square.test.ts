import { afterAll, afterEach, describe, expect, test } from "@jest/globals";
import { pullAll, received } from "../../support/pos/pull.js";
import { category, item, startSquare, variation } from "../../support/pos/square.js";

process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
process.env["PUBLIC_URL"] = "https://api.example.com/";
const { square } = await import("../../../lib/pos/square.js");
const { MalformedWebhook, PosRefused, PosUnavailable } = await import("../../../lib/pos/adapter.js");

const vendor = await startSquare();
const adapter = square(vendor.url);
const connect = (fields: Record<string, unknown> = {}) => adapter.connect({ ...vendor.credentials, ...fields });
const signal = new AbortController().signal;

afterEach(() => {
  vendor.recover();
  vendor.setCatalog([]);
  vendor.locations.splice(1);
});
afterAll(() => vendor.stop());

const latte = (...variations: unknown[]) => item("I1", "Latte", { variations });

test("a menu is read page by page, with categories that come after their items", async () => {
  const small = await startSquare({ pageSize: 2 });
  const menu = Array.from({ length: 7 }, (_, n) => ({ id: `V${n}`, name: `Bun ${n}`, category: "Bread", price: n }));
  small.serve(menu);
  const { items, rejected, pages, end } = await pullAll(square(small.url).connect(small.credentials));
  await small.stop();
  expect(items.map(({ externalId, priceMinor }) => [externalId, priceMinor])).toEqual(menu.map((m) => [m.id, m.price]));
  expect(new Set(items.map((one) => one.category))).toEqual(new Set(["Bread"]));
  expect([rejected, pages, end]).toEqual([[], 4, { unchanged: false, revision: null }]);
});

test("each variation is an item, with the variation's name when there are several", async () => {
  const bun = item("I2", "Bun", { variations: [variation("V3", "Regular", 9_900)] });
  vendor.setCatalog([latte(variation("V1", "Small", 25_000), variation("V2", "Large", 30_000)), bun]);
  const { items } = await pullAll(connect());
  expect(items.map(({ externalId, name, priceMinor }) => [externalId, name, priceMinor])).toEqual([
    ["V1", "Latte, Small", 25_000],
    ["V2", "Latte, Large", 30_000],
    ["V3", "Bun", 9_900],
  ]);
});

test("an item has its first category, the older field's, or the default one", async () => {
  const of = (id: string, fields: Record<string, unknown>) =>
    item(`I-${id}`, id, { variations: [variation(id, "", 1)], ...fields });
  vendor.setCatalog([
    of("new", { categories: [{ id: "C1" }, { id: "C2" }] }),
    of("old", { category_id: "C2" }),
    of("none", {}),
    of("unknown", { categories: [{ id: "C9" }] }),
    category("C1", "Coffee"),
    category("C2", "Drinks"),
  ]);
  const { items } = await pullAll(connect());
  expect(items.map((one) => one.category)).toEqual(["Coffee", "Drinks", "Menu", "Menu"]);
});

test("deleted and archived objects are not on the menu", async () => {
  vendor.setCatalog([
    { ...latte(variation("V1", "Small", 1)), is_deleted: true },
    item("I2", "Tea", { is_archived: true, variations: [variation("V2", "Small", 1)] }),
    item("I3", "Bun", {
      variations: [{ ...variation("V3", "Small", 1), is_deleted: true }, variation("V4", "Big", 1)],
    }),
  ]);
  const { items, rejected } = await pullAll(connect());
  expect([items.map(({ externalId }) => externalId), rejected]).toEqual([["V4"], []]);
});

describe("a location", () => {
  const priced = (overrides: unknown[]) => latte(variation("V1", "Small", 100, { location_overrides: overrides }));
  const money = (amount: number) => ({ amount, currency: "RUB" });

  test("has its own prices and stock", async () => {
    vendor.setCatalog([
      priced([
        { location_id: "LOC2", price_money: money(300), sold_out: true },
        { location_id: "LOC1", price_money: money(200) },
      ]),
    ]);
    expect((await pullAll(connect({ locationId: "LOC1" }))).items).toMatchObject([
      { priceMinor: 200, available: true },
    ]);
    expect((await pullAll(connect({ locationId: "LOC2" }))).items).toMatchObject([
      { priceMinor: 300, available: false },
    ]);
    expect((await pullAll(connect({ locationId: "LOC3" }))).items).toMatchObject([
      { priceMinor: 100, available: true },
    ]);
  });

  test("need not be named when there is only one", async () => {
    vendor.setCatalog([priced([{ location_id: "LOC1", price_money: money(200), sold_out: true }])]);
    expect((await pullAll(connect())).items).toMatchObject([{ priceMinor: 200, available: false }]);
    vendor.locations.push({ id: "LOC2", name: "Old", status: "INACTIVE", merchant_id: vendor.account });
    expect((await pullAll(connect())).items).toMatchObject([{ priceMinor: 200, available: false }]);
    vendor.locations.push({ id: "LOC3", name: "New", status: "ACTIVE", merchant_id: vendor.account });
    expect((await pullAll(connect())).items).toMatchObject([{ priceMinor: 100, available: true }]);
  });

  test("does not sell items that are absent there", async () => {
    const absent = { present_at_all_locations: true, absent_at_location_ids: ["LOC1"] };
    const elsewhere = { present_at_all_locations: false, present_at_location_ids: ["LOC2"] };
    const here = { present_at_all_locations: false, present_at_location_ids: ["LOC1"] };
    vendor.setCatalog([
      { ...item("I1", "A", { variations: [variation("V1", "", 1)] }), ...absent },
      { ...item("I2", "B", { variations: [variation("V2", "", 1)] }), ...elsewhere },
      { ...item("I3", "C", { variations: [variation("V3", "", 1)] }), ...here },
      item("I4", "D", { variations: [{ ...variation("V4", "", 1), ...absent }, variation("V5", "", 1)] }),
    ]);
    const { items } = await pullAll(connect({ locationId: "LOC1" }));
    expect(items.map(({ externalId }) => externalId)).toEqual(["V3", "V5"]);
  });
});

test("an invalid item is skipped alone, with each of its variations by name", async () => {
  const good = item("I0", "Good", { variations: [variation("V0", "", 1)] });
  const two = [variation("V1", "Small", 1), variation("V2", "Large", 1)];
  vendor.setCatalog([
    item("I1", "x", { name: 7, variations: two }),
    latte(variation("V3", "", 1, { price_money: { amount: 1, currency: "USD" } })),
    latte(variation("V4", "", 1, { price_money: null, pricing_type: "VARIABLE_PRICING" })),
    latte(variation("V5", "", -1), variation("V6", "", 1.5), variation("V7", "", 2e9)),
    latte({ id: "V8", item_variation_data: "none" }),
    latte(null),
    { type: "ITEM", id: "I9" },
    good,
  ]);
  const { items, rejected } = await pullAll(connect());
  expect(items.map(({ externalId }) => externalId)).toEqual(["V0"]);
  expect(rejected.map(({ externalId }) => externalId)).toEqual([
    ...["V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8"],
    null,
    null,
  ]);
});

test.each([
  ["no objects field", {}, "done"],
  ["an empty list", { objects: [] }, "done"],
  ["errors beside objects", { objects: [], errors: [{ code: "INTERNAL_SERVER_ERROR" }] }, "unavailable"],
  ["objects that are not a list", { objects: { id: 1 } }, "unavailable"],
  ["a cursor that is not text", { objects: [], cursor: 7 }, "unavailable"],
  ["a list", [], "unavailable"],
  ["null", null, "unavailable"],
])("a page with %s", async (_what, body, outcome) => {
  vendor.trouble({ body }, { path: "types=ITEM" });
  const pull = pullAll(connect());
  if (outcome === "done") expect((await pull).items).toEqual([]);
  else await expect(pull).rejects.toThrow(PosUnavailable);
});

test("endless pages fail the pull", async () => {
  vendor.trouble({ body: { objects: [], cursor: "again" } }, { times: 10, path: "types=ITEM" });
  await expect(pullAll(connect())).rejects.toThrow(PosUnavailable);
  expect(vendor.requests.length).toBeLessThan(10);
});

test("a token refused during a pull fails it", async () => {
  vendor.trouble({ status: 401, body: {} }, { path: "types=ITEM" });
  await expect(pullAll(connect())).rejects.toThrow(PosRefused);
});

test("a connection test names the merchant and the location of the token", async () => {
  expect(await connect().test(signal)).toEqual({ ok: true, message: "The POS accepts the credentials." });
  expect(await connect({ locationId: "LOC1" }).test(signal)).toMatchObject({ ok: true });
  expect(await connect({ locationId: "LOC9" }).test(signal)).toMatchObject({ ok: false });
  expect(await connect({ merchantId: "OTHER" }).test(signal)).toMatchObject({ ok: false });
  const refused = await connect({ accessToken: "secret-4711" }).test(signal);
  expect(refused).toEqual({ ok: false, message: "The POS answers 401." });
  vendor.trouble("drop");
  expect(await connect().test(signal)).toMatchObject({ ok: false });
});

describe("a Square webhook event", () => {
  const to = "https://api.example.com/api/v1/pos/webhooks/square";

  test("is signed for the service's public URL", () => {
    const { webhook } = adapter;
    const now = new Date();
    expect(webhook.verify(received(vendor.sign(to)), [vendor.secret], now)).toBe(true);
    expect(
      webhook.verify(received(vendor.sign(to), { headers: { host: "evil.example.com" } }), [vendor.secret], now),
    ).toBe(true);
    const own = square(vendor.url, "https://hooks.example.com/square").webhook;
    expect(own.verify(received(vendor.sign("https://hooks.example.com/square")), [vendor.secret], now)).toBe(true);
    expect(own.verify(received(vendor.sign(to)), [vendor.secret], now)).toBe(false);
  });

  test("reports a changed menu; other types are ignored", () => {
    const event = vendor.event();
    const id = { id: event.event_id, account: vendor.account };
    expect(adapter.webhook.read(received(vendor.sign(to, event)))).toEqual([
      { ...id, change: { kind: "menu.updated" } },
    ]);
    const other = vendor.event("payment.created");
    expect(adapter.webhook.read(received(vendor.sign(to, other)))).toMatchObject([{ change: null }]);
    expect(adapter.webhook.account(received(vendor.sign(to, event)))).toBe(vendor.account);
  });

  test.each(["{", "[]", "null", '{"merchant_id":"a","type":"t"}', '{"merchant_id":1,"type":"t","event_id":"e"}'])(
    "that is %s is malformed",
    (body) => {
      expect(() => adapter.webhook.read(received(vendor.sign(to, body)))).toThrow(MalformedWebhook);
    },
  );
});
