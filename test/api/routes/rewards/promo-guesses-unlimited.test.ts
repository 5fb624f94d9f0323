import { afterAll, expect, test } from "@jest/globals";

process.env["RATE_LIMIT_DISABLED"] = "1";
process.env["PROMO_GUESSES_USER"] = "1";

const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { closeDatabase } = await import("../../../../sql/db.js");

const api = await startApi();

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

test("RATE_LIMIT_DISABLED lifts the limit on unknown promo codes", async () => {
  const { client } = await cast.user(api.client);
  for (let n = 0; n < 3; n += 1) {
    const guess = await client.post("/api/v1/loyalty/promo/apply", { code: `GUESS-${n}`, orderAmount: 100 });
    expect(outcome(guess)).toBe("400 INVALID_PROMO");
  }
});
