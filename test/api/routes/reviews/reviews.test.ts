import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { task } from "../../../support/task.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let admin: cast.Character;
let bakery: cast.Bakery;
let customer: cast.Character;
let breadId: string;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
  admin = await cast.admin(client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

beforeEach(async () => {
  [bakery, customer] = await Promise.all([cast.bakery(client), cast.user(client)]);
  breadId = await cast.addMenuItem(bakery, { price: 10 });
});

async function order(by = customer): Promise<string> {
  const items = [{ menuItemId: breadId, qty: 1 }];
  return (await by.client.post("/api/v1/orders", { items, totalAmount: 10, partnerId: bakery.id })).string("orderId");
}

const review = (orderId: string, rating: unknown, text?: unknown, by = customer) =>
  by.client.post("/api/v1/reviews", { orderId, rating, text });
const edit = (id: string, changes: object, by = customer) => by.client.put(`/api/v1/reviews/${id}`, changes);
const moderate = (id: string, body: object) => admin.client.put(`/api/v1/reviews/admin/${id}/moderate`, body);
const shown = async () => (await client.get(`/api/v1/reviews/partners/${bakery.id}`)).list;
const rating = async () => (await client.get(`/api/v1/reviews/partners/${bakery.id}/rating`)).body;
const published = async (stars: number) => (await review(await order(), stars)).string("id");

describe("a review", () => {
  test("of one's own order is public at once, and counts in the rating", async () => {
    const orderId = await order();
    const reply = await review(orderId.toUpperCase(), 4, "Свежий хлеб");
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({ id: expect.any(String), orderId, rating: 4, status: "PUBLISHED" });
    expect(await shown()).toEqual([
      { id: reply.string("id"), rating: 4, text: "Свежий хлеб", createdAt: expect.any(String) },
    ]);
    expect(await rating()).toEqual({ partnerId: bakery.id, avgRating: 4, reviewCount: 1 });
  });

  test.each([0, 6, 4.5, "5", null, undefined])("with %j stars: 400 VALIDATION_ERROR", async (stars) => {
    expect(outcome(await review(await order(), stars))).toBe("400 VALIDATION_ERROR");
    expect(await shown()).toEqual([]);
  });

  test("may have a text of up to 2,000 characters, or none", async () => {
    expect(outcome(await review(await order(), 5, "ж".repeat(2_000)))).toBe("201");
    expect(outcome(await review(await order(), 5, "ж".repeat(2_001)))).toBe("400 VALIDATION_ERROR");
  });

  test("is unique per order, also with concurrent requests", async () => {
    const orderId = await order();
    const replies = await Promise.all(Array.from({ length: 10 }, (_, n) => review(orderId, 1 + (n % 5))));
    expect(replies.map(outcome).sort()).toEqual(["201", ...Array<string>(9).fill("409 CONFLICT")]);
    expect(await rating()).toMatchObject({ reviewCount: 1 });
  });

  test("is only for one's own orders that are not cancelled", async () => {
    const stranger = await cast.user(client);
    const orderId = await order();
    expect(outcome(await review(orderId, 5, undefined, stranger))).toBe("404 NOT_FOUND");
    await customer.client.post(`/api/v1/orders/${orderId}/cancel`);
    expect(outcome(await review(orderId, 5))).toBe("409 CONFLICT");
    expect(await rating()).toMatchObject({ avgRating: 0, reviewCount: 0 });
  });
});

describe("editing and moderating", () => {
  test("an edited review is hidden until it is approved, and then counts with its new rating", async () => {
    const id = await published(2);
    expect((await edit(id, { rating: 5 })).body).toEqual({ id, status: "PENDING" });
    expect((await edit(id, { text: "Лучше" })).body).toEqual({ id, status: "PENDING" });
    expect([await shown(), await rating()]).toEqual([[], { partnerId: bakery.id, avgRating: 0, reviewCount: 0 }]);
    const queue = (await admin.client.get("/api/v1/reviews/admin")).list;
    expect(queue.at(-1)).toMatchObject({ id, rating: 5, text: "Лучше", status: "PENDING", partnerId: bakery.id });
    expect((await moderate(id, { decision: "APPROVE" })).body).toEqual({ id, status: "APPROVED" });
    expect(await rating()).toMatchObject({ avgRating: 5, reviewCount: 1 });
  });

  test.each([
    [{ decision: "APPROVE" }, "APPROVED", 1],
    [{ decision: "REJECT" }, "REJECTED", 0],
    [{ status: "APPROVED" }, "APPROVED", 1],
    [{ status: "REJECTED" }, "REJECTED", 0],
  ])("%j → %s, and the author can no longer edit", async (body, status, count) => {
    const id = await published(3);
    for (let times = 0; times < 2; times += 1) expect((await moderate(id, body)).body).toEqual({ id, status });
    expect(outcome(await edit(id, { rating: 1 }))).toBe("409 CONFLICT");
    expect([(await shown()).length, await rating()]).toEqual([count, expect.objectContaining({ reviewCount: count })]);
    const audit = await sql`select from audit_events where subject_id = ${id}::uuid and actor_id = ${admin.id}::uuid`;
    expect(audit).toHaveLength(1);
  });

  test("an admin may change the decision", async () => {
    const id = await published(3);
    for (const [decision, count] of [
      ["REJECT", 0],
      ["APPROVE", 1],
      ["REJECT", 0],
    ] as const) {
      await moderate(id, { decision });
      expect(await rating()).toMatchObject({ reviewCount: count });
    }
  });

  test.each([[{}], [{ decision: "approve" }], [{ status: "PENDING" }], [{ decision: 1 }]])("%j: 400", async (body) => {
    expect(outcome(await moderate(await published(3), body))).toBe("400 VALIDATION_ERROR");
  });

  test.each([[{}], [{ rating: 6 }], [{ text: 5 }]])("an edit of %j: 400", async (body) => {
    expect(outcome(await edit(await published(3), body))).toBe("400 VALIDATION_ERROR");
  });

  test("two opposite concurrent decisions give one result, in the audit and in the rating", async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = await published(4);
      await Promise.all([moderate(id, { decision: "APPROVE" }), moderate(id, { decision: "REJECT" })]);
    }
    const [kept] = await sql<{ count: number }[]>`
      select count(*)::integer from reviews where partner_id = ${bakery.id}::uuid and status = 'APPROVED'`;
    expect(await rating()).toMatchObject({ reviewCount: kept?.count });
  });

  test("another user's review, or an unknown one: 404", async () => {
    const id = await published(4);
    expect(outcome(await edit(id, { rating: 1 }, await cast.user(client)))).toBe("404 NOT_FOUND");
    expect(outcome(await moderate(breadId, { decision: "APPROVE" }))).toBe("404 NOT_FOUND");
  });
});

describe("reading reviews", () => {
  test("the mean rating has two decimals", async () => {
    for (const stars of [5, 4, 4]) await published(stars);
    expect(await rating()).toEqual({ partnerId: bakery.id, avgRating: 4.33, reviewCount: 3 });
  });

  test("lists newest first, page by page, without their authors", async () => {
    const ids: string[] = [];
    for (const stars of [1, 2, 3]) ids.unshift(await published(stars));
    const first = await client.get(`/api/v1/reviews/partners/${bakery.id}?limit=2`);
    const next = /<(.*)>/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    const rest = await client.get(next);
    expect([...first.list, ...rest.list].map(({ id }) => id)).toEqual(ids);
    expect(`${first.text}${rest.text}`).not.toContain(customer.id);
  });

  test("of an unknown partner: 404", async () => {
    for (const path of ["", "/rating"])
      expect(outcome(await client.get(`/api/v1/reviews/partners/${breadId}${path}`))).toBe("404 NOT_FOUND");
  });
});

test("cancelling an order withdraws its review from the list and the rating", async () => {
  const orderId = await order();
  await review(orderId, 1);
  await review(await order(), 5);
  expect(await rating()).toMatchObject({ avgRating: 3, reviewCount: 2 });
  await customer.client.post(`/api/v1/orders/${orderId}/cancel`);
  expect(await rating()).toMatchObject({ avgRating: 5, reviewCount: 1 });
  expect(await shown()).toMatchObject([{ rating: 5 }]);
});

test("an order that is not picked up has no review: it is withdrawn, and none is accepted afterwards", async () => {
  const [reviewed, unreviewed] = [await order(), await order()];
  await review(reviewed, 1);
  await sql`update orders set no_show_at = now() where user_id = ${customer.id}::uuid`;
  await runUpkeep(task({ task: "no-shows" }));
  expect([await shown(), await rating()]).toEqual([[], { partnerId: bakery.id, avgRating: 0, reviewCount: 0 }]);
  expect(outcome(await review(unreviewed, 1))).toBe("409 CONFLICT");
});

describe("a partner's own people cannot review it:", () => {
  const refused = async (orderId: string, by: cast.Character) => {
    const reply = await review(orderId, 5, undefined, by);
    expect([outcome(reply), reply.body["detail"]]).toEqual([
      "409 CONFLICT",
      "You cannot review a partner that you own or work for.",
    ]);
    expect(await shown()).toEqual([]);
  };

  test("its owner", async () => {
    await refused(await order(bakery.owner), bakery.owner);
  });

  test("staff who left after ordering", async () => {
    await cast.join(bakery, customer);
    const orderId = await order();
    await customer.client.delete(`/api/v1/partners/me/staff/${customer.id}`);
    await refused(orderId, customer);
    expect(outcome(await review(await order(), 5))).toBe("201");
  });

  test("staff who joined after ordering", async () => {
    const orderId = await order();
    await cast.join(bakery, customer);
    await refused(orderId, customer);
  });
});

test("a moderation based on an outdated version of the review is refused", async () => {
  const id = await published(4);
  await edit(id, { text: "Хлеб" });
  const waiting = (await admin.client.get("/api/v1/reviews/admin?limit=200")).list.find((each) => each["id"] === id);
  const { revision } = waiting ?? {};
  await edit(id, { text: "Реклама" });
  expect(outcome(await moderate(id, { decision: "APPROVE", revision }))).toBe("409 CONFLICT");
  expect(await shown()).toEqual([]);
  expect(outcome(await moderate(id, { decision: "APPROVE", revision: Number(revision) + 1 }))).toBe("200");
});

test("after any sequential or concurrent changes, the rating equals a recount of the reviews", async () => {
  const step = fc.oneof(
    fc.record({ does: fc.constant("publish"), stars: fc.integer({ min: 1, max: 5 }) } as const),
    fc.record({ does: fc.constant("edit"), which: fc.nat(4), stars: fc.integer({ min: 1, max: 5 }) } as const),
    fc.record({
      does: fc.constant("moderate"),
      which: fc.nat(4),
      decision: fc.constantFrom("APPROVE", "REJECT"),
    } as const),
    fc.record({ does: fc.constant("cancel"), which: fc.nat(4) } as const),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 4 }), async (rounds) => {
      const ids: string[] = [];
      for (const steps of rounds) {
        const replies = await Promise.all(
          steps.map(async (each) => {
            if (each.does === "publish") return review(await order(), each.stars);
            const id = ids[each.which];
            if (id === undefined) return null;
            if (each.does === "cancel") {
              const [row] = await sql<{ orderId: string }[]>`
                select order_id as "orderId" from reviews where id = ${id}::uuid`;
              await customer.client.post(`/api/v1/orders/${row!.orderId}/cancel`);
              return null;
            }
            return each.does === "edit" ? edit(id, { rating: each.stars }) : moderate(id, { decision: each.decision });
          }),
        );
        for (const reply of replies) if (reply?.status === 201) ids.push(reply.string("id"));
      }
      const [counted] = await sql<{ sum: number; count: number }[]>`
        select coalesce(sum(rating), 0)::integer as sum, count(*)::integer as count
        from reviews
        where partner_id = ${bakery.id}::uuid and status in ('PUBLISHED', 'APPROVED')`;
      const { sum, count } = counted!;
      expect(await rating()).toMatchObject({
        avgRating: count === 0 ? 0 : Math.round((sum * 100) / count) / 100,
        reviewCount: count,
      });
    }),
    { numRuns: 25 },
  );
});
