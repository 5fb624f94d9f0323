import { generateKeyPairSync, randomUUID } from "node:crypto";
import { Agent } from "node:https";
import { connect } from "node:net";
import { inspect } from "node:util";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { initializeApp } from "firebase-admin/app";
import { getMessaging } from "firebase-admin/messaging";
import { fcmSender, replaceTransport } from "../../../lib/messaging/fcm.js";
import { accessTokens } from "../../../lib/messaging/google-tokens.js";
import { parseServiceAccount, type ServiceAccount } from "../../../lib/process/push-keys.js";
import { later } from "../../../lib/messaging/push-sender.js";
import { fcmRefusals, startFcm } from "../../support/push/fcm.js";
import { newMessage } from "../../support/push/message.js";

const fcm = await startFcm();

const accountWith = (changes: Record<string, unknown> = {}) => {
  const account = parseServiceAccount(JSON.stringify({ ...JSON.parse(fcm.serviceAccount), ...changes }));
  if (!account) throw new Error("no service account");
  return account;
};
const device = { address: "fGx1c2VyOmRldmljZQ:APA91bE-example_token", keys: null };

/** Longer than any answer takes; `SHORT_MS` is for those that never come. */
const LONG_MS = 60_000;
const SHORT_MS = 3_000;
const limitFor = (told: unknown) => (told === "hang" ? SHORT_MS : LONG_MS);

const sendFor = (account: ServiceAccount, timeoutMs = LONG_MS) => fcmSender(account, { url: fcm.url, timeoutMs });
/** A sender that has asked for no access token yet. */
const newSender = (timeoutMs = LONG_MS) => {
  const send = sendFor(accountWith(), timeoutMs);
  return (message = newMessage()) => send(device, message);
};

/** How many times FCM hears of a message while it is sent. */
async function attemptsOf<T>(sending: () => Promise<T>): Promise<{ outcome: T; attempts: number }> {
  const before = fcm.attempts();
  const outcome = await sending();
  return { outcome, attempts: fcm.attempts() - before };
}

beforeEach(() => {
  fcm.received.length = 0;
  fcm.answerWith();
  fcm.answerTokensWith();
  fcm.grantFor(3_599);
});

afterAll(() => fcm.stop());

test("a phone gets the message with what its app needs, and a later one takes its place on each platform", async () => {
  const send = newSender();
  const message = newMessage({ ttlSeconds: 60 });
  const before = Math.floor(Date.now() / 1_000);
  expect(await send(message)).toEqual({ result: "sent" });
  const [received] = fcm.received;
  expect(received).toEqual({
    token: device.address,
    notification: { title: message.title, body: message.body },
    data: { ...message.data, notificationId: message.notificationId, kind: message.kind },
    android: {
      collapse_key: message.collapseKey,
      ttl: "60s",
      priority: "high",
      notification: { tag: message.collapseKey },
    },
    apns: {
      headers: {
        "apns-collapse-id": message.collapseKey,
        "apns-expiration": expect.any(String),
        "apns-priority": "10",
      },
      payload: { aps: { sound: "default" } },
    },
    webpush: {
      headers: { TTL: "60", Urgency: "high", Topic: message.collapseKey },
      notification: { tag: message.collapseKey },
    },
  });
  const expires = Number(received?.apns?.headers?.["apns-expiration"]);
  expect(expires).toBeGreaterThanOrEqual(before + 60);
  expect(expires).toBeLessThanOrEqual(Math.ceil(Date.now() / 1_000) + 60);
});

test("what can wait says so", async () => {
  const send = newSender();
  await send(newMessage({ urgency: "low" }));
  expect(fcm.received).toMatchObject([
    { android: { priority: "normal" }, apns: { headers: { "apns-priority": "5" } } },
  ]);
});

test("a message that can be none is not sent, and does not stop others", async () => {
  const send = newSender();
  const { outcome, attempts } = await attemptsOf(() => send(newMessage({ ttlSeconds: -1 })));
  expect(outcome).toEqual({
    result: "refused",
    reason: "firebase-admin does not take the message (messaging/invalid-payload)",
  });
  expect(attempts).toBe(0);
  expect(await send()).toEqual({ result: "sent" });
});

test("senders side by side speak for their own projects", async () => {
  const [ours, theirs] = [sendFor(accountWith()), sendFor(accountWith({ project_id: "elsewhere" }))];
  expect(await Promise.all([ours, theirs].map((send) => send(device, newMessage())))).toEqual([
    { result: "sent" },
    { result: "unauthorized", reason: "FCM answered 403 PERMISSION_DENIED" },
  ]);
});

test("a library that keeps its HTTP client elsewhere is not sent with", () => {
  const messaging = getMessaging(initializeApp({ projectId: "marketplace" }, "changed"));
  const transport = { send: () => Promise.reject(new Error("not sent")) };
  Reflect.set(messaging, "messagingRequestHandler", { http2Client: {} });
  expect(() => replaceTransport(messaging, transport)).toThrow(/elsewhere/);
  Reflect.deleteProperty(messaging, "messagingRequestHandler");
  expect(() => replaceTransport(messaging, transport)).toThrow(/elsewhere/);
});

describe("the library by itself (where this fails after an upgrade, lib/README.md says what may go)", () => {
  /** Has it connect to the stand-in, without TLS, wherever it wants to. */
  class ToStandIn extends Agent {
    override createConnection = () => connect(Number(new URL(fcm.url).port), "127.0.0.1");
  }

  async function plainSend(): Promise<string> {
    const token = await accessTokens(accountWith(), 500).getAccessToken();
    const credential = { getAccessToken: () => Promise.resolve(token) };
    const settings = { credential, projectId: "marketplace", httpAgent: new ToStandIn() };
    return getMessaging(initializeApp(settings, randomUUID())).send({ token: device.address });
  }

  test("sends a message again when only the answer was lost", async () => {
    fcm.answerWith("drop");
    expect(await attemptsOf(plainSend)).toMatchObject({ attempts: 2 });
    expect(fcm.received).toHaveLength(2);
  });

  test("does not say how long FCM wants to be left alone", async () => {
    fcm.answerWith(fcmRefusals.quotaExceeded("4711"));
    const error = await plainSend().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("4711");
  });
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
    const send = newSender(limitFor(told));
    const before = fcm.tokenRequests();
    fcm.answerTokensWith(told);
    expect(await send()).toMatchObject({ result: "later", retryAfterSeconds });
    expect(fcm.tokenRequests()).toBe(before + 1);
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
    const { outcome, attempts } = await attemptsOf(send);
    expect(outcome).toMatchObject({ result: "later", retryAfterSeconds });
    expect(attempts).toBe(1);
    expect(fcm.received).toEqual([]);
  });

  test.each(["hang", "drop"] as const)("that does not come (%s): nobody knows, so it is sent once", async (told) => {
    const send = newSender(limitFor(told));
    fcm.answerWith(told);
    const { outcome, attempts } = await attemptsOf(send);
    expect(outcome).toMatchObject({ result: "unknown" });
    expect(attempts).toBe(1);
    expect(fcm.received).toHaveLength(1);
  });

  test.each([
    ["that FCM has it", { status: 200, body: '{"name":"projects/marke' }, { result: "sent" }],
    ["not now", fcmRefusals.unavailable("7"), later("FCM answered 503", 7)],
    ["a device that is gone", fcmRefusals.unregistered, { result: "unauthorized", reason: "FCM answered 404" }],
  ] as const)("cut off in the middle (%s) counts with what was heard of it", async (_case, told, outcome) => {
    const send = newSender();
    fcm.answerWith({ ...told, cut: true });
    expect(await attemptsOf(send)).toEqual({ outcome, attempts: 1 });
  });

  test("is read as far as FCM could have something to say", async () => {
    const send = newSender();
    const { body, ...gone } = fcmRefusals.unregistered;
    fcm.answerWith({ ...gone, body: `${body ?? ""}${" ".repeat(64 * 1_024)}` });
    expect(await attemptsOf(send)).toEqual({
      outcome: { result: "unauthorized", reason: "FCM answered 404" },
      attempts: 1,
    });
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
  const send = fcmSender(accountWith(), { url: "http://fcm.invalid", timeoutMs: LONG_MS });
  expect(await send(device, newMessage())).toMatchObject({ result: "later", retryAfterSeconds: null });
});
