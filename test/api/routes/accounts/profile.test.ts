import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { isServiceId } from "../../../../lib/domain/service-id.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import { user, type Character } from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let anna: Character;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
  anna = await user(client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

describe("GET /users/me", () => {
  test("returns the caller's profile", async () => {
    const me = await anna.client.get("/api/v1/users/me");
    expect(me.status).toBe(200);
    expect(me.body).toEqual({
      id: anna.id,
      serviceId: expect.any(String),
      phone: anna.phone,
      firstName: null,
      lastName: null,
      email: null,
      avatarUrl: null,
      locale: "ru-RU",
      timezone: "Europe/Moscow",
      active: true,
    });
  });

  test("requires a valid token", async () => {
    for (const token of [null, "", "x.y.z"]) {
      expect(outcome(await client.as(token).get("/api/v1/users/me"))).toBe("401 UNAUTHORIZED");
    }
  });

  test("refuses a deleted account at once, although its token has not expired", async () => {
    const boris = await user(client);
    await sql`update users set deleted_at = now() where id = ${boris.id}::uuid`;
    expect(outcome(await boris.client.get("/api/v1/users/me"))).toBe("401 UNAUTHORIZED");
    expect(outcome(await boris.client.get("/api/v1/users/me/service-id"))).toBe("401 UNAUTHORIZED");
    expect(outcome(await boris.client.put("/api/v1/users/me", { firstName: "Борис" }))).toBe("401 UNAUTHORIZED");
  });
});

describe("PUT /users/me", () => {
  test("changes the given fields and keeps the rest", async () => {
    const vera = await user(client);
    const first = await vera.client.put("/api/v1/users/me", {
      firstName: "Вера",
      lastName: "Павлова",
      locale: "en-GB",
    });
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({ id: vera.id, firstName: "Вера", lastName: "Павлова", locale: "en-GB" });
    const second = await vera.client.put("/api/v1/users/me", {
      lastName: " Розальская ",
      email: "vera@example.com",
      timezone: "Asia/Vladivostok",
    });
    expect(second.body).toMatchObject({ firstName: "Вера", lastName: "Розальская", locale: "en-GB" });
    expect((await vera.client.get("/api/v1/users/me")).body).toMatchObject({
      firstName: "Вера",
      lastName: "Розальская",
      email: "vera@example.com",
      timezone: "Asia/Vladivostok",
      locale: "en-GB",
    });
    expect((await anna.client.get("/api/v1/users/me")).body).toMatchObject({ firstName: null });
  });

  test("takes the profile as it was read, and null clears a field", async () => {
    const rita = await user(client);
    await rita.client.put("/api/v1/users/me", { firstName: "Рита", email: "rita@example.com" });
    const read = (await rita.client.get("/api/v1/users/me")).body;
    expect((await rita.client.put("/api/v1/users/me", read)).body).toEqual(read);
    const cleared = await rita.client.put("/api/v1/users/me", { email: null, lastName: "Зелёная" });
    expect(cleared.body).toEqual({ ...read, email: null, lastName: "Зелёная" });
    expect((await rita.client.put("/api/v1/users/me", { firstName: null, lastName: null })).body).toMatchObject({
      firstName: null,
      lastName: null,
    });
  });

  test("ignores fields that users may not change", async () => {
    const gleb = await user(client);
    const reply = await gleb.client.put("/api/v1/users/me", {
      firstName: "Глеб",
      id: anna.id,
      phone: "+79990001122",
      serviceId: "SF-00000000",
      isAdmin: true,
      is_admin: true,
      active: false,
      __proto__: { isAdmin: true },
    });
    expect(reply.body).toMatchObject({ id: gleb.id, phone: gleb.phone, active: true });
    const [row] =
      await sql`select is_admin as "isAdmin", deleted_at as "deletedAt" from users where id = ${gleb.id}::uuid`;
    expect(row).toEqual({ isAdmin: false, deletedAt: null });
  });

  test.each([
    ["an empty body", {}],
    ["only unknown fields", { nickname: "x" }],
    ["an empty name", { firstName: " " }],
    ["too long a name", { lastName: "я".repeat(101) }],
    ["a name with NUL", { firstName: "a\u0000b" }],
    ["a name with half a character", { firstName: "\ud800" }],
    ["a name that is a number", { firstName: 1 }],
    ["a null locale", { locale: null }],
    ["a language without a region", { locale: "ru" }],
    ["another form of locale", { locale: "RU-ru" }],
    ["an invalid e-mail address", { email: "vera" }],
    ["an unknown time zone", { timezone: "Mars/Olympus" }],
    ["an offset instead of a time zone", { timezone: "+03:00" }],
    ["one valid and one invalid field", { firstName: "Вера", locale: "x" }],
    ["an array", []],
  ])("%s: 400 VALIDATION_ERROR", async (_name, body) => {
    expect(outcome(await anna.client.put("/api/v1/users/me", body))).toBe("400 VALIDATION_ERROR");
  });
});

test("GET /users/me/service-id returns the public identifier", async () => {
  const reply = await anna.client.get("/api/v1/users/me/service-id");
  expect(reply.body).toEqual({ serviceId: expect.any(String) });
  expect(isServiceId(reply.string("serviceId"))).toBe(true);
  expect((await anna.client.get("/api/v1/users/me")).body["serviceId"]).toBe(reply.body["serviceId"]);
});
