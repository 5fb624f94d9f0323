import { afterAll, afterEach, describe, expect, test } from "@jest/globals";
import { product, startIiko } from "../../support/pos/iiko.js";
import { pullAll, received } from "../../support/pos/pull.js";

process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const { iiko } = await import("../../../lib/pos/iiko.js");
const { MalformedWebhook, PosRefused, PosUnavailable } = await import("../../../lib/pos/adapter.js");

const vendor = await startIiko();
const adapter = iiko(vendor.url);
const connect = (fields: Record<string, unknown> = {}) => adapter.connect({ ...vendor.credentials, ...fields });
const signal = new AbortController().signal;
const asked = (path: string) => vendor.requests.filter((request) => request.path === path);

afterEach(() => {
  vendor.recover();
  vendor.setNomenclature({});
  vendor.setStopList([]);
});
afterAll(() => vendor.stop());

const sized = (...prices: [string | null, unknown, boolean?][]) => ({
  sizePrices: prices.map(([sizeId, currentPrice, isIncludedInMenu = true]) => ({
    sizeId,
    price: { currentPrice, isIncludedInMenu },
  })),
});

test("prices are doubles in major units, and weights are kilograms", async () => {
  vendor.setNomenclature({
    products: [
      product("1", "Bun", 99.5, { weight: 0.085, description: "With seeds" }),
      product("2", "Noise", 0.1 + 0.2, { weight: 0 }),
      product("3", "Round", 250, { weight: null }),
      product("4", "Heavy", 1, { weight: 5_000 }),
    ],
  });
  const { items } = await pullAll(connect());
  expect(items.map(({ priceMinor, weightGrams, description }) => [priceMinor, weightGrams, description])).toEqual([
    [9_950, 85, "With seeds"],
    [30, null, null],
    [25_000, null, null],
    [100, null, null],
  ]);
});

test("a product becomes one item for each of its sizes on the menu", async () => {
  vendor.setNomenclature({
    products: [
      product("1", "Pizza", 0, sized(["s1", 500], ["s2", 700], ["s3", 900, false])),
      product("2", "Cola", 0, sized(["s1", 100])),
      product("3", "Off", 0, sized([null, 100, false])),
    ],
    sizes: [
      { id: "s1", name: "25 cm" },
      { id: "s2", name: "35 cm" },
      { id: "s3", name: "45 cm" },
    ],
  });
  const { items, rejected } = await pullAll(connect());
  expect(items.map(({ externalId, name, priceMinor }) => [externalId, name, priceMinor])).toEqual([
    ["1:s1", "Pizza, 25 cm", 50_000],
    ["1:s2", "Pizza, 35 cm", 70_000],
    ["2:s1", "Cola", 10_000],
  ]);
  expect(rejected).toEqual([]);
});

test("modifiers and deleted products are not on the menu", async () => {
  vendor.setNomenclature({
    products: [
      product("1", "Cheese", 1, { type: "Modifier" }),
      product("2", "Sauce", 1, { type: "modifier" }),
      product("3", "Gone", 1, { isDeleted: true }),
      product("4", "Cola", 1, { type: "Good" }),
    ],
  });
  expect((await pullAll(connect())).items.map(({ externalId }) => externalId)).toEqual(["4"]);
});

test("an item has the category of its group, else its product category, else the default one", async () => {
  vendor.setNomenclature({
    groups: [{ id: "g", name: "Pizza" }, { id: 7 }],
    productCategories: [{ id: "c", name: "Kitchen" }],
    products: [
      product("1", "A", 1, { parentGroup: "g", productCategoryId: "c" }),
      product("2", "B", 1, { parentGroup: "unknown", productCategoryId: "c" }),
      product("3", "C", 1),
    ],
  });
  expect((await pullAll(connect())).items.map(({ category }) => category)).toEqual(["Pizza", "Kitchen", "Menu"]);
});

describe("a stop list", () => {
  const entry = (productId: string, balance = 0, sizeId: string | null = null) => ({ productId, balance, sizeId });
  const availability = async (fields: Record<string, unknown> = {}) =>
    Object.fromEntries(
      (await pullAll(connect(fields))).items.map(({ externalId, available }) => [externalId, available]),
    );

  test("makes products, or sizes of them, unavailable unless some are left", async () => {
    vendor.setNomenclature({
      products: [
        product("1", "Bun", 1),
        product("2", "Out", 1),
        product("3", "Some left", 1),
        product("4", "Pizza", 1, sized(["s1", 1], ["s2", 1])),
        product("5", "Pie", 1, sized(["s1", 1], ["s2", 1])),
      ],
    });
    vendor.setStopList([entry("2"), entry("3", 4), entry("4", 0, "s1"), entry("5", -1)]);
    const expected = { 1: true, 2: false, 3: true, "4:s1": false, "4:s2": true, "5:s1": false, "5:s2": false };
    expect(await availability()).toEqual(expected);
    expect(await availability({ terminalGroupId: vendor.terminalGroup })).toEqual(expected);
    expect(Object.values(await availability({ terminalGroupId: "another" }))).not.toContain(false);
  });

  test.each<[string, Parameters<typeof vendor.trouble>[0]]>([
    ["cannot be read", { status: 500, body: {} }],
    ["has another format", { body: { terminalGroupStopLists: [{ items: [{ terminalGroupId: "x", items: [{}] }] }] } }],
    ["is missing", { body: {} }],
  ])("that %s fails the pull", async (_what, trouble) => {
    vendor.setNomenclature({ products: [product("1", "Bun", 1)] });
    vendor.trouble(trouble, { path: "stop_lists" });
    await expect(pullAll(connect())).rejects.toThrow(PosUnavailable);
  });
});

describe("a menu with a known revision", () => {
  const revisionOf = ({ end }: Awaited<ReturnType<typeof pullAll>>) => (end.unchanged ? null : end.revision);

  test("is unchanged when neither revision nor stop list has changed", async () => {
    vendor.setNomenclature({ products: [product("1", "Bun", 1)] });
    vendor.setStopList([{ productId: "1", balance: 0 }]);
    const revision = revisionOf(await pullAll(connect()));
    expect(revision).not.toBeNull();
    expect(await pullAll(connect(), revision)).toEqual({ items: [], rejected: [], pages: 0, end: { unchanged: true } });
  });

  test("is read again when its revision has changed", async () => {
    const revision = revisionOf(await pullAll(connect()));
    vendor.setNomenclature({ products: [product("1", "Bun", 1)] });
    const next = await pullAll(connect(), revision);
    expect(next.items).toHaveLength(1);
    expect(revisionOf(next)).not.toBe(revision);
  });

  test("is read again when only the stop list has changed", async () => {
    vendor.setNomenclature({ products: [product("1", "Bun", 1)] });
    const first = revisionOf(await pullAll(connect()));
    vendor.setStopList([{ productId: "1", balance: 0 }]);
    const second = await pullAll(connect(), first);
    expect(second.items).toMatchObject([{ externalId: "1", available: false }]);
    expect((await pullAll(connect(), revisionOf(second))).end).toEqual({ unchanged: true });
  });

  test("is an empty menu, not an unchanged one, when it is empty under another revision", async () => {
    vendor.setNomenclature({ products: [product("1", "Bun", 1)] });
    const revision = revisionOf(await pullAll(connect()));
    vendor.setNomenclature({ products: [] });
    expect(await pullAll(connect(), revision)).toMatchObject({ items: [], pages: 1, end: { unchanged: false } });
  });

  test("is read completely when the revision is not one that the service stored", async () => {
    vendor.setNomenclature({ products: [product("1", "Bun", 1)] });
    for (const odd of ["", "x", "999999999", "-1-aa", "99999999999999999999-aa"])
      expect((await pullAll(connect(), odd)).items).toHaveLength(1);
  });
});

test("an invalid item is skipped alone", async () => {
  vendor.setNomenclature({
    products: [
      product("1", "no price", null),
      product("2", "negative", -1),
      product("3", "three decimals", 1.005),
      product("4", "too much", 1e8),
      product("5", "text", "5"),
      product("6", "no sizes", 1, { sizePrices: [] }),
      product("7", "x", 1, { name: null, ...sized(["s1", 1], ["s2", 1]) }),
      product("8", "half", 1, { sizePrices: [{ sizeId: "s1" }, ...sized(["s2", 1]).sizePrices] }),
      { name: "nameless" },
      product("9", "good", 1),
    ],
  });
  const { items, rejected } = await pullAll(connect());
  expect(items.map(({ externalId }) => externalId)).toEqual(["8:s2", "9"]);
  expect(rejected.map(({ externalId }) => externalId)).toEqual([
    ...["1", "2", "3", "4", "5", "6", "7:s1", "7:s2", "8:s1"],
    null,
  ]);
});

describe("an access token", () => {
  test("is requested once per pull, by the old or the new method", async () => {
    await pullAll(connect());
    expect([asked("/api/1/access_token").length, asked("/api/v2/access_token").length]).toEqual([1, 0]);
    await pullAll(adapter.connect(vendor.keyCredentials));
    expect([asked("/api/1/access_token").length, asked("/api/v2/access_token").length]).toEqual([1, 1]);
  });

  test("that expires during a pull is replaced once", async () => {
    vendor.setNomenclature({ products: [product("1", "Bun", 1)] });
    vendor.trouble({ status: 401, body: {} }, { path: "nomenclature" });
    expect((await pullAll(connect())).items).toHaveLength(1);
    expect(asked("/api/1/access_token")).toHaveLength(2);
    vendor.recover();
    vendor.trouble({ status: 401, body: {} }, { path: "nomenclature", times: 5 });
    await expect(pullAll(connect())).rejects.toThrow(PosRefused);
    expect(asked("/api/1/access_token")).toHaveLength(2);
  });

  test("that is refused fails the pull", async () => {
    await expect(pullAll(connect({ apiLogin: "wrong" }))).rejects.toThrow(PosRefused);
    vendor.trouble({ body: { token: "" } }, { path: "access_token" });
    await expect(pullAll(connect())).rejects.toThrow(PosUnavailable);
  });
});

test.each([
  [{ apiLogin: "a" }, true],
  [{ appId: "a", clientSecret: "b", apiKey: "c" }, true],
  [{}, false],
  [{ appId: "a", clientSecret: "b" }, false],
  [{ apiLogin: "a", apiKey: "c" }, false],
  [{ apiLogin: "a", other: "c" }, false],
])("credentials of %j are valid: %j", (fields, fit) => {
  expect(adapter.credentials.safeParse({ organizationId: "o", ...fields }).success).toBe(fit);
});

test("a connection test reports a wrong login and an unknown organisation", async () => {
  expect(await connect().test(signal)).toMatchObject({ ok: true });
  expect(await connect({ organizationId: "another" }).test(signal)).toMatchObject({ ok: false });
  const refused = await connect({ apiLogin: "secret-4711" }).test(signal);
  expect(refused).toEqual({ ok: false, message: "The POS answers 401." });
});

describe("an iiko webhook event", () => {
  const read = (...events: unknown[]) => adapter.webhook.read(received(vendor.sign(events)));

  test("reports a changed menu or stop list; other types are ignored", () => {
    const kinds = ["NomenclatureUpdate", "StopListUpdate", "DeliveryOrderUpdate"];
    const events = read(...kinds.map((eventType) => vendor.event({ eventType })));
    expect(events.map(({ account, change }) => [account, change])).toEqual([
      [vendor.account, { kind: "menu.updated" }],
      [vendor.account, { kind: "menu.updated" }],
      [vendor.account, null],
    ]);
  });

  test("has an id made of all its fields", () => {
    const event = vendor.event();
    const others = [
      {},
      { eventType: "StopListUpdate" },
      { eventTime: "2026-01-01 00:00:00.000" },
      { organizationId: "another" },
      { correlationId: "another" },
      { eventInfo: { revision: 1 } },
      { eventInfo: undefined },
    ];
    const ids = read(...others.map((fields) => ({ ...event, ...fields }))).map(({ id }) => id);
    expect(new Set(ids).size).toBe(others.length);
    expect(read(event)[0]?.id).toBe(ids[0]);
  });

  test("may come as an empty list", () => {
    expect(read()).toEqual([]);
    expect(adapter.webhook.account(received(vendor.sign([])))).toBeNull();
  });

  test.each(["{", "{}", "null", "[null]", "[{}]", '[{"organizationId":"a\\u0000","eventType":"t"}]'])(
    "that is %s is malformed",
    (body) => {
      expect(() => adapter.webhook.read(received(vendor.sign(body)))).toThrow(MalformedWebhook);
    },
  );

  test("comes with a thousand others at most; of more only the first is read before verification", () => {
    const event = { organizationId: "org", eventType: "StopListUpdate" };
    const many = {
      headers: {},
      body: Buffer.from(JSON.stringify([event, ...Array.from({ length: 1_000 }, () => ({}))])),
    };
    expect(adapter.webhook.account(many)).toBe("org");
    expect(() => adapter.webhook.read(many)).toThrow(MalformedWebhook);
  });

  test("that is nested endlessly is malformed", () => {
    const [deep, end] = ["[".repeat(400_000), "]".repeat(400_000)];
    const body = `[{"organizationId":"a","eventType":"t","eventInfo":${deep}${end}}]`;
    expect(() => adapter.webhook.read(received(vendor.sign(body)))).toThrow(MalformedWebhook);
  });

  test("carries the registered token, plain or as a bearer token", () => {
    const call = received(vendor.sign());
    for (const authorization of [vendor.secret, `Bearer ${vendor.secret}`, `bearer ${vendor.secret}`])
      expect(adapter.webhook.verify({ ...call, headers: { authorization } }, [vendor.secret], new Date())).toBe(true);
  });
});
