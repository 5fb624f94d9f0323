import { afterAll, expect, test } from "@jest/globals";

const { closeDatabase } = await import("../../../../sql/db.js");
const { deleteAccount } = await import("../../../../sql/queries/users.js");
const { outcome } = await import("../../../support/api.js");
const { bakeryProfile, newPhone } = await import("../../../support/cast.js");
const { countBlocked, lockRows } = await import("../../../support/locks.js");
const { startLogins } = await import("../../../support/logins.js");
const { until } = await import("../../../support/until.js");

const { client, stop, verify, newCode, logIn } = await startLogins();

afterAll(async () => {
  await stop();
  await closeDatabase();
});

test("a login during the deletion of its account opens nothing, and takes no partner that waits for the phone", async () => {
  const phone = newPhone();
  const { body } = await client.as((await logIn(phone)).string("accessToken")).get("/api/v1/users/me");
  const code = await newCode(phone);
  const commit = await lockRows((tx) => deleteAccount(tx, String(body["id"])));
  const login = verify(phone, code);
  await until(async () => (await countBlocked()) === 1);
  expect(outcome(await client.post("/api/v1/partners/register", { ...bakeryProfile, phone }))).toBe("201");
  await commit();
  expect(outcome(await login)).toBe("400 INVALID_CODE");
  const again = await logIn(phone);
  expect(outcome(await client.as(again.string("accessToken")).get("/api/v1/partners/me"))).toBe("200");
});
