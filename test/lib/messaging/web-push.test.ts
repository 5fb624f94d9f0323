import { createECDH } from "node:crypto";
import { createServer } from "node:net";
import { afterAll, afterEach, describe, expect, jest, test } from "@jest/globals";
import type { PushMessage } from "../../../lib/messaging/push-sender.js";
import { newVapidKeys } from "../../../lib/process/push-keys.js";
import type { PushAddress } from "../../../lib/messaging/push-token.js";
import { decrypt } from "../../../scripts/demo/browser.js";
import { newMessage } from "../../support/push/message.js";
import type { Reaction } from "../../support/push/service.js";
import { startWebPush } from "../../support/push/web-push.js";

const service = await startWebPush();
const { VAPID_PUBLIC_KEY: publicKey, VAPID_PRIVATE_KEY: privateKey } = newVapidKeys();
const vapid = { publicKey, privateKey, subject: "mailto:push@example.com" };

/** Imports the sender with or without access to private addresses. */
async function senderWith(allowed: "1" | "", timeoutMs = 60_000) {
  process.env["ALLOW_PRIVATE_ADDRESSES"] = allowed;
  jest.resetModules();
  const { webPushSender } = await import("../../../lib/messaging/web-push.js");
  return webPushSender(vapid, { timeoutMs });
}

const strict = await senderWith("");
const send = await senderWith("1");
/** For answers that never come. */
const hasty = await senderWith("1", 3_000);

const sent = (device: PushAddress, message: PushMessage = newMessage()) => send(device, message);

/** A port where no server listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 1;
}

afterEach(() => {
  service.shown.length = 0;
  service.refused.length = 0;
  service.answerWith();
});

afterAll(() => service.stop());

test("the stand-in browser decrypts the example of RFC 8291", () => {
  const ecdh = createECDH("prime256v1");
  ecdh.setPrivateKey("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94", "base64url");
  const auth = Buffer.from("BTBZMqHH6r4Tts7J_aSIgg", "base64url");
  const body =
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
  expect(decrypt({ ecdh, auth }, Buffer.from(body, "base64url"))).toBe("When I grow up, I want to be a watermelon");
});

test("a browser shows the message as it was sent, with the app's data", async () => {
  const device = service.subscribe(publicKey);
  const message = newMessage();
  expect(await sent(device, message)).toEqual({ result: "sent" });
  expect(service.shown).toEqual([
    {
      subscription: device.address,
      title: message.title,
      body: message.body,
      tag: message.collapseKey,
      data: { ...message.data, notificationId: message.notificationId, kind: message.kind },
      ttl: 3_600,
      urgency: "high",
      topic: message.collapseKey,
    },
  ]);
});

describe("a message with", () => {
  // header, padding delimiter and tag take 103 of the 4,096 bytes
  const filled = (bytes: number) => {
    const empty = Buffer.byteLength(
      JSON.stringify({
        title: "",
        body: "",
        tag: newMessage().collapseKey,
        data: { ...newMessage().data, notificationId: newMessage().notificationId, kind: newMessage().kind },
      }),
    );
    return newMessage({
      title: "",
      body: "я".repeat(Math.floor((bytes - empty) / 2)) + "a".repeat((bytes - empty) % 2),
    });
  };

  test("the maximum size is sent", async () => {
    expect(await sent(service.subscribe(publicKey), filled(3_993))).toEqual({ result: "sent" });
    expect(service.refused).toEqual([]);
  });

  test("one byte more is refused before it is sent", async () => {
    const before = service.attempts();
    expect(await sent(service.subscribe(publicKey), filled(3_994))).toEqual({
      result: "refused",
      reason: "the message has 3994 bytes, of at most 3993",
    });
    expect(service.attempts()).toBe(before);
  });
});

test("a message to an ended subscription reports the device as gone", async () => {
  const device = service.subscribe(publicKey);
  service.unsubscribe(device.address);
  expect(await sent(device)).toMatchObject({ result: "gone" });
});

test("a subscription with another server key does not report the device as gone", async () => {
  expect(await sent(service.subscribe(newVapidKeys().VAPID_PUBLIC_KEY))).toMatchObject({ result: "unauthorized" });
  expect(service.refused).toEqual(["not the key of the subscription"]);
});

describe("an answer of the push service", () => {
  const inAMinute = new Date(Date.now() + 60_000).toUTCString();
  const answered = (status: number, headers = {}): Reaction => ({ status, headers });

  test.each([
    [200, { result: "sent" }],
    [202, { result: "sent" }],
    [204, { result: "sent" }],
    [301, { result: "refused" }],
    [307, { result: "refused" }],
    [400, { result: "refused" }],
    [401, { result: "unauthorized" }],
    [403, { result: "unauthorized" }],
    [404, { result: "gone" }],
    [408, { result: "later", retryAfterSeconds: null }],
    [410, { result: "gone" }],
    [413, { result: "refused" }],
    [429, { result: "later", retryAfterSeconds: null }],
    [500, { result: "later", retryAfterSeconds: null }],
    [502, { result: "later", retryAfterSeconds: null }],
    [503, { result: "later", retryAfterSeconds: null }],
  ])("%d", async (status, outcome) => {
    service.answerWith(answered(status, status < 400 ? { location: "/elsewhere" } : {}));
    const before = service.attempts();
    const found = await sent(service.subscribe(publicKey));
    expect(found).toMatchObject(outcome);
    if (found.result !== "sent") expect(found.reason).toBe(`the push service answered ${status}`);
    expect(service.attempts()).toBe(before + 1);
  });

  test.each([
    [429, "17", 17],
    [503, "17", 17],
    [503, "99999999", 86_400],
  ])("with status %d and Retry-After: %s asks to wait that many seconds", async (status, header, retryAfterSeconds) => {
    service.answerWith(answered(status, { "retry-after": header }));
    expect(await sent(service.subscribe(publicKey))).toMatchObject({ result: "later", retryAfterSeconds });
  });

  test("may ask to wait until a date", async () => {
    service.answerWith(answered(429, { "retry-after": inAMinute }));
    const outcome = await sent(service.subscribe(publicKey));
    const seconds = outcome.result === "later" ? (outcome.retryAfterSeconds ?? 0) : 0;
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  test.each(["hang", "drop"] as const)(
    "that does not come (%s) means that the message is not sent again, since it may have arrived",
    async (reaction) => {
      service.answerWith(reaction);
      const before = service.attempts();
      expect(await hasty(service.subscribe(publicKey), newMessage())).toMatchObject({
        result: "unknown",
        silent: true,
      });
      expect(service.attempts()).toBe(before + 1);
    },
  );
});

describe("a message is sent later when the push service", () => {
  const { keys } = service.subscribe(publicKey);
  test("refuses connections", async () => {
    expect(await sent({ address: `http://127.0.0.1:${await closedPort()}/send/1`, keys })).toMatchObject({
      result: "later",
    });
  });
  test("has an unknown name", async () => {
    expect(await sent({ address: "https://push.invalid/send/1", keys })).toMatchObject({ result: "later" });
  });
  test("has no TLS", async () => {
    expect(await sent({ address: `${service.url.replace("http:", "https:")}/send/1`, keys })).toMatchObject({
      result: "later",
    });
  });
});

describe("a private address is never called:", () => {
  const port = new URL(service.url).port;
  test.each([
    `https://127.0.0.1:${port}/`,
    `https://[::1]:${port}/`,
    `https://[::ffff:127.0.0.1]:${port}/`,
    `https://0x7f000001:${port}/`,
    `https://2130706433:${port}/`,
    "https://169.254.169.254/latest/meta-data",
    "https://10.0.0.1/",
    "https://[fd00::1]/",
  ])("%s", async (address) => {
    const before = service.attempts();
    const { keys } = service.subscribe(publicKey);
    expect(await strict({ address, keys }, newMessage())).toEqual({
      result: "refused",
      reason: "the address is not a public one",
    });
    expect(service.attempts()).toBe(before);
  });

  test("a name that resolves to one is as good as unknown", async () => {
    const before = service.attempts();
    const { keys } = service.subscribe(publicKey);
    const [local, unknown] = await Promise.all(
      [`https://localhost:${port}/`, "https://push.invalid/"].map((address) => strict({ address, keys }, newMessage())),
    );
    expect(local).toEqual(unknown);
    expect(service.attempts()).toBe(before);
  });

  test("an address without TLS", async () => {
    const { keys } = service.subscribe(publicKey);
    expect(await strict({ address: "http://push.example.com/1", keys }, newMessage())).toEqual({
      result: "refused",
      reason: "the address is not https",
    });
  });
});
