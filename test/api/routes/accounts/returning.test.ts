import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Bakery, Character } from "../../../support/cast.js";

const code = "424242";
process.env["OTP_FIXED_CODE"] = code;

const { keyedHashes, sha256 } = await import("../../../../lib/security/crypto.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { runUpkeep } = await import("../../../../workers/upkeep.js");
const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { task } = await import("../../../support/task.js");

let api: Awaited<ReturnType<typeof startApi>>;
let bakery: Bakery;
let breadId: string;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

beforeEach(async () => {
  bakery = await cast.bakery(api.client);
  breadId = await cast.addMenuItem(bakery, { price: 100 });
});

async function logIn(phone: string): Promise<Character> {
  await api.client.post("/api/v1/auth/otp/send", { phone });
  const tokens = await api.client.post("/api/v1/auth/otp/verify", { phone, code });
  const client = api.client.as(tokens.string("accessToken"));
  return { id: (await client.get("/api/v1/users/me")).string("id"), phone, client };
}

/** Deletes the account, erases it as after 30 days, and logs in with the same phone. */
async function comeBack({ id, phone, client }: Character): Promise<Character> {
  expect(outcome(await client.delete("/api/v1/users/me"))).toBe("204");
  await sql`update users set deleted_at = now() - interval '31 days' where id = ${id}::uuid`;
  await runUpkeep(task({ task: "erase-accounts" }));
  const again = await logIn(phone);
  expect(again.id).not.toBe(id);
  return again;
}

const order = (by: Character, itemId: string, qty: number, price: number, more: object = {}) =>
  by.client.post("/api/v1/orders", {
    items: [{ menuItemId: itemId, qty }],
    totalAmount: qty * price,
    partnerId: bakery.id,
    ...more,
  });
const complete = (id: string) => bakery.owner.client.put(`/api/v1/orders/${id}/status`, { status: "COMPLETED" });
const refer = (by: Character, referralCode: string) => by.client.post("/api/v1/loyalty/referral", { referralCode });
const scoreOf = async (of: Character) => (await of.client.get("/api/v1/loyalty/score")).body;
const referralCodeOf = async (of: Character) => String((await scoreOf(of))["referralCode"]);

describe("a customer who deletes the account and comes back", () => {
  test("has used the promo codes that they used before, and no others", async () => {
    const admin = await cast.admin(api.client);
    const terms = { discountPercent: 10, maxUsesPerUser: 2 };
    const promoCode = (await admin.client.post("/api/v1/admin/promo/create", { code: "TWICE", ...terms })).string(
      "code",
    );
    const use = (by: Character) => order(by, breadId, 1, 90, { promoCode });
    const first = await logIn(cast.newPhone());
    expect(outcome(await use(first))).toBe("201");
    const second = await comeBack(first);
    expect(outcome(await use(second))).toBe("201");
    const third = await comeBack(second);
    expect((await use(third)).body["error"]).toBe("USED_BY_YOU");
    const applied = await third.client.post("/api/v1/loyalty/promo/apply", { code: promoCode, orderAmount: 100 });
    expect(applied.body["error"]).toBe("USED_BY_YOU");
    expect(outcome(await use(await logIn(cast.newPhone())))).toBe("201");
  });

  test("gets no points for a second referral, and neither do referrers", async () => {
    const referrer = await cast.user(api.client);
    const referralCode = await referralCodeOf(referrer);
    const first = await logIn(cast.newPhone());
    expect(outcome(await refer(first, referralCode))).toBe("200");
    const second = await comeBack(first);
    expect(outcome(await refer(second, referralCode))).toBe("409 CONFLICT");
    await complete((await order(second, breadId, 1, 100)).string("orderId"));
    expect(await scoreOf(second)).toMatchObject({ points: 10 });
    expect(await scoreOf(referrer)).toMatchObject({ points: 0 });
  });

  test("is no new customer after a completed order", async () => {
    const first = await logIn(cast.newPhone());
    await complete((await order(first, breadId, 1, 100)).string("orderId"));
    const referralCode = await referralCodeOf(await cast.user(api.client));
    expect(outcome(await refer(await comeBack(first), referralCode))).toBe("409 CONFLICT");
  });

  test("cannot be referred by a customer whom they referred before", async () => {
    const first = await logIn(cast.newPhone());
    const friend = await cast.user(api.client);
    await refer(friend, await referralCodeOf(first));
    expect(outcome(await refer(await comeBack(first), await referralCodeOf(friend)))).toBe("409 CONFLICT");
  });

  test("has the same share of a box, and the same no-shows", async () => {
    const boxId = await cast.listBox(bakery, { price: 1, quantity: 50, maxPerCustomer: 2 });
    const first = await logIn(cast.newPhone());
    expect(outcome(await order(first, boxId, 2, 1))).toBe("201");
    for (let n = 0; n < 3; n += 1) await order(first, breadId, 1, 100);
    const second = await comeBack(first);
    expect(outcome(await order(second, boxId, 1, 1))).toBe("409 CONFLICT");
    expect(outcome(await order(second, breadId, 1, 100))).toBe("201");
    await sql`update orders set status = 'NO_SHOW' where user_id = ${first.id}::uuid`;
    expect((await order(second, breadId, 1, 100)).string("detail")).toContain("You did not pick up 4 orders");
  });

  test("is known by the phone's keyed hash only, also while an earlier key is in force", async () => {
    const first = await logIn(cast.newPhone());
    const second = await comeBack(first);
    const [row] = await sql<{ phone: string | null; hash: Buffer; firstAccountId: string }[]>`
      select a.phone, a.phone_hash as hash, b.first_account_id
      from users a, users b
      where a.id = ${first.id}::uuid and b.id = ${second.id}::uuid`;
    expect(row).toEqual({ phone: null, hash: keyedHashes("phone", first.phone)[0], firstAccountId: first.id });
    expect(row?.hash).not.toEqual(sha256(first.phone));
  });
});
