import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { fcmSender } from "../../lib/fcm.js";
import { parseServiceAccount, type ServiceAccount } from "../../lib/push-keys.js";
import { fcmRefusals, startFcm } from "../support/push/fcm.js";
import { newMessage } from "../support/push/message.js";

const fcm = await startFcm();

const accountWith = (changes: Record<string, unknown> = {}) => {
  const account = parseServiceAccount(JSON.stringify({ ...JSON.parse(fcm.serviceAccount), ...changes }));
  if (!account) throw new Error("no service account");
  return account;
};
const device = { address: "fGx1c2VyOmRldmljZQ:APA91bE-example_token", keys: null };

const sendFor = (account: ServiceAccount) => fcmSender(account, { url: fcm.url, timeoutMs: 500 });
/** A sender that has asked for no access token yet. */
const newSender = () => {
  const send = sendFor(accountWith());
  return (message = newMessage()) => send(device, message);
};

beforeEach(() => {
  fcm.received.length = 0;
  fcm.answerWith();
  fcm.answerTokensWith();
  fcm.grantFor(3_599);
});

afterAll(() => fcm.stop());

test("a phone gets the message with what its app needs, and a later one takes its place on each platform", async () => {
  const send = newSender();
  const message = newMessage();
  const before = Math.floor(Date.now() / 1_000);
  expect(await send()).toEqual({ result: "sent" });
  const [received] = fcm.received;
  expect(received).toMatchObject({
    token: device.address,
    notification: { title: message.title, body: message.body },
    data: { ...message.data, notificationId: message.notificationId, kind: message.kind },
    android: {
      collapse_key: message.collapseKey,
      ttl: "3600s",
      priority: "HIGH",
      notification: { tag: message.collapseKey },
    },
    apns: { headers: { "apns-collapse-id": message.collapseKey, "apns-priority": "10" } },
    webpush: { headers: { TTL: "3600", Urgency: "high", Topic: message.collapseKey } },
  });
  const expires = Number(received?.apns?.headers?.["apns-expiration"]);
  expect(expires - before).toBeGreaterThanOrEqual(3_600);
  expect(expires - before).toBeLessThan(3_660);
});

test("what can wait says so", async () => {
  const send = newSender();
  await send(newMessage({ urgency: "low" }));
  expect(fcm.received).toMatchObject([
    { android: { priority: "NORMAL" }, apns: { headers: { "apns-priority": "5" } } },
  ]);
});

describe("access tokens", () => {
  test("one is shared by all messages", async () => {
    const send = newSender();
    const before = fcm.tokenRequests();
    await Promise.all([send(), send(), send()]);
    await send();
    expect(fcm.tokenRequests()).toBe(before + 1);
    expect(fcm.received).toHaveLength(4);
  });

  test("a new one is asked for before the old one expires", async () => {
    const send = newSender();
    fcm.grantFor(200);
    const before = fcm.tokenRequests();
    expect(await send()).toEqual({ result: "sent" });
    expect(await send()).toEqual({ result: "sent" });
    expect(fcm.tokenRequests()).toBe(before + 2);
  });

  test("one that is not good any more is used once", async () => {
    const send = newSender();
    await send();
    fcm.revokeTokens();
    expect(await send()).toEqual({ result: "unauthorized", reason: "FCM answered 401 UNAUTHENTICATED" });
    expect(await send()).toEqual({ result: "sent" });
  });

  test("a key that Google does not know is our fault", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const stranger = accountWith({ private_key: privateKey.export({ type: "pkcs8", format: "pem" }) });
    expect(await sendFor(stranger)(device, newMessage())).toEqual({
      result: "unauthorized",
      reason: "Google answered 400 to the request for an access token",
    });
  });

  test.each([
    ["down", { status: 503, headers: { "retry-after": "9" } }, 9],
    ["asking for patience", { status: 429 }, null],
    ["silent", "hang", null],
    ["cut off", "drop", null],
    ["talking nonsense", { status: 200, body: "<html>" }, null],
  ] as const)("Google is %s: the message is sent later", async (_case, told, retryAfterSeconds) => {
    const send = newSender();
    fcm.answerTokensWith(told);
    expect(await send()).toMatchObject({ result: "later", retryAfterSeconds });
    expect(fcm.received).toEqual([]);
    expect(await send()).toEqual({ result: "sent" });
  });
});

describe("an answer", () => {
  test.each([
    ["an app that was removed", fcmRefusals.unregistered, "gone", "404 UNREGISTERED"],
    ["a token that is none", fcmRefusals.invalidToken, "gone", "400 INVALID_ARGUMENT"],
    ["a token that is none, in words", fcmRefusals.invalidTokenInWords, "gone", "400 INVALID_ARGUMENT"],
    ["another field that is wrong", fcmRefusals.invalidField, "refused", "400 INVALID_ARGUMENT"],
    ["a message that is too large", fcmRefusals.tooLarge, "refused", "400 INVALID_ARGUMENT"],
    ["a token of another sender", fcmRefusals.senderIdMismatch, "unauthorized", "403 SENDER_ID_MISMATCH"],
    ["a missing permission", fcmRefusals.permissionDenied, "unauthorized", "403 PERMISSION_DENIED"],
    ["a wrong key for Apple", fcmRefusals.thirdPartyAuth, "unauthorized", "401 THIRD_PARTY_AUTH_ERROR"],
    ["a project that does not exist", fcmRefusals.noSuchProject, "unauthorized", "404 NOT_FOUND"],
    ["a 404 of somebody else", { status: 404, body: "<html>" }, "unauthorized", "404"],
    ["a redirect", { status: 302, headers: { location: "/elsewhere" } }, "refused", "302"],
  ] as const)("%s", async (_case, told, result, words) => {
    const send = newSender();
    fcm.answerWith(told);
    expect(await send()).toEqual({ result, reason: `FCM answered ${words}` });
  });

  test.each([
    ["too many messages, and until when", fcmRefusals.quotaExceeded("30"), 30],
    ["too many messages", fcmRefusals.quotaExceeded(), 60],
    ["not now, and until when", fcmRefusals.unavailable(new Date(Date.now() - 5_000).toUTCString()), 0],
    ["not now", fcmRefusals.unavailable(), null],
    ["a fault of theirs", fcmRefusals.internal, null],
    ["a page of a proxy", fcmRefusals.badGateway, null],
  ] as const)("%s: later, and not by itself", async (_case, told, retryAfterSeconds) => {
    const send = newSender();
    fcm.answerWith(told);
    expect(await send()).toMatchObject({ result: "later", retryAfterSeconds });
    expect(fcm.received).toEqual([]);
  });

  test.each(["hang", "drop"] as const)("that does not come (%s): nobody knows, so it is sent once", async (told) => {
    const send = newSender();
    fcm.answerWith(told);
    expect(await send()).toMatchObject({ result: "unknown" });
    expect(fcm.received).toHaveLength(1);
  });

  test("no reason tells of the device, the text or the key", async () => {
    const send = newSender();
    const message = newMessage();
    fcm.answerWith({
      status: 400,
      body: JSON.stringify({ error: { status: device.address, message: `${message.title} ${device.address}` } }),
    });
    expect(await send()).toEqual({ result: "refused", reason: "FCM answered 400" });
  });
});

test("FCM cannot be reached: later", async () => {
  const send = fcmSender(accountWith(), { url: "http://fcm.invalid", timeoutMs: 500 });
  expect(await send(device, newMessage())).toMatchObject({ result: "later", retryAfterSeconds: null });
});
