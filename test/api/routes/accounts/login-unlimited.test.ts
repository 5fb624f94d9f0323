import { afterAll, expect, test } from "@jest/globals";

process.env["RATE_LIMIT_DISABLED"] = "1";
process.env["OTP_SENDS_PER_ADDRESS"] = "1";
process.env["OTP_SENDS_TOTAL"] = "1";
process.env["OTP_SENDS_PER_PHONE"] = "1";
process.env["OTP_GUESSES_PER_ADDRESS"] = "1";
process.env["REGISTRATIONS_PER_ADDRESS"] = "1";
process.env["OTP_FIXED_CODE"] = "424242";

const { startApi } = await import("../../../support/api.js");
const { bakeryProfile, newPhone } = await import("../../../support/cast.js");
const { closeDatabase } = await import("../../../../sql/db.js");

const { client, stop } = await startApi();

afterAll(async () => {
  await stop();
  await closeDatabase();
});

const send = async (phone: string) => (await client.post("/api/v1/auth/otp/send", { phone })).status;

test("RATE_LIMIT_DISABLED lifts the limits per address and deployment, but not the 3 codes per phone", async () => {
  const phone = newPhone();
  const others = await Promise.all(Array.from({ length: 10 }, () => send(newPhone())));
  expect(new Set(others)).toEqual(new Set([200]));
  const own = await Promise.all(Array.from({ length: 20 }, () => send(phone)));
  expect(own.filter((status) => status === 200)).toHaveLength(3);
  expect(own.filter((status) => status === 429)).toHaveLength(17);
});

test("RATE_LIMIT_DISABLED lifts the limits on wrong codes and registrations per address", async () => {
  for (let n = 0; n < 3; n += 1) {
    const phone = newPhone();
    await send(phone);
    expect((await client.post("/api/v1/auth/otp/verify", { phone, code: "000000" })).status).toBe(400);
    expect((await client.post("/api/v1/partners/register", bakeryProfile)).status).toBe(201);
  }
});

test("OTP_FIXED_CODE is the code of every phone, and must be requested like any other", async () => {
  const phone = newPhone();
  const verify = async (code: string) => (await client.post("/api/v1/auth/otp/verify", { phone, code })).status;
  expect(await verify("424242")).toBe(400);
  expect(await send(phone)).toBe(200);
  expect(await verify("424243")).toBe(400);
  expect(await verify("424242")).toBe(200);
});
