import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { sized } from "../../../support/size.js";

let api: Awaited<ReturnType<typeof startApi>>;
let admin: cast.Character;
let bakery: cast.Bakery;
let breadId: string;

/** The price of a loaf, in major units. */
const PRICE = 100;

beforeAll(async () => {
  api = await startApi();
  admin = await cast.admin(api.client);
  bakery = await cast.bakery(api.client);
  breadId = await cast.addMenuItem(bakery, { price: PRICE });
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const newCode = () => `T-${randomUUID().slice(0, 8)}`.toUpperCase();
const create = (fields: Record<string, unknown>) =>
  admin.client.post("/api/v1/admin/promo/create", { code: newCode(), ...fields });

/** Creates a promo; returns its code. */
async function promo(fields: Record<string, unknown>): Promise<string> {
  const reply = await create(fields);
  expect([reply.status, reply.text]).toEqual([201, expect.anything()]);
  return reply.string("code");
}

const apply = (by: cast.Character, code: string, orderAmount: unknown = PRICE) =>
  by.client.post("/api/v1/loyalty/promo/apply", { code, orderAmount });

const order = (by: cast.Character, totalAmount: number, more: object = {}, qty = 1) =>
  by.client.post("/api/v1/orders", {
    items: [{ menuItemId: breadId, qty }],
    totalAmount,
    partnerId: bakery.id,
    ...more,
  });

const usesOf = async (code: string) => {
  const [row] = await sql<{ uses: number }[]>`select uses from promo_codes where code = ${code}`;
  return row?.uses;
};

test.each(["ab", "СКИДКА", "A B", "x".repeat(40), ""])("%j is not a promo code: 400 INVALID_PROMO", async (code) => {
  const refused = await apply(await cast.user(api.client), code);
  expect(outcome(refused)).toBe("400 INVALID_PROMO");
  expect(refused.body).toMatchObject({ valid: false, discountCents: 0, error: "UNKNOWN" });
});

test("an applied promo is used by one order, also by one of several concurrent orders", async () => {
  const code = await promo({ discountPercent: 10, maxUsesPerUser: 5 });
  const anna = await cast.user(api.client);
  await apply(anna, ` ${code.toLowerCase()} `);
  const replies = await Promise.all(Array.from({ length: 4 }, () => order(anna, PRICE)));
  expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  expect(replies.filter(({ body }) => Number(body["discountCents"]) > 0)).toHaveLength(1);
  expect(await usesOf(code)).toBe(1);
});

describe("creating", () => {
  test("returns the code in upper case, active", async () => {
    const code = newCode();
    const reply = await admin.client.post("/api/v1/admin/promo/create", {
      code: code.toLowerCase(),
      discountPercent: 12.5,
    });
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({ id: expect.any(String), code, active: true });
    const again = await admin.client.post("/api/v1/admin/promo/create", { code, discountCents: 100 });
    expect(outcome(again)).toBe("409 CONFLICT");
  });

  test.each([
    [{}],
    [{ discountPercent: 10, discountCents: 10 }],
    [{ discountPercent: 0 }],
    [{ discountPercent: 100.01 }],
    [{ discountPercent: 0.001 }],
    [{ discountPercent: -1 }],
    [{ discountCents: 0 }],
    [{ discountCents: 1.5 }],
    [{ discountPercent: 10, code: "AB" }],
    [{ discountPercent: 10, code: "X".repeat(33) }],
    [{ discountPercent: 10, code: "СКИДКА" }],
    [{ discountPercent: 10, code: "A B C" }],
    [{ discountPercent: 10, minOrderAmount: -1 }],
    [{ discountPercent: 10, maxDiscountCents: 0 }],
    [{ discountPercent: 10, maxUses: 0 }],
    [{ discountPercent: 10, maxUsesPerUser: 0 }],
    [{ discountPercent: 10, startsAt: "2026-06-02T00:00:00Z", endsAt: "2026-06-01T00:00:00Z" }],
    [{ discountPercent: 10, partnerId: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f" }],
  ])("%j: 400 VALIDATION_ERROR", async (fields) => {
    expect(outcome(await create(fields))).toBe("400 VALIDATION_ERROR");
  });

  test("promos are listed newest first with their uses; creating and switching them is audited", async () => {
    const made = await create({ discountPercent: 10, minOrderAmount: 50, maxUses: 7 });
    const id = made.string("id");
    const buyer = await cast.user(api.client);
    expect((await order(buyer, 90, { promoCode: made.string("code") })).status).toBe(201);
    const [newest] = (await admin.client.get("/api/v1/admin/promo?limit=1")).list;
    expect(newest).toMatchObject({
      id,
      discountPercent: 10,
      minOrderAmount: 50,
      maxUses: 7,
      maxUsesPerUser: 1,
      uses: 1,
    });
    const set = (active: boolean) => admin.client.put(`/api/v1/admin/promo/${id}/active`, { active });
    expect((await set(false)).body).toEqual({ id, active: false });
    expect((await set(false)).body).toEqual({ id, active: false });
    expect((await set(true)).body).toEqual({ id, active: true });
    const audit = await sql<
      { action: string; actorId: string }[]
    >`select action, actor_id from audit_events where subject_id = ${id}::uuid order by id`;
    expect(audit.map((row) => row.action)).toEqual(["PROMO_CREATED", "PROMO_ACTIVE", "PROMO_ACTIVE"]);
    expect(new Set(audit.map((row) => row.actorId))).toEqual(new Set([admin.id]));
  });
});

describe("applying", () => {
  test.each(["code", "promoCode"])("accepts the code as %s, ignoring case", async (field) => {
    const buyer = await cast.user(api.client);
    const code = await promo({ discountPercent: 10 });
    for (const amount of ["orderAmount", "amount", "totalAmount"]) {
      const body = { [field]: code.toLowerCase(), [amount]: 249.9 };
      const reply = await buyer.client.post("/api/v1/loyalty/promo/apply", body);
      expect([reply.status, reply.body]).toEqual([200, { valid: true, discountCents: 2499, error: null }]);
    }
    expect(await usesOf(code)).toBe(0);
  });

  test.each([
    [{}],
    [{ code: "ABC" }],
    [{ orderAmount: 1 }],
    [{ code: 1, orderAmount: 1 }],
    [{ code: "ABC", orderAmount: "1" }],
    [{ code: "ABC", orderAmount: 0.001 }],
    [{ code: "ABC", orderAmount: -1 }],
  ])("%j: 400 VALIDATION_ERROR", async (body) => {
    const buyer = await cast.user(api.client);
    expect(outcome(await buyer.client.post("/api/v1/loyalty/promo/apply", body))).toBe("400 VALIDATION_ERROR");
  });

  const day = 24 * 3_600_000;
  const inDays = (days: number) => new Date(Date.now() + days * day).toISOString();

  test.each([
    ["UNKNOWN", null],
    ["NOT_STARTED", { startsAt: inDays(1) }],
    ["ENDED", { startsAt: inDays(-2), endsAt: inDays(-1) }],
    ["MINIMUM_NOT_MET", { minOrderAmount: 100.01 }],
  ])("%s: 400 INVALID_PROMO, when applied and when ordering", async (error, fields) => {
    const buyer = await cast.user(api.client);
    const code = fields === null ? "UNKNOWN-CODE" : await promo({ discountPercent: 10, ...fields });
    const reply = await apply(buyer, code);
    expect(outcome(reply)).toBe("400 INVALID_PROMO");
    expect(reply.body).toMatchObject({ valid: false, discountCents: 0, error, detail: expect.any(String) });
    const refused = await order(buyer, 90, { promoCode: code });
    expect([outcome(refused), refused.body["error"]]).toEqual(["400 INVALID_PROMO", error]);
    expect((await buyer.client.get("/api/v1/orders")).list).toEqual([]);
  });

  test("a disabled code is answered like an unknown one", async () => {
    const buyer = await cast.user(api.client);
    const made = await create({ discountPercent: 10 });
    await admin.client.put(`/api/v1/admin/promo/${made.string("id")}/active`, { active: false });
    expect((await apply(buyer, made.string("code"))).body["error"]).toBe("UNKNOWN");
  });

  test("the exact minimum is enough", async () => {
    const buyer = await cast.user(api.client);
    expect(outcome(await apply(buyer, await promo({ discountPercent: 10, minOrderAmount: 100 })))).toBe("200");
  });
});

describe("an order uses the promo", () => {
  test("applied last, once; the total may be sent before or after the discount", async () => {
    for (const total of [PRICE, PRICE - 25]) {
      const buyer = await cast.user(api.client);
      const [first, second] = [await promo({ discountPercent: 10 }), await promo({ discountPercent: 25 })];
      await apply(buyer, first);
      await apply(buyer, second);
      const reply = await order(buyer, total);
      expect([reply.status, reply.text]).toEqual([201, expect.anything()]);
      expect(reply.body).toMatchObject({ totalAmount: 100, discountCents: 2500, amountDue: 75 });
      const read = await buyer.client.get(`/api/v1/orders/${reply.string("orderId")}`);
      expect(read.body).toMatchObject({ totalAmount: 100, discountCents: 2500, amountDue: 75 });
      expect([await usesOf(first), await usesOf(second)]).toEqual([0, 1]);
      expect((await order(buyer, PRICE)).body).toMatchObject({ discountCents: 0, amountDue: 100 });
    }
  });

  test("named in the order itself, rather than the applied one, which is kept for the next order", async () => {
    const buyer = await cast.user(api.client);
    const [attached, named] = [await promo({ discountPercent: 10 }), await promo({ discountCents: 500 })];
    await apply(buyer, attached);
    expect((await order(buyer, 95, { promoCode: named.toLowerCase() })).body).toMatchObject({ discountCents: 500 });
    expect((await order(buyer, 90)).body).toMatchObject({ discountCents: 1000 });
  });

  test("unless it is no longer valid: then the full total is accepted, and any other is refused with the expected one", async () => {
    const buyer = await cast.user(api.client);
    const code = await promo({ discountPercent: 10 });
    await apply(buyer, code);
    await sql`update promo_codes set ends_at = now() where code = ${code}`;
    const refused = await order(buyer, 90);
    expect(outcome(refused)).toBe("400 VALIDATION_ERROR");
    expect(refused.body["expected"]).toEqual({ totalAmount: 100, discountCents: 0, amountDue: 100 });
    expect((await order(buyer, 100)).body).toMatchObject({ discountCents: 0 });
    expect(await usesOf(code)).toBe(0);
  });

  test("only at the partner it is for", async () => {
    const buyer = await cast.user(api.client);
    const other = await cast.bakery(api.client);
    const theirs = await promo({ discountPercent: 10, partnerId: other.id });
    expect(outcome(await apply(buyer, theirs))).toBe("200");
    expect((await order(buyer, 100)).body).toMatchObject({ discountCents: 0 });
    expect((await order(buyer, 90, { promoCode: theirs })).body["error"]).toBe("OTHER_PARTNER");
    const ours = await promo({ discountPercent: 10, partnerId: bakery.id });
    expect((await order(buyer, 90, { promoCode: ours })).status).toBe(201);
  });

  test("unless the total is wrong: the refusal names both totals, and uses nothing", async () => {
    const buyer = await cast.user(api.client);
    const code = await promo({ discountPercent: 10 });
    await apply(buyer, code);
    const refused = await order(buyer, 89.99);
    expect(outcome(refused)).toBe("400 VALIDATION_ERROR");
    expect(refused.body["expected"]).toEqual({ totalAmount: 100, discountCents: 1000, amountDue: 90 });
    expect(await usesOf(code)).toBe(0);
    expect((await order(buyer, 90)).status).toBe(201);
  });

  test("with its code as part of the payload that an Idempotency-Key covers", async () => {
    const buyer = await cast.user(api.client);
    const code = await promo({ discountPercent: 10, maxUsesPerUser: 5 });
    const send = (more: object) =>
      buyer.client.post(
        "/api/v1/orders",
        { items: [{ menuItemId: breadId, qty: 1 }], totalAmount: PRICE, partnerId: bakery.id, ...more },
        { headers: { "idempotency-key": "once" } },
      );
    expect(outcome(await send({ promoCode: code }))).toBe("201");
    expect(outcome(await send({ promoCode: code.toLowerCase() }))).toBe("409 DUPLICATE");
    expect(outcome(await send({}))).toBe("409 CONFLICT");
    expect(await usesOf(code)).toBe(1);
  });
});

describe("limits hold under concurrent orders", () => {
  test("maxUses 5: exactly 5 of 100 orders get an applied discount, and exactly 5 that name the code are accepted", async () => {
    const buyers = await Promise.all(Array.from({ length: 100 }, () => cast.user(api.client)));
    const attached = await promo({ discountPercent: 10, maxUses: 5 });
    expect((await Promise.all(buyers.map((buyer) => apply(buyer, attached)))).map(outcome)).toEqual(
      Array(100).fill("200"),
    );
    const orders = await Promise.all(buyers.map((buyer) => order(buyer, PRICE)));
    expect(orders.map(outcome)).toEqual(Array(100).fill("201"));
    expect(orders.filter(({ body }) => body["discountCents"] === 1000)).toHaveLength(5);
    expect(await usesOf(attached)).toBe(5);

    const named = await promo({ discountPercent: 10, maxUses: 5 });
    const replies = await Promise.all(buyers.map((buyer) => order(buyer, 90, { promoCode: named })));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(new Set(replies.filter(({ status }) => status !== 201).map(({ body }) => body["error"]))).toEqual(
      new Set(["USED_UP"]),
    );
    expect(await usesOf(named)).toBe(5);
  });

  test("maxUsesPerUser 2: exactly 2 of one customer's 20 orders are accepted", async () => {
    const buyer = await cast.user(api.client);
    const code = await promo({ discountPercent: 10, maxUsesPerUser: 2 });
    const replies = await Promise.all(Array.from({ length: 20 }, () => order(buyer, 90, { promoCode: code })));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(2);
    expect(new Set(replies.filter(({ status }) => status !== 201).map(({ body }) => body["error"]))).toEqual(
      new Set(["USED_BY_YOU"]),
    );
    expect(await usesOf(code)).toBe(2);
  });

  test("cancelling an order returns its use, once", async () => {
    const [one, other] = [await cast.user(api.client), await cast.user(api.client)];
    const code = await promo({ discountPercent: 10, maxUses: 1 });
    const taken = (await order(one, 90, { promoCode: code })).string("orderId");
    expect((await order(other, 90, { promoCode: code })).body["error"]).toBe("USED_UP");
    await Promise.all(Array.from({ length: 5 }, () => one.client.post(`/api/v1/orders/${taken}/cancel`)));
    expect(await usesOf(code)).toBe(0);
    const again = (await order(one, 90, { promoCode: code })).string("orderId");
    await bakery.owner.client.put(`/api/v1/orders/${again}/status`, { status: "COMPLETED" });
    await one.client.post(`/api/v1/orders/${again}/cancel`);
    expect(await usesOf(code)).toBe(1);
  });
});

test("the amounts of an order add up to the minor unit, for any price, discount and rate", async () => {
  const cents = fc.integer({ min: 0, max: 10_000_000 });
  const percent = fc.integer({ min: 1, max: 10_000 }).map((hundredths) => hundredths / 100);
  const discount = fc.oneof(
    fc.record({
      discountPercent: percent,
      maxDiscountCents: fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined }),
    }),
    fc.record({ discountCents: fc.integer({ min: 1, max: 1_000_000 }) }),
  );
  const rate = fc.integer({ min: 0, max: 10_000 }).map((hundredths) => hundredths / 100);
  await fc.assert(
    fc.asyncProperty(cents, fc.integer({ min: 1, max: 5 }), discount, rate, async (price, qty, terms, ratePercent) => {
      await sql`
        insert into commission_rates (partner_id, rate_percent) values (${bakery.id}::uuid, ${ratePercent}::numeric)
        on conflict (partner_id) do update set rate_percent = excluded.rate_percent`;
      const menuItemId = await cast.addMenuItem(bakery, { price: price / 100, name: randomUUID() });
      const buyer = await cast.user(api.client);
      const reply = await buyer.client.post("/api/v1/orders", {
        items: [{ menuItemId, qty }],
        totalAmount: (price * qty) / 100,
        partnerId: bakery.id,
        promoCode: await promo(terms),
      });
      expect([reply.status, reply.text]).toEqual([201, expect.anything()]);
      const [kept] = await sql<{ total: number; discount: number; due: number; commission: number; net: number }[]>`
        select total_minor as total, discount_minor as discount, amount_due_minor as due, commission_minor as commission,
               net_minor as net
        from orders
        where id = ${reply.string("orderId")}::uuid`;
      const total = price * qty;
      const halfUp = (hundredthsOfPercent: number, of: number) =>
        Number((BigInt(of) * BigInt(hundredthsOfPercent) + 5_000n) / 10_000n);
      const off =
        "discountCents" in terms
          ? Math.min(terms.discountCents, total)
          : Math.min(halfUp(Math.round(terms.discountPercent * 100), total), terms.maxDiscountCents ?? total);
      const commission = halfUp(Math.round(ratePercent * 100), total - off);
      expect(kept).toEqual({ total, discount: off, due: total - off, commission, net: total - off - commission });
      expect(reply.body["discountCents"]).toBe(off);
    }),
    { numRuns: sized(60, 15) },
  );
});
