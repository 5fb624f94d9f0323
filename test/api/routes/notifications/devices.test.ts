import { createECDH, randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let anna: cast.Character;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
});

beforeEach(async () => {
  anna = await cast.user(client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const path = "/api/v1/notifications/devices";
const newToken = () => `fcm:${randomUUID()}`;
const register = (fields: Record<string, unknown> = {}, as = anna) =>
  as.client.post(path, { pushToken: newToken(), platform: "android", locale: "ru-RU", ...fields });
const list = async (as = anna) => (await as.client.get(path)).list;

const newSubscription = () => ({
  endpoint: `https://push.example.com/send/${randomUUID()}`,
  expirationTime: null,
  keys: {
    p256dh: createECDH("prime256v1").generateKeys("base64url"),
    auth: randomBytes(16).toString("base64url"),
  },
});

describe("devices", () => {
  test.each(["ios", "Android", "WEB"])("on %s are registered, listed and deleted", async (platform) => {
    const registered = await register({ platform });
    expect(registered.status).toBe(201);
    expect(registered.body).toEqual({ id: expect.any(String), platform: platform.toLowerCase(), locale: "ru-RU" });
    expect(await list()).toEqual([{ ...registered.body, createdAt: expect.any(String) }]);
    const one = `${path}/${registered.string("id")}`;
    expect(outcome(await (await cast.user(client)).client.delete(one))).toBe("404 NOT_FOUND");
    expect(outcome(await anna.client.delete(one))).toBe("204");
    expect(outcome(await anna.client.delete(one))).toBe("404 NOT_FOUND");
    expect(await list()).toEqual([]);
  });

  test("have the user's locale by default", async () => {
    await anna.client.put("/api/v1/users/me", { locale: "en-GB" });
    expect((await register({ locale: undefined })).body).toMatchObject({ locale: "en-GB" });
  });

  test("move to the user who registers them last", async () => {
    const boris = await cast.user(client);
    const pushToken = newToken();
    const first = await register({ pushToken });
    const again = await register({ pushToken, locale: "en-US" });
    expect([again.status, again.body]).toEqual([200, { ...first.body, locale: "en-US" }]);
    const moved = await register({ pushToken, platform: "ios" }, boris);
    expect([moved.status, moved.body["id"]]).toEqual([200, first.body["id"]]);
    expect(await list()).toEqual([]);
    expect(await list(boris)).toMatchObject([{ id: first.body["id"], platform: "ios" }]);
  });

  test("are not duplicated by 20 concurrent registrations", async () => {
    const pushToken = newToken();
    const replies = await Promise.all(Array.from({ length: 20 }, () => register({ pushToken })));
    expect(new Set(replies.map(({ body }) => body["id"])).size).toBe(1);
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
  });

  test("are limited to the 20 registered last", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 22; n += 1) ids.unshift((await register()).string("id"));
    expect((await list()).map(({ id }) => id)).toEqual(ids.slice(0, 20));
  });

  test("can be browsers with a Web Push subscription, identified by its endpoint", async () => {
    const subscription = newSubscription();
    const registered = await register({ platform: "web", pushToken: JSON.stringify(subscription) });
    expect(registered.status).toBe(201);
    const keys = newSubscription().keys;
    const renewed = { keys, endpoint: subscription.endpoint };
    expect((await register({ platform: "web", pushToken: JSON.stringify(renewed) })).body).toEqual(registered.body);
    expect(
      await sql`select address, p256dh, auth from devices where id = ${registered.string("id")}::uuid`,
    ).toMatchObject([{ address: subscription.endpoint, ...keys }]);
  });

  test("never show their token", async () => {
    const pushToken = newToken();
    const { text } = await register({ pushToken });
    expect(text + (await anna.client.get(path)).text).not.toContain(pushToken);
  });

  test.each([
    ["empty", ""],
    ["9 characters long", "a".repeat(9)],
    ["4,097 characters long", "a".repeat(4_097)],
    ["a text with spaces", "token with blanks"],
    ["a browser's subscription", JSON.stringify(newSubscription())],
    ["a text with NUL", "0123456789\u0000"],
  ])("with a token that is %s: 400 INVALID_PUSH_TOKEN", async (_case, pushToken) => {
    expect(outcome(await register({ pushToken }))).toBe("400 INVALID_PUSH_TOKEN");
    expect(await list()).toEqual([]);
  });

  test.each([
    ["another platform", { platform: "windows" }],
    ["no platform", { platform: undefined }],
    ["a token that is a number", { pushToken: 1234567890 }],
    ["no token", { pushToken: undefined }],
    ["a language as locale", { locale: "ru" }],
  ])("%s: 400 VALIDATION_ERROR", async (_case, fields) => {
    expect(outcome(await register(fields))).toBe("400 VALIDATION_ERROR");
  });
});
