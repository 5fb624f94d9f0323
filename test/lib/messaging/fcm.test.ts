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

/** Longer than any answer takes; `SHORT_MS` is for answers that never come. */
const LONG_MS = 60_000;
const SHORT_MS = 3_000;
const limitFor = (reaction: unknown) => (reaction === "hang" ? SHORT_MS : LONG_MS);

const sendFor = (account: ServiceAccount, timeoutMs = LONG_MS) => fcmSender(account, { url: fcm.url, timeoutMs });
/** A sender that has no access token yet. */
const newSender = (timeoutMs = LONG_MS) => {
  const send = sendFor(accountWith(), timeoutMs);
  return (message = newMessage()) => send(device, message);
};

/** The outcome of sending a message, and the number of requests to FCM. */
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

test("a phone gets the message with the app's data, and a later message replaces it on each platform", async () => {
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

test("a message that can wait has a low priority", async () => {
  const send = newSender();
  await send(newMessage({ urgency: "low" }));
  expect(fcm.received).toMatchObject([
    { android: { priority: "normal" }, apns: { headers: { "apns-priority": "5" } } },
  ]);
});

test("an invalid message is not sent, and does not affect others", async () => {
  const send = newSender();
  const { outcome, attempts } = await attemptsOf(() => send(newMessage({ ttlSeconds: -1 })));
  expect(outcome).toEqual({
    result: "refused",
    reason: "firebase-admin does not take the message (messaging/invalid-payload)",
  });
  expect(attempts).toBe(0);
  expect(await send()).toEqual({ result: "sent" });
});

test("concurrent senders use their own projects", async () => {
  const [ours, theirs] = [sendFor(accountWith()), sendFor(accountWith({ project_id: "elsewhere" }))];
  expect(await Promise.all([ours, theirs].map((send) => send(device, newMessage())))).toEqual([
    { result: "sent" },
    { result: "unauthorized", reason: "FCM answered 403 PERMISSION_DENIED" },
  ]);
});

test("a version of the library with another HTTP client is refused", () => {
  const messaging = getMessaging(initializeApp({ projectId: "marketplace" }, "changed"));
  const transport = { send: () => Promise.reject(new Error("not sent")) };
  Reflect.set(messaging, "messagingRequestHandler", { http2Client: {} });
  expect(() => replaceTransport(messaging, transport)).toThrow(/elsewhere/);
  Reflect.deleteProperty(messaging, "messagingRequestHandler");
  expect(() => replaceTransport(messaging, transport)).toThrow(/elsewhere/);
});

describe("the library itself (when this fails after an upgrade, lib/README.md says which workaround can go)", () => {
  /** Makes it connect to the stand-in, without TLS, whatever its target. */
  class ToStandIn extends Agent {
    override createConnection = () => connect(Number(new URL(fcm.url).port), "127.0.0.1");
  }

  async function plainSend(): Promise<string> {
    const token = await accessTokens(accountWith(), 500).getAccessToken();
    const credential = { getAccessToken: () => Promise.resolve(token) };
    const settings = { credential, projectId: "marketplace", httpAgent: new ToStandIn() };
    return getMessaging(initializeApp(settings, randomUUID())).send({ token: device.address });
  }

  test("repeats a message when only the answer was lost", async () => {
    fcm.answerWith("drop");
    expect(await attemptsOf(plainSend)).toMatchObject({ attempts: 2 });
    expect(fcm.received).toHaveLength(2);
  });

  test("hides how long FCM asks to wait", async () => {
    fcm.answerWith(fcmRefusals.quotaExceeded("4711"));
    const error = await plainSend().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("4711");
  });
});

describe("access tokens", () => {
  test("are shared by all messages", async () => {
    const send = newSender();
    const before = fcm.tokenRequests();
    await Promise.all([send(), send(), send()]);
    await send();
    expect(fcm.tokenRequests()).toBe(before + 1);
    expect(fcm.received).toHaveLength(4);
  });

  test("are renewed before they expire", async () => {
    const send = newSender();
    fcm.grantFor(200);
    const before = fcm.tokenRequests();
    expect(await send()).toEqual({ result: "sent" });
    expect(await send()).toEqual({ result: "sent" });
    expect(fcm.tokenRequests()).toBe(before + 2);
  });

  test("that are no longer valid are used once", async () => {
    const send = newSender();
    await send();
    fcm.revokeTokens();
    expect(await send()).toEqual({ result: "unauthorized", reason: "FCM answered 401 UNAUTHENTICATED" });
    expect(await send()).toEqual({ result: "sent" });
  });

  test("for a key that Google does not know are refused as the service's fault", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const stranger = accountWith({ private_key: privateKey.export({ type: "pkcs8", format: "pem" }) });
    expect(await sendFor(stranger)(device, newMessage())).toEqual({
      result: "unauthorized",
      reason: "Google answered 400 to the request for an access token",
    });
  });

  test.each([
    ["is down", { status: 503, headers: { "retry-after": "9" } }, 9],
    ["asks to wait", { status: 429 }, null],
    ["does not answer", "hang", null],
    ["breaks the connection", "drop", null],
    ["answers nonsense", { status: 200, body: "<html>" }, null],
  ] as const)("when Google %s, the message is sent later", async (_case, reaction, retryAfterSeconds) => {
    const send = newSender(limitFor(reaction));
    const before = fcm.tokenRequests();
    fcm.answerTokensWith(reaction);
    const outcome = await send();
    expect(outcome).toMatchObject({ result: "later", retryAfterSeconds });
    expect("silent" in outcome).toBe(typeof reaction === "string");
    expect(fcm.tokenRequests()).toBe(before + 1);
    expect(fcm.received).toEqual([]);
    expect(await send()).toEqual({ result: "sent" });
  });
});

describe("an answer", () => {
  test.each([
    ["an app that was removed", fcmRefusals.unregistered, "gone", "404 UNREGISTERED"],
    ["an invalid token", fcmRefusals.invalidToken, "gone", "400 INVALID_ARGUMENT"],
    ["an invalid token, by its message", fcmRefusals.invalidTokenInWords, "gone", "400 INVALID_ARGUMENT"],
    ["another invalid field", fcmRefusals.invalidField, "refused", "400 INVALID_ARGUMENT"],
    ["a message that is too large", fcmRefusals.tooLarge, "refused", "400 INVALID_ARGUMENT"],
    ["a token of another sender", fcmRefusals.senderIdMismatch, "unauthorized", "403 SENDER_ID_MISMATCH"],
    ["a missing permission", fcmRefusals.permissionDenied, "unauthorized", "403 PERMISSION_DENIED"],
    ["an invalid key for Apple", fcmRefusals.thirdPartyAuth, "unauthorized", "401 THIRD_PARTY_AUTH_ERROR"],
    ["a project that does not exist", fcmRefusals.noSuchProject, "unauthorized", "404 NOT_FOUND"],
    ["a 404 of another server", { status: 404, body: "<html>" }, "unauthorized", "404"],
    ["a redirect", { status: 302, headers: { location: "/elsewhere" } }, "refused", "302"],
  ] as const)("about %s", async (_case, reaction, result, words) => {
    const send = newSender();
    fcm.answerWith(reaction);
    expect(await send()).toEqual({ result, reason: `FCM answered ${words}` });
  });

  test.each([
    ["too many messages, with a time", fcmRefusals.quotaExceeded("30"), 30],
    ["too many messages", fcmRefusals.quotaExceeded(), 60],
    ["unavailable, with a time", fcmRefusals.unavailable(new Date(Date.now() - 5_000).toUTCString()), 0],
    ["unavailable", fcmRefusals.unavailable(), null],
    ["an internal error of Google", fcmRefusals.internal, null],
    ["a proxy's error page", fcmRefusals.badGateway, null],
  ] as const)("about %s: later, without an automatic retry", async (_case, reaction, retryAfterSeconds) => {
    const send = newSender();
    fcm.answerWith(reaction);
    const { outcome, attempts } = await attemptsOf(send);
    expect(outcome).toMatchObject({ result: "later", retryAfterSeconds });
    expect(attempts).toBe(1);
    expect(fcm.received).toEqual([]);
  });

  test.each(["hang", "drop"] as const)(
    "that does not come (%s) means that the message is not sent again, since it may have arrived",
    async (reaction) => {
      const send = newSender(limitFor(reaction));
      fcm.answerWith(reaction);
      const { outcome, attempts } = await attemptsOf(send);
      expect(outcome).toMatchObject({ result: "unknown", silent: true });
      expect(attempts).toBe(1);
      expect(fcm.received).toHaveLength(1);
    },
  );

  test.each([
    ["success", { status: 200, body: '{"name":"projects/marke' }, { result: "sent" }],
    ["unavailable", fcmRefusals.unavailable("7"), later("FCM answered 503", 7)],
    ["an unregistered device", fcmRefusals.unregistered, { result: "unauthorized", reason: "FCM answered 404" }],
  ] as const)("truncated (%s) counts with the part that arrived", async (_case, reaction, outcome) => {
    const send = newSender();
    fcm.answerWith({ ...reaction, cut: true });
    expect(await attemptsOf(send)).toEqual({ outcome, attempts: 1 });
  });

  test("is read up to a limited size", async () => {
    const send = newSender();
    const { body, ...gone } = fcmRefusals.unregistered;
    fcm.answerWith({ ...gone, body: `${body ?? ""}${" ".repeat(64 * 1_024)}` });
    expect(await attemptsOf(send)).toEqual({
      outcome: { result: "unauthorized", reason: "FCM answered 404" },
      attempts: 1,
    });
  });

  test("does not reveal the device, the text or the key in its reason", async () => {
    const send = newSender();
    const message = newMessage();
    fcm.answerWith({
      status: 400,
      body: JSON.stringify({ error: { status: device.address, message: `${message.title} ${device.address}` } }),
    });
    expect(await send()).toEqual({ result: "refused", reason: "FCM answered 400" });
  });
});

test("an unreachable FCM: later", async () => {
  const send = fcmSender(accountWith(), { url: "http://fcm.invalid", timeoutMs: LONG_MS });
  expect(await send(device, newMessage())).toMatchObject({ result: "later", silent: true });
});
