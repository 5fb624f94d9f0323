import { afterAll, expect, test } from "@jest/globals";

const { closeDatabase } = await import("../../../../sql/db.js");
const { outcome } = await import("../../../support/api.js");
const { newPhone } = await import("../../../support/cast.js");
const { countBlocked, lockRows } = await import("../../../support/locks.js");
const { startLogins } = await import("../../../support/logins.js");
const { until } = await import("../../../support/until.js");

const { stop, verify, logIn } = await startLogins();

afterAll(async () => {
  await stop();
  await closeDatabase();
});

test("a guess at a phone without a valid code locks nothing, as its time would tell who has logged in", async () => {
  const phone = newPhone();
  await logIn(phone);
  const unlock = await lockRows((tx) => tx`select from otp where phone = ${phone} for update`);
  const seen = { replies: 0 };
  const guesses = [phone, newPhone()].map(async (each) => {
    const reply = await verify(each, "000001");
    seen.replies += 1;
    return outcome(reply);
  });
  await until(async () => seen.replies === 2 || (await countBlocked()) > 0);
  const blocked = await countBlocked();
  await unlock();
  expect(blocked).toBe(0);
  expect(await Promise.all(guesses)).toEqual(["400 INVALID_CODE", "400 INVALID_CODE"]);
});
