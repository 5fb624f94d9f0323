import { afterAll, expect, test } from "@jest/globals";

const { closeDatabase } = await import("../../../../sql/db.js");
const { outcome } = await import("../../../support/api.js");
const { newPhone } = await import("../../../support/cast.js");
const { lockRows } = await import("../../../support/locks.js");
const { startLogins } = await import("../../../support/logins.js");

const { stop, verify, logIn } = await startLogins();

afterAll(async () => {
  await stop();
  await closeDatabase();
});

test("a guess at a phone without a valid code locks nothing, as its time would tell who has logged in", async () => {
  const phone = newPhone();
  await logIn(phone);
  const unlock = await lockRows((tx) => tx`select from otp where phone = ${phone} for update`);
  const replies = [await verify(phone, "000001"), await verify(newPhone(), "000001")];
  await unlock();
  expect(replies.map(outcome)).toEqual(["400 INVALID_CODE", "400 INVALID_CODE"]);
});
