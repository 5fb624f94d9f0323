import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let admin: cast.Character;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
  admin = await cast.admin(client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const path = "/api/v1/admin/api-keys";
const make = (body: object) => admin.client.post(path, body);
const banners = (key: string) => client.as(key).get("/api/v1/ads/banners?placement=home-top");

describe("service keys", () => {
  test("are shown once, stored as a digest, and listed without the key", async () => {
    const made = await make({ name: "Приложение", scopes: ["ads:read", "geo:write", "ads:read"] });
    const key = made.string("key");
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.any(String),
      name: "Приложение",
      scopes: ["ads:read", "geo:write"],
      key: expect.stringMatching(/^sfk_[\w-]{43}$/),
    });
    const listed = await admin.client.get(path);
    expect(listed.list[0]).toEqual({
      id: made.body["id"],
      name: "Приложение",
      scopes: ["ads:read", "geo:write"],
      createdAt: expect.any(String),
    });
    const rows = await sql`select k::text as row from api_keys k union all select a::text from audit_events a`;
    expect(listed.text + JSON.stringify(rows)).not.toContain(key.slice(4));
  });

  test("give access to their scopes until they are revoked", async () => {
    const made = await make({ name: "Баннеры", scopes: ["ads:read"] });
    const key = made.string("key");
    expect(outcome(await banners(key))).toBe("200");
    expect(outcome(await client.as(key).get("/api/v1/users/me"))).toBe("401 UNAUTHORIZED");
    const one = `${path}/${made.string("id")}`;
    expect(outcome(await admin.client.delete(one))).toBe("204");
    expect(outcome(await banners(key))).toBe("401 UNAUTHORIZED");
    expect(outcome(await admin.client.delete(one))).toBe("404 NOT_FOUND");
  });

  test("are refused when a character differs", async () => {
    const key = (await make({ name: "Баннеры", scopes: ["ads:read"] })).string("key");
    for (const changed of [key.slice(0, -1), `${key}A`, key.toUpperCase(), `sfk_${"A".repeat(43)}`, "sfk_"]) {
      expect(outcome(await banners(changed))).toBe("401 UNAUTHORIZED");
    }
  });

  test("are not recorded as the actor of a partner's move", async () => {
    const bakery = await cast.bakery(client);
    const key = (await make({ name: "Карта", scopes: ["geo:write"] })).string("key");
    const place = { partnerId: bakery.id, latitude: 55.8, longitude: 37.7 };
    expect(outcome(await client.as(key).post("/api/v1/geo/internal/locations", place))).toBe("200");
    expect((await client.get(`/api/v1/partners/${bakery.id}`)).body).toMatchObject({ latitude: 55.8, longitude: 37.7 });
    expect(
      await sql`select actor_id from audit_events where subject_id = ${bakery.id}::uuid and action = 'PARTNER_LOCATION'`,
    ).toMatchObject([{ actorId: null }]);
  });

  test("are audited when created and revoked", async () => {
    const id = (await make({ name: "На время", scopes: ["ads:read"] })).string("id");
    await admin.client.delete(`${path}/${id}`);
    expect(
      await sql`select action, actor_id from audit_events where subject_id = ${id}::uuid order by id`,
    ).toMatchObject([
      { action: "API_KEY_MADE", actorId: admin.id },
      { action: "API_KEY_REVOKED", actorId: admin.id },
    ]);
  });

  test.each([
    ["no name", { name: "" }],
    ["no scopes", { scopes: [] }],
    ["an unknown scope", { scopes: ["orders:write"] }],
    ["scopes that are not a list", { scopes: "ads:read" }],
  ])("%s: 400 VALIDATION_ERROR", async (_case, fields) => {
    expect(outcome(await make({ name: "Ключ", scopes: ["ads:read"], ...fields }))).toBe("400 VALIDATION_ERROR");
  });
});
