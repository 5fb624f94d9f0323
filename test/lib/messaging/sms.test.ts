import { createServer } from "node:net";
import { afterAll, afterEach, describe, expect, jest, test } from "@jest/globals";
import { pino } from "pino";
import { startSmsGateway } from "../../support/sms-gateway.js";

const gateway = await startSmsGateway();
const phone = "+79991234567";
const lines: string[] = [];
const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) });

const defaults = {
  SMS_SENDER: "http",
  SMS_HTTP_URL: gateway.url,
  SMS_HTTP_METHOD: "",
  SMS_HTTP_HEADERS: "",
  SMS_HTTP_BODY: "",
};

/** Imports the module with this configuration. */
async function smsWith(env: Partial<typeof defaults> = {}) {
  Object.assign(process.env, defaults, env);
  jest.resetModules();
  return import("../../../lib/messaging/sms.js");
}

/** A port where no server listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 1;
}

afterEach(() => {
  gateway.received.length = 0;
  gateway.answerWith();
  lines.length = 0;
});

afterAll(() => gateway.stop());

test("the text is short, in the user's language, and ends with the code", async () => {
  const { codeText } = await smsWith();
  expect(codeText("ru-RU", "012345")).toBe("Код для входа: 012345");
  expect(codeText("en-US", "012345")).toBe("Your login code: 012345");
  expect(codeText(null, "012345")).toBe("Код для входа: 012345");
  expect(codeText("kk-KZ", "012345")).toBe("Код для входа: 012345");
});

test("the log sender prints the message, so that one can log in without a gateway", async () => {
  const { sendSms } = await smsWith({ SMS_SENDER: "log", SMS_HTTP_URL: "" });
  await sendSms(phone, "Your login code: 012345", log);
  expect(lines.join("")).toContain(`SMS to ${phone}: Your login code: 012345`);
  expect(gateway.received).toHaveLength(0);
});

describe("the request to the gateway", () => {
  const hostile = `"\\ {phone} $& 'é\n&=+%`;

  test("escapes the text for JSON, and fills each placeholder once", async () => {
    const { sendSms } = await smsWith();
    await sendSms(phone, hostile, log);
    expect(JSON.parse(gateway.received[0]?.body ?? "")).toEqual({ to: phone, text: hostile });
    expect(lines).toHaveLength(0);
  });

  test("encodes the text for a form", async () => {
    const { sendSms } = await smsWith({
      SMS_HTTP_HEADERS: '{"Content-Type":"application/x-www-form-urlencoded; charset=utf-8","X-Key":"k"}',
      SMS_HTTP_BODY: "to={phone}&message={text}",
    });
    await sendSms(phone, hostile, log);
    expect([...new URLSearchParams(gateway.received[0]?.body)]).toEqual([
      ["to", phone],
      ["message", hostile],
    ]);
    expect(gateway.received[0]?.headers["x-key"]).toBe("k");
  });

  test("leaves the text unchanged in other bodies", async () => {
    const { sendSms } = await smsWith({
      SMS_HTTP_HEADERS: '{"Content-Type":"text/plain"}',
      SMS_HTTP_BODY: "{phone}: {text}",
    });
    await sendSms(phone, hostile, log);
    expect(gateway.received[0]?.body).toBe(`${phone}: ${hostile}`);
  });

  test("may carry everything in the URL", async () => {
    const { sendSms } = await smsWith({
      SMS_HTTP_METHOD: "GET",
      SMS_HTTP_URL: `${gateway.url}/send?to={phone}&text={text}`,
    });
    await sendSms(phone, hostile, log);
    const [{ method, url, body } = { method: "", url: "", body: "" }] = gateway.received;
    expect({ method, body }).toEqual({ method: "GET", body: "" });
    expect([...new URL(url, gateway.url).searchParams]).toEqual([
      ["to", phone],
      ["text", hostile],
    ]);
  });
});

test("every message uses its own connection", async () => {
  const { sendSms } = await smsWith();
  await sendSms(phone, "text", log);
  await sendSms(phone, "text", log);
  expect(gateway.received.map(({ headers }) => headers.connection)).toEqual(["close", "close"]);
});

describe("a message that was", () => {
  test.each([301, 400, 401, 403, 404, 429, 500, 502, 503] as const)("not accepted: status %d", async (status) => {
    const { sendSms, SmsRefused } = await smsWith();
    gateway.answerWith(status);
    await expect(sendSms(phone, "text", log)).rejects.toThrow(SmsRefused);
    expect(gateway.received).toHaveLength(1);
  });

  test("not accepted: no connection", async () => {
    const { sendSms, SmsRefused } = await smsWith({ SMS_HTTP_URL: `http://127.0.0.1:${await closedPort()}` });
    await expect(sendSms(phone, "text", log)).rejects.toThrow(SmsRefused);
  });

  test("not accepted: unknown host", async () => {
    const { sendSms, SmsRefused } = await smsWith({ SMS_HTTP_URL: "http://gateway.invalid" });
    await expect(sendSms(phone, "text", log)).rejects.toThrow(SmsRefused);
  });

  test("not accepted: a gateway without TLS", async () => {
    const { sendSms, SmsRefused } = await smsWith({ SMS_HTTP_URL: gateway.url.replace("http:", "https:") });
    await expect(sendSms(phone, "text", log)).rejects.toThrow(SmsRefused);
  });

  test.each(["drop", 504] as const)("possibly accepted: %s", async (answer) => {
    const { sendSms, SmsRefused } = await smsWith();
    gateway.answerWith(answer);
    const error: unknown = await sendSms(phone, "text", log).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(SmsRefused);
  });

  test("possibly accepted: no answer in time", async () => {
    const { sendSms, SmsRefused } = await smsWith();
    gateway.answerWith("hang");
    const error: unknown = await sendSms(phone, "text", log, 3_000).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain("TimeoutError");
    expect(error).not.toBeInstanceOf(SmsRefused);
    expect(gateway.received).toHaveLength(1);
  });
});
