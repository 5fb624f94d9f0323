import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { Client, Reply } from "../../../support/api.js";
import type { Bakery } from "../../../support/cast.js";
import { stopTheClock } from "../../../support/clock.js";

process.env["PROMO_GUESSES_USER"] = "5";
process.env["PROMO_GUESSES_ADDRESS"] = "12";
process.env["TRUST_PROXY"] = "1";

const { signAccessToken } = await import("../../../../lib/security/tokens.js");
const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { closeDatabase } = await import("../../../../sql/db.js");

let api: Awaited<ReturnType<typeof startApi>>;
let bakery: Bakery;
let breadId: string;

const startMinute = stopTheClock();

beforeAll(async () => {
  api = await startApi();
  const admin = await cast.admin(api.client);
  const create = (fields: object) =>
    admin.client.post("/api/v1/admin/promo/create", { discountPercent: 10, ...fields });
  await create({ code: "KNOWN" });
  await create({ code: "LARGE", minOrderAmount: 1_000_000 });
  bakery = await cast.bakery(api.client);
  breadId = await cast.addMenuItem(bakery, { price: 100 });
});

beforeEach(startMinute);

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

let addresses = 0;
const newAddress = () => `203.0.113.${(addresses += 1)}`;
const apply = (as: Client, code: string, address: string) =>
  as.post("/api/v1/loyalty/promo/apply", { code, orderAmount: 100 }, { headers: { "x-forwarded-for": address } });
const order = (as: Client, address: string, fields: object) =>
  as.post(
    "/api/v1/orders",
    { items: [{ menuItemId: breadId, qty: 1 }], totalAmount: 100, partnerId: bakery.id, ...fields },
    { headers: { "x-forwarded-for": address } },
  );
const tally = (replies: Reply[], wanted: string) => replies.filter((reply) => outcome(reply) === wanted).length;

describe("unknown promo codes", () => {
  test("can be tried a few times by a user, however many requests come at once, and from any address", async () => {
    const { client } = await cast.user(api.client);
    const guesses = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 2 === 0
          ? apply(client, `GUESS-${n}`, newAddress())
          : order(client, newAddress(), { promoCode: `GUESS-${n}` }),
      ),
    );
    expect(tally(guesses, "400 INVALID_PROMO")).toBe(5);
    expect(tally(guesses, "429 RATE_LIMIT")).toBe(35);
    for (const refused of [
      await apply(client, "KNOWN", newAddress()),
      await order(client, newAddress(), { promoCode: "KNOWN" }),
    ]) {
      expect(outcome(refused)).toBe("429 RATE_LIMIT");
      expect(refused.string("detail")).toMatch(/^Too many unknown promo codes were tried; try again in /);
      expect(refused.headers.get("retry-after")).toBe(String(refused.body["retryAfterSeconds"]));
    }
    expect(outcome(await order(client, newAddress(), {}))).toBe("201");
  });

  test("can be tried again in the next hour", async () => {
    const { id, client } = await cast.user(api.client);
    const address = newAddress();
    for (let n = 0; n < 6; n += 1) await apply(client, "GUESS", address);
    jest.setSystemTime(Date.now() + 3_600_000);
    const later = api.client.as(await signAccessToken({ userId: id, scope: "USER" }));
    expect(outcome(await apply(later, "KNOWN", address))).toBe("200");
  });

  test("are limited per address too, over all its users", async () => {
    const [address, other] = [newAddress(), newAddress()];
    const users = await Promise.all(Array.from({ length: 5 }, () => cast.user(api.client)));
    const guesses = await Promise.all(
      users.flatMap(({ client }) => Array.from({ length: 4 }, (_, n) => apply(client, `GUESS-${n}`, address))),
    );
    expect(tally(guesses, "400 INVALID_PROMO")).toBe(12);
    const { client } = await cast.user(api.client);
    expect(outcome(await apply(client, "KNOWN", address))).toBe("429 RATE_LIMIT");
    expect(outcome(await apply(client, "KNOWN", other))).toBe("200");
  });
});

test("codes that exist do not count, whether they can be used or not", async () => {
  const { client } = await cast.user(api.client);
  const address = newAddress();
  for (let n = 0; n < 8; n += 1) {
    expect(outcome(await apply(client, "KNOWN", address))).toBe("200");
    expect((await apply(client, "LARGE", address)).body["error"]).toBe("MINIMUM_NOT_MET");
    expect((await order(client, address, { promoCode: "LARGE" })).body["error"]).toBe("MINIMUM_NOT_MET");
  }
  const last = await Promise.all(Array.from({ length: 5 }, () => apply(client, "GUESS", address)));
  expect(tally(last, "400 INVALID_PROMO")).toBe(5);
});
