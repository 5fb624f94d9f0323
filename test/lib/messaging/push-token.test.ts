import { createECDH, randomBytes } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { parsePushToken } from "../../../lib/messaging/push-token.js";

const keys = () => ({
  p256dh: createECDH("prime256v1").generateKeys("base64url"),
  auth: randomBytes(16).toString("base64url"),
});
const endpoint = "https://push.example.com/send/1";
const web = (subscription: unknown) => parsePushToken("web", JSON.stringify(subscription));

describe("a push token", () => {
  test("of FCM has 10 to 4,096 permitted characters, on every platform", () => {
    const allowed = "abcXYZ0189:_-.".split("");
    const token = (minLength: number, maxLength: number) =>
      fc.string({ unit: fc.constantFrom(...allowed), minLength, maxLength });
    fc.assert(
      fc.property(fc.constantFrom("ios", "android", "web"), token(10, 4_096), (platform, sent) => {
        expect(parsePushToken(platform, sent)).toEqual({ address: sent, keys: null });
      }),
    );
    fc.assert(fc.property(token(0, 9), (sent) => expect(parsePushToken("ios", sent)).toBeNull()));
    const foreign = fc.tuple(token(5, 20), fc.constantFrom(" ", "/", "\n", "\u0000", "ё", "{", "+", "="), token(5, 20));
    fc.assert(fc.property(foreign, (parts) => expect(parsePushToken("ios", parts.join(""))).toBeNull()));
  });

  test("of a browser is its subscription, in either form of base64", () => {
    const { p256dh, auth } = keys();
    const expected = { address: endpoint, keys: { p256dh, auth } };
    expect(web({ endpoint, keys: { p256dh, auth } })).toEqual(expected);
    const padded = (text: string) => Buffer.from(text, "base64url").toString("base64");
    expect(web({ endpoint, expirationTime: 1, keys: { p256dh: padded(p256dh), auth: padded(auth) } })).toEqual(
      expected,
    );
    expect(parsePushToken("ios", JSON.stringify({ endpoint, keys: { p256dh, auth } }))).toBeNull();
  });

  const { p256dh, auth } = keys();
  const offCurve = Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1)]).toString("base64url");
  test.each([
    ["no keys", { endpoint }],
    ["no endpoint", { keys: { p256dh, auth } }],
    ["http", { endpoint: "http://push.example.com/1", keys: { p256dh, auth } }],
    ["a password", { endpoint: "https://a:b@push.example.com/1", keys: { p256dh, auth } }],
    ["no host", { endpoint: "https://", keys: { p256dh, auth } }],
    ["too long a URL", { endpoint: endpoint + "x".repeat(2_048), keys: { p256dh, auth } }],
    ["a point off the curve", { endpoint, keys: { p256dh: offCurve, auth } }],
    ["a short point", { endpoint, keys: { p256dh: p256dh.slice(0, 80), auth } }],
    ["a short secret", { endpoint, keys: { p256dh, auth: auth.slice(0, 16) } }],
    ["an empty secret", { endpoint, keys: { p256dh, auth: "" } }],
    ["null", null],
    ["a list", [endpoint]],
  ])("of a browser with %s is refused", (_case, subscription) => {
    expect(web(subscription)).toBeNull();
  });

  test("of a browser without TLS is accepted where that is allowed", () => {
    const local = JSON.stringify({ endpoint: "http://127.0.0.1:8080/1", keys: { p256dh, auth } });
    expect(parsePushToken("web", local)).toBeNull();
    expect(parsePushToken("web", local, { allowHttp: true })).toMatchObject({ address: "http://127.0.0.1:8080/1" });
    const other = JSON.stringify({ endpoint: "ftp://127.0.0.1/1", keys: { p256dh, auth } });
    expect(parsePushToken("web", other, { allowHttp: true })).toBeNull();
  });

  test("of any form is accepted or refused, and never crashes", () => {
    fc.assert(
      fc.property(fc.constantFrom("ios", "android", "web"), fc.oneof(fc.string(), fc.json()), (platform, sent) => {
        parsePushToken(platform, sent);
      }),
    );
  });
});
