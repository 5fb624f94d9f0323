import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { loyaltyLevel } from "../../../../lib/domain/loyalty-level.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let bakery: cast.Bakery;
let customer: cast.Character;

beforeAll(async () => {
  api = await startApi();
  bakery = await cast.bakery(api.client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

beforeEach(async () => {
  customer = await cast.user(api.client);
});

const scoreOf = async (user: cast.Character) => (await user.client.get("/api/v1/loyalty/score")).body;
const codeOf = async (user: cast.Character) => String((await scoreOf(user))["referralCode"]);
const refer = (user: cast.Character, referralCode: unknown) =>
  user.client.post("/api/v1/loyalty/referral", { referralCode });

async function order(by: cast.Character, items: { id: string; qty: number }[], totalAmount: number): Promise<string> {
  const reply = await by.client.post("/api/v1/orders", {
    items: items.map(({ id, qty }) => ({ menuItemId: id, qty })),
    totalAmount,
    partnerId: bakery.id,
  });
  expect([reply.status, reply.text]).toEqual([201, expect.anything()]);
  return reply.string("orderId");
}

const complete = (id: string) => bakery.owner.client.put(`/api/v1/orders/${id}/status`, { status: "COMPLETED" });

async function buy(by: cast.Character, price: number): Promise<void> {
  const id = await cast.addMenuItem(bakery, { price });
  await complete(await order(by, [{ id, qty: 1 }], price));
}

test.each([
  [0, "BRONZE"],
  [499, "BRONZE"],
  [500, "SILVER"],
  [1_999, "SILVER"],
  [2_000, "GOLD"],
  [9_999, "GOLD"],
  [10_000, "PLATINUM"],
])("%i points are %s", (points, level) => {
  expect(loyaltyLevel(points)).toBe(level);
});

describe("the score", () => {
  test("of a new user is 0, with a referral code that never changes", async () => {
    const scores = await Promise.all(Array.from({ length: 10 }, () => scoreOf(customer)));
    expect(scores[0]).toEqual({
      userId: customer.id,
      points: 0,
      level: "BRONZE",
      foodSavedGrams: 0,
      ordersCompleted: 0,
      referralCode: expect.stringMatching(/^[2-9A-HJKMNP-TV-Z]{8}$/),
    });
    expect(new Set(scores.map(({ referralCode }) => referralCode)).size).toBe(1);
  });

  test("grows when an order is completed: a point per full ten paid, and the food's weight", async () => {
    const box = await cast.listBox(bakery, { price: 249.9, weightGrams: 1_500 });
    const loaf = await cast.addMenuItem(bakery, { price: 120, weightGrams: 400 });
    const tea = await cast.addMenuItem(bakery, { price: 50 });
    const items = [
      { id: box, qty: 2 },
      { id: loaf, qty: 3 },
      { id: tea, qty: 1 },
    ];
    const id = await order(customer, items, 909.8);
    expect(await scoreOf(customer)).toMatchObject({ points: 0, ordersCompleted: 0 });
    await Promise.all(Array.from({ length: 5 }, () => complete(id)));
    const earned = { points: 90, level: "BRONZE", foodSavedGrams: 4_200, ordersCompleted: 1 };
    expect(await scoreOf(customer)).toMatchObject(earned);
    await sql`select credit_completed_order(${id}::uuid, 1000, 1000)`;
    expect(await scoreOf(customer)).toMatchObject(earned);
  });

  test("counts the amount paid, after the discount", async () => {
    const admin = await cast.admin(api.client);
    const code = (
      await admin.client.post("/api/v1/admin/promo/create", { code: "HALF-OFF", discountPercent: 50 })
    ).string("code");
    await customer.client.post("/api/v1/loyalty/promo/apply", { code, orderAmount: 399.8 });
    await buy(customer, 399.8);
    expect(await scoreOf(customer)).toMatchObject({ points: 19 });
  });

  test("does not grow with orders that are cancelled or not picked up", async () => {
    const bread = await cast.addMenuItem(bakery, { price: 1_000 });
    const id = await order(customer, [{ id: bread, qty: 1 }], 1_000);
    await customer.client.post(`/api/v1/orders/${id}/cancel`);
    await complete(id);
    expect(await scoreOf(customer)).toMatchObject({ points: 0, ordersCompleted: 0, foodSavedGrams: 0 });
  });

  test("does not grow with orders from one's own partner, as owner or staff, when ordering or when they are completed", async () => {
    const bread = await cast.addMenuItem(bakery, { price: 1_000 });
    const [leaver, joiner] = [await cast.user(api.client), await cast.user(api.client)];
    await cast.join(bakery, leaver);
    const ids = [];
    for (const by of [bakery.owner, leaver, joiner]) ids.push(await order(by, [{ id: bread, qty: 1 }], 1_000));
    await leaver.client.delete(`/api/v1/partners/me/staff/${leaver.id}`);
    await cast.join(bakery, joiner);
    for (const id of ids) expect((await complete(id)).status).toBe(200);
    for (const by of [bakery.owner, leaver, joiner])
      expect(await scoreOf(by)).toMatchObject({ points: 0, ordersCompleted: 0, foodSavedGrams: 0 });
    await buy(leaver, 1_000);
    expect(await scoreOf(leaver)).toMatchObject({ points: 100, ordersCompleted: 1 });
  });

  test("grows by at most 10,000 points with an order, and 20,000 with all orders of 24 hours", async () => {
    const cake = await cast.addMenuItem(bakery, { price: 1_000_000 });
    const ids = await Promise.all(Array.from({ length: 4 }, () => order(customer, [{ id: cake, qty: 1 }], 1_000_000)));
    await complete(ids.pop()!);
    expect(await scoreOf(customer)).toMatchObject({ points: 10_000 });
    await Promise.all(ids.map(complete));
    expect(await scoreOf(customer)).toMatchObject({ points: 20_000, ordersCompleted: 4 });
    await sql`update loyalty_entries set created_at = now() - interval '25 hours' where user_id = ${customer.id}::uuid`;
    await buy(customer, 1_000);
    expect(await scoreOf(customer)).toMatchObject({ points: 20_100, ordersCompleted: 5 });
  });

  test("reaches the next level", async () => {
    await buy(customer, 4_990);
    expect(await scoreOf(customer)).toMatchObject({ points: 499, level: "BRONZE" });
    await buy(customer, 10);
    expect(await scoreOf(customer)).toMatchObject({ points: 500, level: "SILVER" });
  });
});

describe("a referral", () => {
  test("gives the new user 100 points at once, and the referrer 100 once, for the new user's first completed order", async () => {
    const friend = await cast.user(api.client);
    const reply = await refer(friend, (await codeOf(customer)).toLowerCase());
    expect([reply.status, reply.body]).toEqual([200, { userId: friend.id, points: 100, level: "BRONZE" }]);
    expect(await scoreOf(customer)).toMatchObject({ points: 0 });
    await buy(friend, 20);
    expect(await scoreOf(customer)).toMatchObject({ points: 100, ordersCompleted: 0 });
    expect(await scoreOf(friend)).toMatchObject({ points: 102, ordersCompleted: 1 });
    await buy(friend, 20);
    expect(await scoreOf(customer)).toMatchObject({ points: 100 });
  });

  test("counts once per user, also with concurrent requests", async () => {
    const [one, other] = [await cast.user(api.client), await cast.user(api.client)];
    const codes = [await codeOf(one), await codeOf(other)];
    const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => refer(customer, codes[n % 2])));
    expect(replies.map(outcome).sort()).toEqual(["200", ...Array<string>(19).fill("409 CONFLICT")]);
    expect(await scoreOf(customer)).toMatchObject({ points: 100 });
  });

  test("is rewarded once when a customer's first orders are completed concurrently", async () => {
    const friend = await cast.user(api.client);
    await refer(friend, await codeOf(customer));
    const bread = await cast.addMenuItem(bakery, { price: 10 });
    const orders = await Promise.all(Array.from({ length: 10 }, () => order(friend, [{ id: bread, qty: 1 }], 10)));
    await Promise.all(orders.map(complete));
    expect(await scoreOf(customer)).toMatchObject({ points: 100 });
    expect(await scoreOf(friend)).toMatchObject({ points: 110, ordersCompleted: 10 });
  });

  test("is refused to users with a completed order", async () => {
    const friend = await cast.user(api.client);
    await buy(friend, 10);
    expect(outcome(await refer(friend, await codeOf(customer)))).toBe("409 CONFLICT");
  });

  test("is refused to two users who refer each other, concurrently or in sequence", async () => {
    const friend = await cast.user(api.client);
    const [mine, theirs] = [await codeOf(customer), await codeOf(friend)];
    const replies = await Promise.all([refer(friend, mine), refer(customer, theirs)]);
    expect(replies.map(outcome).sort()).toEqual(["200", "409 CONFLICT"]);
  });

  test.each([["NOBODY22"], [""], [undefined], [7], ["x".repeat(33)]])("by the code %j is refused", async (code) => {
    expect(outcome(await refer(customer, code))).toBe(code === "NOBODY22" ? "400 BAD_REQUEST" : "400 VALIDATION_ERROR");
  });

  test("by one's own code or a deleted account's is refused", async () => {
    expect(outcome(await refer(customer, await codeOf(customer)))).toBe("400 BAD_REQUEST");
    const gone = await cast.user(api.client);
    const code = await codeOf(gone);
    await sql`update users set deleted_at = now() where id = ${gone.id}::uuid`;
    expect(outcome(await refer(customer, code))).toBe("400 BAD_REQUEST");
  });
});

test("every score equals the sum of its ledger", async () => {
  const wrong = await sql`
    select a.user_id
    from loyalty_accounts a
    left join loyalty_entries e on e.user_id = a.user_id
    group by a.user_id
    having a.points <> coalesce(sum(e.points), 0) or a.food_saved_grams <> coalesce(sum(e.grams), 0)
        or a.orders_completed <> count(e.id) filter (where e.kind = 'ORDER')`;
  expect(wrong).toEqual([]);
});
