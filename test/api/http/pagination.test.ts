import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { closeDatabase, sql } from "../../../sql/db.js";
import { type Client, outcome, type Reply, startApi } from "../../support/api.js";
import * as cast from "../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let bakery: cast.Bakery;
let admin: cast.Character;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
  admin = await cast.admin(client);
});

beforeEach(async () => {
  bakery = await cast.bakery(client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const nextOf = ({ headers }: Reply) => /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];

/** Follows the links from the first page to the last. */
async function walk(as: Client, path: string): Promise<Reply[]> {
  const pages: Reply[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const read: Reply = await as.get(next);
    pages.push(read);
    next = nextOf(read);
  }
  return pages;
}

const rowsOf = (pages: Reply[]) => pages.flatMap(({ list }) => list);

describe("following a list's links", () => {
  const total = 23;

  test.each([
    ["items", "/api/v1/menu/items"],
    ["categories", "/api/v1/menu/categories"],
    ["boxes", "/api/v1/boxes/by-partner/ID"],
    ["partners", "/api/v1/admin/partners?cityId=walk"],
  ])("returns every row of %s once, in order, for any limit, and ends with the last row", async (kind, address) => {
    const make: Record<string, (n: number) => Promise<unknown>> = {
      items: (n) => cast.addMenuItem(bakery, { name: `Хлеб ${n}` }),
      categories: (n) => cast.addMenuItem(bakery, { category: `Вид ${n}` }),
      boxes: (n) => cast.listBox(bakery, { title: `Набор ${n}` }),
      partners: () => client.post("/api/v1/partners/register", { ...cast.bakeryProfile, cityId: "walk" }),
    };
    for (let n = 0; n < total; n += 1) await make[kind]?.(n);
    const as = kind === "partners" ? admin.client : bakery.owner.client;
    const path = address.replace("ID", bakery.id);
    const whole = await walk(as, path);
    expect([whole.length, rowsOf(whole).length]).toEqual([1, total]);
    const ids = rowsOf(whole).map(({ id }) => String(id));
    const isNewestFirst = kind === "boxes" || kind === "partners";
    expect(ids).toEqual([...ids].sort((one, other) => (one < other === isNewestFirst ? 1 : -1)));

    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: total + 2 }), async (limit) => {
        const pages = await walk(as, `${path}${path.includes("?") ? "&" : "?"}limit=${limit}`);
        expect(rowsOf(pages)).toEqual(rowsOf(whole));
        expect(pages.map(({ list }) => list.length)).toEqual(
          Array.from({ length: Math.ceil(total / limit) }, (_, n) => Math.min(limit, total - n * limit)),
        );
      }),
      { numRuns: 8, examples: [[1], [total - 1], [total]] },
    );
  });

  test("inserted and deleted rows do not shift the others", async () => {
    const titles = Array.from({ length: 6 }, (_, n) => `Набор ${n}`);
    for (const title of titles) await cast.listBox(bakery, { title });
    const first = await client.get(`/api/v1/boxes/by-partner/${bakery.id}?limit=3`);
    await cast.listBox(bakery, { title: "newer" });
    await sql`delete from boxes where id = ${String(first.list[2]?.["id"])}::uuid`;
    const rest = await walk(client, nextOf(first) ?? "");
    expect(rowsOf([first, ...rest]).map(({ title }) => title)).toEqual(titles.toReversed());
  });
});

test("the link keeps the other query parameters", async () => {
  for (let n = 0; n < 3; n += 1) {
    const id = await cast.addMenuItem(bakery);
    await bakery.owner.client.delete(`/api/v1/menu/items/${id}`);
  }
  const first = await bakery.owner.client.get("/api/v1/menu/items?archived=true&limit=2&unknown=%26x");
  const next = new URL(nextOf(first) ?? "", "http://relative");
  expect(Object.fromEntries(next.searchParams)).toEqual({
    archived: "true",
    limit: "2",
    unknown: "&x",
    cursor: expect.any(String),
  });
  expect((await walk(bakery.owner.client, nextOf(first) ?? "")).map(({ list }) => list.length)).toEqual([1]);
});

describe("limit", () => {
  beforeEach(async () => {
    await sql`
      insert into menu_categories (partner_id, name) select ${bakery.id}::uuid, 'Вид ' || n from generate_series(1, 210) as n`;
  });

  test.each([
    ["", 50],
    ["limit=007", 7],
    ["limit=200", 200],
    ["limit=201", 200],
    [`limit=${"9".repeat(400)}`, 200],
    ["LIMIT=7", 50],
  ])("?%s returns %d rows", async (query, rows) => {
    expect((await bakery.owner.client.get(`/api/v1/menu/categories?${query}`)).list).toHaveLength(rows);
  });

  test.each(["0", "00", "-1", "1.5", "1e2", "0x10", "%2B5", "ten", "", "%20", "NaN", "Infinity", "1&limit=2"])(
    "limit=%s: 400 VALIDATION_ERROR",
    async (limit) => {
      const refused = await bakery.owner.client.get(`/api/v1/menu/categories?limit=${limit}`);
      expect([outcome(refused), refused.body["errors"]]).toEqual([
        "400 VALIDATION_ERROR",
        [{ path: "query.limit", message: expect.any(String) }],
      ]);
    },
  );
});

test.each([
  "",
  "x",
  "%00",
  "MDE5NzhkMmU",
  Buffer.from("' or true --").toString("base64url"),
  "A".repeat(501),
  "a&cursor=b",
])("cursor=%s: 400 VALIDATION_ERROR", async (cursor) => {
  expect(outcome(await bakery.owner.client.get(`/api/v1/menu/categories?cursor=${cursor}`))).toBe(
    "400 VALIDATION_ERROR",
  );
});
