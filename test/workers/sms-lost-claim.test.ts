import { randomUUID } from "node:crypto";
import { afterAll, expect, test } from "@jest/globals";
import { startProxy } from "../support/proxy.js";
import { startSmsGateway } from "../support/sms-gateway.js";

const proxy = await startProxy(process.env["DATABASE_URL"] ?? "");
const gateway = await startSmsGateway();
Object.assign(process.env, {
  DATABASE_URL: proxy.url,
  DATABASE_TIMEOUT_MS: "3000",
  SMS_SENDER: "http",
  SMS_HTTP_URL: `${gateway.url}/send`,
});

// these modules read the configuration
const { newOtp } = await import("../support/otp.js");
const { task } = await import("../support/task.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { claimOutgoingCode, releaseOutgoingCode } = await import("../../sql/queries/otp.js");
const { sendCode } = await import("../../workers/sms.js");

afterAll(async () => {
  await closeDatabase();
  await gateway.stop();
  await proxy.close();
});

test("a login code is sent, once, when the answer to its claim was lost", async () => {
  const otpId = await newOtp();
  // its parameter: before the first use of a statement, its text is sent without being run
  proxy.loseAnswerTo(otpId);
  await sendCode(task({ otpId }));
  await sendCode(task({ otpId }));
  expect(gateway.received).toHaveLength(1);
  const [row] = await sql<{ sent: boolean }[]>`select sent_at is not null as sent from otp where id = ${otpId}::uuid`;
  expect(row?.sent).toBe(true);
});

test("a claim can be repeated by its own run until the code is released", async () => {
  const otpId = await newOtp();
  const [own, other] = [randomUUID(), randomUUID()];
  const isClaimed = async (token: string) => (await claimOutgoingCode(sql, otpId, token)) !== null;
  expect(await isClaimed(own)).toBe(true);
  expect(await isClaimed(other)).toBe(false);
  expect(await isClaimed(own)).toBe(true);
  await releaseOutgoingCode(sql, otpId);
  // a statement of this run that arrives late claims nothing for it
  expect(await isClaimed(own)).toBe(false);
  expect(await isClaimed(other)).toBe(true);
});
