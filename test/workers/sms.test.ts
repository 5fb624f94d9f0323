import { afterAll, afterEach, describe, expect, test } from "@jest/globals";
import { startSmsGateway } from "../support/sms-gateway.js";

const gateway = await startSmsGateway();
process.env["SMS_SENDER"] = "http";
process.env["SMS_HTTP_URL"] = `${gateway.url}/send?to={phone}`;
process.env["SMS_HTTP_HEADERS"] = '{"Authorization":"Bearer gateway"}';

const { newPhone } = await import("../support/cast.js");
const { newOtp } = await import("../support/otp.js");
const { PermanentError } = await import("../../lib/process/errors.js");
const { log } = await import("../../lib/process/log.js");
const { SmsRefused } = await import("../../lib/messaging/sms.js");
const { newServiceId } = await import("../../lib/domain/service-id.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { sendCode } = await import("../../workers/sms.js");

const code = "012345";

const run = (otpId: string) =>
  sendCode({
    payload: { otpId },
    log,
    progress: () => undefined,
    requestId: undefined,
    attempt: 1,
    signal: new AbortController().signal,
    done: () => Promise.resolve(),
  });

const rowOf = async (otpId: string) =>
  (
    await sql<{ encrypted: boolean; claimed: boolean; sent: boolean }[]>`
      select encrypted_code is not null as "encrypted", claimed_at is not null as "claimed", sent_at is not null as "sent"
      from otp where id = ${otpId}`
  )[0];

afterEach(() => {
  gateway.received.length = 0;
  gateway.answerWith();
});

afterAll(async () => {
  await gateway.stop();
  await closeDatabase();
});

describe("a login code", () => {
  test("is sent to its phone and then erased", async () => {
    const phone = newPhone();
    const otpId = await newOtp(phone);
    await run(otpId);
    expect(gateway.received).toEqual([
      {
        method: "POST",
        url: `/send?to=${encodeURIComponent(phone)}`,
        headers: expect.objectContaining({ authorization: "Bearer gateway", "content-type": "application/json" }),
        body: JSON.stringify({ to: phone, text: "Код для входа: 012345" }),
      },
    ]);
    expect(await rowOf(otpId)).toEqual({ encrypted: false, claimed: true, sent: true });
  });

  test("is sent in the user's language", async () => {
    const phone = newPhone();
    await sql`insert into users (service_id, phone, locale) values (${newServiceId()}, ${phone}, 'en-GB')`;
    await run(await newOtp(phone));
    expect(gateway.received[0]?.body).toContain("Your login code: 012345");
  });

  test("is sent once although its job runs 10 times, concurrently and later", async () => {
    const otpId = await newOtp();
    await Promise.all(Array.from({ length: 9 }, () => run(otpId)));
    await run(otpId);
    expect(gateway.received).toHaveLength(1);
  });

  test("is not sent by a second run when the first was interrupted before it recorded the result", async () => {
    const otpId = await newOtp();
    await sql`update otp set claimed_at = now() where id = ${otpId}`;
    await run(otpId);
    expect(gateway.received).toHaveLength(0);
  });

  test.each([
    ["expired", (otpId: string) => sql`update otp set expires_at = now() where id = ${otpId}`],
    ["used", (otpId: string) => sql`update otp set used_at = now() where id = ${otpId}`],
    ["deleted", (otpId: string) => sql`delete from otp where id = ${otpId}`],
  ])("that is %s is not sent", async (_name, change) => {
    const otpId = await newOtp();
    await change(otpId);
    await run(otpId);
    expect(gateway.received).toHaveLength(0);
  });

  test("that was replaced is not sent, but the new one is", async () => {
    const phone = newPhone();
    const old = await newOtp(phone);
    const fresh = await newOtp(phone);
    await run(old);
    expect(gateway.received).toHaveLength(0);
    await run(fresh);
    expect(gateway.received).toHaveLength(1);
  });
});

describe("an SMS gateway", () => {
  test.each([400, 401, 429, 500, 503, 302] as const)(
    "that answers %d has not accepted the code, which is sent again",
    async (status) => {
      const otpId = await newOtp();
      gateway.answerWith(status);
      await expect(run(otpId)).rejects.toThrow(SmsRefused);
      expect(await rowOf(otpId)).toEqual({ encrypted: true, claimed: false, sent: false });
      await run(otpId);
      expect(gateway.received).toHaveLength(2);
      expect(await rowOf(otpId)).toEqual({ encrypted: false, claimed: true, sent: true });
    },
  );

  test("that refused until the code expired is not called again", async () => {
    const otpId = await newOtp();
    gateway.answerWith(503);
    await expect(run(otpId)).rejects.toThrow(SmsRefused);
    await sql`update otp set expires_at = now() where id = ${otpId}`;
    await run(otpId);
    expect(gateway.received).toHaveLength(1);
  });

  test.each([504, "drop"] as const)("that may have accepted the message (%s) is not called again", async (answer) => {
    const otpId = await newOtp();
    gateway.answerWith(answer);
    await expect(run(otpId)).rejects.toThrow(PermanentError);
    expect(await rowOf(otpId)).toEqual({ encrypted: false, claimed: true, sent: false });
    await run(otpId);
    expect(gateway.received).toHaveLength(1);
  });

  test("leaves neither phone nor code in an error", async () => {
    const phone = newPhone();
    gateway.answerWith(500, "drop");
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const error: unknown = await run(await newOtp(phone)).catch((thrown: unknown) => thrown);
      const shown = `${String(error)} ${JSON.stringify(error)} ${error instanceof Error ? error.stack : ""}`;
      expect(shown).not.toContain(phone);
      expect(shown).not.toContain(code);
    }
  });
});
