import { afterAll, afterEach, describe, expect, jest, test } from "@jest/globals";
import { newWebhookSecret, startGenericPos } from "../../support/pos/generic.js";
import { pullAll, received } from "../../support/pos/pull.js";

process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const { generic } = await import("../../../lib/pos/generic.js");
const { MalformedWebhook, PosRefused, PosUnavailable } = await import("../../../lib/pos/adapter.js");

const vendor = await startGenericPos();
const adapter = generic();
const connect = (fields: Record<string, unknown> = {}) => adapter.connect({ ...vendor.credentials, ...fields });
const signal = new AbortController().signal;

afterEach(() => {
  vendor.recover();
  vendor.setMenu([]);
});
afterAll(() => vendor.stop());

const bun = { externalId: "1", name: "Bun", category: "Bread", price: 99.5 };

test("a menu is read page by page, below any base path", async () => {
  const small = await startGenericPos({ pageSize: 2 });
  small.setMenu(Array.from({ length: 5 }, (_, n) => ({ ...bun, externalId: String(n) })));
  const connection = adapter.connect({ ...small.credentials, baseUrl: `${small.url}//` });
  const { items, rejected, pages, end } = await pullAll(connection);
  await small.stop();
  expect(items.map(({ externalId }) => externalId)).toEqual(["0", "1", "2", "3", "4"]);
  expect([rejected, pages, end]).toEqual([[], 3, { unchanged: false, revision: null }]);
  expect(small.requests.map(({ path }) => path)).toEqual(["/menu", "/menu?cursor=2", "/menu?cursor=4"]);
});

test("a cursor is returned unchanged", async () => {
  const nextCursor = "a b&c=d#é/../?%00";
  vendor.trouble({ body: { items: [], nextCursor } });
  await pullAll(connect());
  expect(vendor.requests[1]?.query.get("cursor")).toBe(nextCursor);
  expect([...(vendor.requests[1]?.query.keys() ?? [])]).toEqual(["cursor"]);
});

test("items keep their fields, and missing ones have defaults", async () => {
  const full = { ...bun, description: "With seeds", weightGrams: 85, available: false, allergens: ["gluten"] };
  const bare = { externalId: 2, name: "  Pie ", price: 0 };
  vendor.setMenu([full, bare, { ...bun, externalId: "3", category: " ", description: null, weightGrams: 0 }]);
  const { items, rejected } = await pullAll(connect());
  expect(rejected).toEqual([]);
  expect(items).toEqual([
    {
      externalId: "1",
      name: "Bun",
      category: "Bread",
      priceMinor: 9_950,
      description: "With seeds",
      weightGrams: 85,
      available: false,
    },
    {
      externalId: "2",
      name: "Pie",
      category: "Menu",
      priceMinor: 0,
      description: null,
      weightGrams: null,
      available: null,
    },
    {
      externalId: "3",
      name: "Bun",
      category: "Menu",
      priceMinor: 9_950,
      description: null,
      weightGrams: null,
      available: null,
    },
  ]);
});

test("text is cut to the limits of a menu, and stays valid", async () => {
  const long = {
    name: `a${"😀".repeat(150)}`,
    category: "к".repeat(101),
    description: `a\u0000\ud800${"b".repeat(3_000)}`,
  };
  vendor.setMenu([{ ...bun, ...long }]);
  const [item] = (await pullAll(connect())).items;
  expect(item?.name).toBe(`a${"😀".repeat(99)}`);
  expect(item?.category).toBe("к".repeat(100));
  expect(item?.description).toHaveLength(2_000);
  expect(item?.description?.startsWith("a\ufffdb")).toBe(true);
});

test.each([
  ["price", -1],
  ["price", 1.005],
  ["price", 1e300],
  ["price", 10_000_000.01],
  ["price", "5"],
  ["price", null],
  ["name", ""],
  ["name", " \u0000 "],
  ["name", 7],
  ["available", "yes"],
  ["externalId", "x".repeat(201)],
  ["externalId", " 1"],
  ["externalId", "a\u0000b"],
])("an item whose %s is %j is skipped alone, with a reason that does not repeat the value", async (field, value) => {
  vendor.setMenu([
    { ...bun, externalId: "secret-4711", [field]: value },
    { ...bun, externalId: "good" },
  ]);
  const { items, rejected } = await pullAll(connect());
  expect(items.map(({ externalId }) => externalId)).toEqual(["good"]);
  expect(rejected).toHaveLength(1);
  expect(rejected[0]?.externalId).not.toBe("good");
  expect(rejected[0]?.reason).toMatch(/^its? [A-Za-z ]+$/);
});

test.each([[null], [7], ["x"], [[]], [{}], [{ externalId: null }], [{ externalId: "" }]])(
  "an item that is %j is skipped alone, without an id",
  async (odd) => {
    vendor.setMenu([odd, bun]);
    const { items, rejected } = await pullAll(connect());
    expect(items).toHaveLength(1);
    expect(rejected).toMatchObject([{ externalId: null, name: null, position: 1 }]);
  },
);

test("a skipped item is reported with its position, its name and the reason", async () => {
  const small = await startGenericPos({ pageSize: 2 });
  small.setMenu([
    bun,
    { name: "Rye bread", price: "4.90" },
    null,
    { ...bun, externalId: "4", name: "Pie", price: -1 },
    { ...bun, externalId: "5", available: "yes" },
  ]);
  const { rejected } = await pullAll(adapter.connect(small.credentials));
  await small.stop();
  expect(rejected).toEqual([
    {
      externalId: null,
      name: "Rye bread",
      position: 2,
      reason: "its externalId is missing, its price must be a number",
    },
    { externalId: null, name: null, position: 3, reason: "it must be an object" },
    { externalId: "4", name: "Pie", position: 4, reason: "it has no price that can be paid" },
    { externalId: "5", name: "Bun", position: 5, reason: "its available must be true or false" },
  ]);
});

test("of two items with one id the first is kept, also across pages", async () => {
  const small = await startGenericPos({ pageSize: 1 });
  small.setMenu([bun, { ...bun, name: "Another" }, { ...bun, externalId: 1 }]);
  const { items, rejected } = await pullAll(adapter.connect(small.credentials));
  await small.stop();
  expect(items.map(({ name }) => name)).toEqual(["Bun"]);
  expect(rejected.map(({ externalId }) => externalId)).toEqual(["1", "1"]);
});

test.each([{}, { items: null }, { items: {} }, { items: [], nextCursor: 7 }, { items: [], nextCursor: {} }, [], null])(
  "a page such as %j fails the pull",
  async (body) => {
    vendor.trouble({ body });
    await expect(pullAll(connect())).rejects.toThrow(PosUnavailable);
  },
);

test("a cycle of pages fails the pull", async () => {
  for (const nextCursor of ["a", "b", "a", "b"]) vendor.trouble({ body: { items: [], nextCursor } });
  await expect(pullAll(connect())).rejects.toThrow(PosUnavailable);
  expect(vendor.requests).toHaveLength(3);
});

test.each(["401", "403", "302"])("a %s fails the pull for good", async (status) => {
  vendor.trouble({ status: Number(status), headers: { location: "/menu" }, body: { items: [] } });
  await expect(pullAll(connect())).rejects.toThrow(PosRefused);
});

test("a private address is not called where that is forbidden", async () => {
  process.env["ALLOW_PRIVATE_ADDRESSES"] = "";
  jest.resetModules();
  const strict = (await import("../../../lib/pos/generic.js")).generic();
  process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
  expect(strict.credentials.safeParse(vendor.credentials).success).toBe(false);
  for (const host of ["127.0.0.1", "2130706433", "[::1]", "169.254.169.254"]) {
    const connection = strict.connect({ ...vendor.credentials, baseUrl: `https://${host}:1` });
    expect(await connection.test(signal)).toEqual({
      ok: false,
      message: "The address of the POS is not a public one.",
    });
    await expect(pullAll(connection)).rejects.toMatchObject({ name: "PosRefused" });
  }
});

describe("the time to wait for a busy POS", () => {
  test("covers some waits of a pull, and the pages after them", async () => {
    vendor.setMenu([bun]);
    vendor.limit("0", 3);
    expect((await pullAll(connect())).items).toHaveLength(1);
    expect(vendor.requests).toHaveLength(4);
  });

  test("ends after the third wait", async () => {
    vendor.limit("0", 9);
    await expect(pullAll(connect())).rejects.toMatchObject({ name: "PosUnavailable", retryAfterSeconds: 0 });
    expect(vendor.requests).toHaveLength(4);
  });

  test("is shorter than some servers ask for", async () => {
    vendor.limit("21");
    await expect(pullAll(connect())).rejects.toMatchObject({ name: "PosUnavailable", retryAfterSeconds: 21 });
    expect(vendor.requests).toHaveLength(1);
  });

  test("does not apply to a server that names no time", async () => {
    vendor.trouble({ status: 503, body: {} });
    await expect(pullAll(connect())).rejects.toMatchObject({ name: "PosUnavailable", retryAfterSeconds: null });
    expect(vendor.requests).toHaveLength(1);
  });

  test("ends when the pull is aborted", async () => {
    vendor.limit("20");
    const controller = new AbortController();
    const pull = pullAll(connect(), null, controller.signal);
    const failed = expect(pull).rejects.toThrow();
    while (vendor.requests.length === 0) await new Promise(setImmediate);
    controller.abort(new Error("enough"));
    await failed;
    expect(vendor.requests).toHaveLength(1);
  });
});

test("a connection test calls the health endpoint and ignores its body", async () => {
  expect(await connect().test(signal)).toEqual({ ok: true, message: "The POS accepts the credentials." });
  vendor.trouble({ status: 204, body: "" });
  vendor.trouble({ body: "OK" });
  expect([await connect().test(signal), await connect().test(signal)]).toMatchObject([{ ok: true }, { ok: true }]);
  const refused = await connect({ token: "secret-4711" }).test(signal);
  expect(refused).toEqual({ ok: false, message: "The POS answers 401." });
  for (const trouble of ["drop", { status: 500, body: {} }, { status: 404, body: {} }] as const) {
    vendor.trouble(trouble);
    expect(await connect().test(signal)).toMatchObject({ ok: false });
  }
});

test.each([
  [{}, true],
  [{ webhookSecret: newWebhookSecret() }, true],
  [{ webhookSecret: "whsec_short" }, false],
  [{ webhookSecret: "no secret" }, false],
  [{ token: "two\r\nlines: 1" }, false],
  [{ token: "" }, false],
  [{ accountId: "" }, false],
  [{ accountId: "a\u0000" }, false],
  [{ baseUrl: "https://pos.example.com/api" }, true],
  [{ baseUrl: "https://user:password@pos.example.com" }, false],
  [{ baseUrl: "https://pos.example.com?x=1" }, false],
  [{ baseUrl: "https://pos.example.com#x" }, false],
  [{ baseUrl: "ftp://pos.example.com" }, false],
  [{ baseUrl: "pos.example.com" }, false],
  [{ other: 1 }, false],
])("credentials with %j are valid: %j", (fields, fit) => {
  expect(adapter.credentials.safeParse({ ...vendor.credentials, ...fields }).success).toBe(fit);
});

describe("a generic webhook event", () => {
  const read = (type: string, data: unknown) =>
    adapter.webhook.read(received(vendor.sign({ ...vendor.event(type), data })))[0]?.change;

  test("is identified by its own id and the account's, whatever message brings it", () => {
    const event = vendor.event();
    const calls = [vendor.sign(event), vendor.sign(event)].map((call) => received(call));
    expect(calls[0]?.headers["webhook-id"]).not.toBe(calls[1]?.headers["webhook-id"]);
    for (const call of calls) {
      expect(adapter.webhook.account(call)).toBe(vendor.account);
      expect(adapter.webhook.read(call)).toEqual([
        { id: `menu.updated:${event.externalId}`, account: vendor.account, change: { kind: "menu.updated" } },
      ]);
    }
  });

  test("reports changes", () => {
    expect(read("menu.updated", {})).toEqual({ kind: "menu.updated" });
    expect(read("menu.updated", undefined)).toEqual({ kind: "menu.updated" });
    const items = [{ externalId: "1", available: false }];
    expect(read("item.availability", { items })).toEqual({ kind: "item.availability", items });
    expect(read("order.status", { orderExternalId: "o1", status: "READY" })).toEqual({
      kind: "order.status",
      orderExternalId: "o1",
      status: "READY",
    });
    expect(read("till.opened", { by: 7 })).toBeNull();
  });

  test("reports orders, with or without the customer", () => {
    const items = [{ externalId: "1", qty: 2 }];
    const order = { kind: "order.created", items, totalMinor: 24_990 };
    expect(read("order.created", { items, totalAmount: 249.9 })).toEqual({
      ...order,
      customerPhone: null,
      address: null,
    });
    const customer = { customerPhone: "+79991234567", address: "Tverskaya 1" };
    expect(read("order.created", { items, totalAmount: 249.9, ...customer })).toEqual({ ...order, ...customer });
  });

  test("has the customer's phone in the form of accounts, and none that is invalid", () => {
    const phoneOf = (customerPhone: string) =>
      read("order.created", { items: [{ externalId: "1", qty: 2 }], totalAmount: 1, customerPhone });
    for (const written of ["+79820798284", "8 (982) 079-82-84", "9820798284"])
      expect(phoneOf(written)).toMatchObject({ customerPhone: "+79820798284" });
    for (const written of ["call me", "+49 30 1234567"])
      expect(phoneOf(written)).toMatchObject({ customerPhone: null });
  });

  test("has no customer data in empty fields", () => {
    const items = [{ externalId: "1", qty: 2 }];
    for (const blank of ["", " ", null])
      expect(read("order.created", { items, totalAmount: 1, customerPhone: blank, address: blank })).toMatchObject({
        customerPhone: null,
        address: null,
      });
  });

  test("has its type in its id, so that an order's number can be used for its status too", () => {
    const idOf = (type: string, data: unknown) =>
      adapter.webhook.read(received(vendor.sign({ ...vendor.event(type), externalId: "4711", data })))[0]?.id;
    expect(idOf("order.created", { items: [{ externalId: "1", qty: 1 }], totalAmount: 1 })).toBe("order.created:4711");
    expect(idOf("order.status", { orderExternalId: "4711", status: "READY" })).toBe("order.status:4711");
    expect(idOf("menu.updated", {})).toBe("menu.updated:4711");
  });

  const order = { items: [{ externalId: "1", qty: 1 }], totalAmount: 1 };
  test.each<[string, unknown]>([
    ["item.availability", undefined],
    ["item.availability", { items: {} }],
    ["item.availability", { items: [{ externalId: "1" }] }],
    ["item.availability", { items: [{ externalId: "a\u0000", available: true }] }],
    ["order.created", {}],
    ["order.created", { ...order, items: [] }],
    ["order.created", { ...order, items: [{ externalId: "1", qty: 0 }] }],
    ["order.created", { ...order, items: [{ externalId: "1", qty: 1.5 }] }],
    ["order.created", { ...order, totalAmount: -1 }],
    ["order.created", { ...order, totalAmount: 1.005 }],
    ["order.created", { ...order, totalAmount: "1" }],
    ["order.created", { ...order, address: "\ud800" }],
    ["order.status", { orderExternalId: "o1" }],
    ["order.status", { orderExternalId: "o1", status: "x".repeat(51) }],
  ])("%s with %j is malformed, with a reason that does not repeat values", (type, data) => {
    expect(() => read(type, data)).toThrow(MalformedWebhook);
    expect(() => read(type, data)).toThrow(/^the event is not as documented: [A-Za-z., ]+$/);
  });

  test.each(["{", "[]", "null", "{}", "7"])("that is %s is malformed", (body) => {
    expect(() => adapter.webhook.read(received(vendor.sign(body)))).toThrow(MalformedWebhook);
  });
});
