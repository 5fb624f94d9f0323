import { afterAll, afterEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { PosConnection } from "../../../lib/pos/adapter.js";
import type { AdapterName } from "../../../lib/domain/adapter-names.js";
import { startGenericPos } from "../../support/pos/generic.js";
import { product, startIiko } from "../../support/pos/iiko.js";
import { product as posterProduct, startPoster } from "../../support/pos/poster.js";
import { pullAll } from "../../support/pos/pull.js";
import { category, item, startSquare, variation } from "../../support/pos/square.js";
import { sized } from "../../support/size.js";

process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const vendors = {
  square: await startSquare(),
  poster: await startPoster(),
  iiko: await startIiko(),
  generic: await startGenericPos(),
} satisfies Record<AdapterName, object>;
process.env["POS_SQUARE_URL"] = vendors.square.url;
process.env["POS_POSTER_URL"] = `${vendors.poster.url}/`;
process.env["POS_IIKO_URL"] = vendors.iiko.url;
const { adapters, findAdapter } = await import("../../../lib/pos/index.js");

const names = Object.keys(vendors).filter((name): name is AdapterName => name in vendors);

function connectionOf(name: AdapterName): PosConnection {
  const adapter = findAdapter(name);
  if (!adapter) throw new Error(`there is no adapter ${name}`);
  return adapter.connect(vendors[name].credentials);
}

afterEach(() => Object.values(vendors).forEach((vendor) => vendor.recover()));
afterAll(() => Promise.all(Object.values(vendors).map((vendor) => vendor.stop())));

/** The most that a menu can hold. */
function expectFit({ items, rejected }: Awaited<ReturnType<typeof pullAll>>): void {
  const valid = (text: string, most: number) => {
    expect(text.length).toBeLessThanOrEqual(most);
    expect(text.isWellFormed() && !text.includes("\u0000") && text.trim() === text && text !== "").toBe(true);
  };
  for (const { externalId, name, category: of, description, priceMinor, weightGrams } of items) {
    valid(externalId, 200);
    valid(name, 200);
    valid(of, 100);
    if (description !== null) valid(description, 2_000);
    expect(Number.isSafeInteger(priceMinor) && priceMinor >= 0 && priceMinor <= 1_000_000_000).toBe(true);
    if (weightGrams !== null) expect(Number.isSafeInteger(weightGrams) && weightGrams > 0).toBe(true);
  }
  expect(new Set(items.map(({ externalId }) => externalId)).size).toBe(items.length);
  for (const { externalId, name, position, reason } of rejected) {
    if (externalId !== null) valid(externalId, 200);
    if (name !== null) valid(name, 200);
    expect(position).toBeGreaterThan(0);
    expect(reason).toMatch(/^it|another item has the same id$/);
  }
}

/** Pulls a menu; accepts a valid menu or one of the two documented errors. */
async function pullWhatever(connection: PosConnection): Promise<void> {
  const outcome = await pullAll(connection).catch((error: unknown) => error);
  if (outcome instanceof Error) expect(["PosUnavailable", "PosRefused"]).toContain(outcome.name);
  else expectFit(outcome as Awaited<ReturnType<typeof pullAll>>);
}

const odd = fc.oneof(
  fc.constantFrom(null, "", 0, -1, 1e300, 0.1 + 0.2, true, [], {}, [null], "\u0000", "\ud800", "x".repeat(3_000)),
  fc.constantFrom({ toString: 1, valueOf: 1 }, { length: 1 }, JSON.parse('{"__proto__":1}') as unknown, "1e400"),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.double(),
  fc.jsonValue({ maxDepth: 2 }),
);

/** The same JSON with any one value replaced. */
function bent(valid: unknown): fc.Arbitrary<unknown> {
  const paths: (string | number)[][] = [];
  const walk = (value: unknown, path: (string | number)[]) => {
    paths.push(path);
    if (Array.isArray(value)) value.forEach((one, index) => walk(one, [...path, index]));
    else if (typeof value === "object" && value !== null)
      for (const [key, one] of Object.entries(value)) walk(one, [...path, key]);
  };
  walk(valid, []);
  return fc.tuple(fc.constantFrom(...paths), odd).map(([path, value]) => replaced(valid, path, value));
}

function replaced(into: unknown, [key, ...path]: (string | number)[], value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(into))
    return into.map((one, index) => (index === key ? replaced(one, path, value) : (one as unknown)));
  if (typeof into !== "object" || into === null) return value;
  return Object.fromEntries(
    Object.entries(into).map(([name, one]) => [name, name === key ? replaced(one, path, value) : (one as unknown)]),
  );
}

const spots = [{ spot_id: "1", price: "100", visible: "1" }];

/** A complete answer of each vendor to each request. */
const full: Record<AdapterName, { path: string; answer: unknown }[]> = {
  square: [
    {
      path: "types=ITEM",
      answer: {
        objects: [
          item("I", "Latte", {
            description: "d",
            categories: [{ id: "C" }],
            variations: [
              variation("V1", "Small", 1, { location_overrides: [{ location_id: "LOC1", sold_out: false }] }),
              variation("V2", "Large", 2),
            ],
          }),
        ],
        cursor: null,
        errors: [],
      },
    },
    { path: "types=CATEGORY", answer: { objects: [category("C", "Coffee")] } },
    { path: "locations", answer: { locations: vendors.square.locations } },
  ],
  poster: [
    {
      path: "getProducts",
      answer: {
        response: [
          posterProduct("1", "Bun", 1),
          posterProduct("2", "Juice", 1, {
            modifications: [{ modificator_id: "1", modificator_name: "Apple", spots }],
          }),
          posterProduct("3", "Dish", 1, { group_modifications: [{ num_min: 1, modifications: [{ price: 1 }] }] }),
        ],
      },
    },
    {
      path: "getCategories",
      answer: { response: [{ category_id: "2", category_name: "Bread", category_hidden: "0" }] },
    },
  ],
  iiko: [
    {
      path: "nomenclature",
      answer: {
        groups: [{ id: "g", name: "Pizza" }],
        productCategories: [{ id: "c", name: "Kitchen" }],
        sizes: [{ id: "s", name: "Big" }],
        products: [product("1", "Bun", 1, { parentGroup: "g", productCategoryId: "c" })],
        revision: 1,
      },
    },
    {
      path: "stop_lists",
      answer: {
        terminalGroupStopLists: [
          { items: [{ terminalGroupId: "t", items: [{ productId: "1", sizeId: null, balance: 0 }] }] },
        ],
      },
    },
    { path: "access_token", answer: { token: "t" } },
  ],
  generic: [
    {
      path: "/menu",
      answer: {
        items: [
          {
            externalId: "1",
            name: "Bun",
            category: "Bread",
            price: 1,
            description: "d",
            weightGrams: 1,
            available: true,
          },
        ],
        nextCursor: null,
      },
    },
  ],
};

describe.each(names)("%s", (name) => {
  const vendor = vendors[name];

  test.each(full[name])("$path: any answer is handled", async ({ path, answer }) => {
    const connection = connectionOf(name);
    await fc.assert(
      fc.asyncProperty(fc.oneof({ weight: 5, arbitrary: bent(answer) }, fc.jsonValue()), async (body) => {
        vendor.recover();
        vendor.trouble({ body: JSON.stringify(body) }, { path });
        await pullWhatever(connection);
      }),
      { numRuns: sized(80, 20) },
    );
  });

  test.each<[string, Parameters<typeof vendor.trouble>[0]]>([
    ["is down", { status: 503, body: {} }],
    ["closes the connection", "drop"],
    ["asks to wait too long", { status: 429, headers: { "retry-after": "600" }, body: {} }],
    ["breaks off its answer", { body: '{"items":[{"external' }],
    ["answers with HTML", { headers: { "content-type": "text/html" }, body: "<html>" }],
  ])("is unavailable when it %s", async (_what, trouble) => {
    vendor.trouble(trouble);
    await expect(pullAll(connectionOf(name))).rejects.toMatchObject({ name: "PosUnavailable" });
  });

  test.each<Parameters<typeof vendor.trouble>[0]>(["drop", { status: 503, body: {} }, { status: 401, body: {} }])(
    "fails the connection test when it answers %j",
    async (trouble) => {
      vendor.trouble(trouble, { times: 3 });
      expect(await connectionOf(name).test(new AbortController().signal)).toMatchObject({ ok: false });
    },
  );

  test("is no longer called once the pull is aborted", async () => {
    const release = vendor.hold();
    const controller = new AbortController();
    const failed = expect(pullAll(connectionOf(name), null, controller.signal)).rejects.toThrow("enough");
    controller.abort(new Error("enough"));
    await failed;
    release();
  });

  test("returns a complete menu with every item", async () => {
    const menu = Array.from({ length: 250 }, (_, n) => ({
      id: `item-${n}`,
      name: `Bun ${n}`,
      category: n % 2 === 0 ? "Bread" : "Cakes",
      price: n * 101,
      available: n % 3 !== 0,
    }));
    vendor.serve(menu);
    const pulled = await pullAll(connectionOf(name));
    expect(pulled.rejected).toEqual([]);
    expect(
      pulled.items.map(({ externalId, name: called, category: of, priceMinor, available }) => ({
        id: externalId,
        name: called,
        category: of,
        price: priceMinor,
        available,
      })),
    ).toEqual(menu);
  });

  test("has its menu processed in parts, so that other work can run in between", async () => {
    const { path, answer } = full[name][0]!;
    const junk = Array.from({ length: 20_000 }, () => 0);
    const list = { square: "objects", poster: "response", iiko: "products", generic: "items" }[name];
    vendor.trouble({ body: { ...(answer as object), [list]: junk } }, { path });
    let turns = 0;
    let counting = true;
    const count = () => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    const pull = connectionOf(name).pullMenu(null, new AbortController().signal);
    await pull.next();
    setImmediate(count);
    for (let page = 1; page < 20; page += 1) {
      const { done, value } = await pull.next();
      expect(done === true ? 0 : value.rejected.length).toBe(1_000);
    }
    counting = false;
    await pull.return({ unchanged: true });
    expect(turns).toBeGreaterThanOrEqual(19);
  });

  test("cannot send a list that is longer than the item limit", async () => {
    const { path, answer } = full[name][0]!;
    const list = { square: "objects", poster: "response", iiko: "products", generic: "items" }[name];
    const junk = Array.from({ length: 200_001 }, () => 0);
    vendor.trouble({ body: { ...(answer as object), [list]: junk } }, { path });
    await expect(pullAll(connectionOf(name))).rejects.toMatchObject({ name: "PosUnavailable" });
  });

  test("exposes its account, its origin, and its own webhook secret if it has one", () => {
    const { origin } = new URL(vendor.url);
    expect(connectionOf(name)).toMatchObject({ account: vendor.account, origin, webhookSecret: null });
    const webhookSecret = `whsec_${"A".repeat(32)}`;
    const own = findAdapter(name)?.connect({ ...vendor.credentials, webhookSecret });
    expect(own).toMatchObject({ account: vendor.account, webhookSecret });
  });
});

test("each adapter has a name, and accepts exactly the credentials of its JSON Schema", async () => {
  const { z } = await import("zod");
  expect(adapters.map(({ name }) => name)).toEqual(names);
  for (const adapter of adapters) {
    const { name, displayName, credentials } = adapter;
    const schema = z.toJSONSchema(credentials, { io: "input" });
    for (const way of schema.anyOf ?? [schema]) {
      expect(way).toMatchObject({ type: "object", additionalProperties: false });
      for (const property of Object.values(way.properties ?? {})) expect(property).toHaveProperty("description");
    }
    expect(displayName).not.toBe("");
    for (const wrong of [null, {}, [], "x", { ...vendors[name as AdapterName].credentials, more: 1 }])
      expect(() => adapter.connect(wrong)).toThrow(expect.objectContaining({ name: "ZodError" }));
  }
  expect(findAdapter("abacus")).toBeUndefined();
});
