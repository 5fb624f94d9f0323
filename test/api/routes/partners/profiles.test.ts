import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { outcome, startApi, type Client } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const profile = cast.bakeryProfile;
const unknownId = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";

describe("GET /partners/{id}", () => {
  test("is public, with an ETag that saves the second transfer", async () => {
    const { id } = await cast.bakery(client);
    const read = await client.get(`/api/v1/partners/${id}`);
    expect(read.body).toEqual({
      id,
      ...profile,
      openingHours: [],
      status: "ACTIVE",
      slug: expect.any(String),
      description: null,
    });
    const etag = read.headers.get("etag") ?? "";
    const again = await client.get(`/api/v1/partners/${id}`, {
      headers: { "if-none-match": `"another", ${etag.replace("W/", "")}` },
    });
    expect([etag !== "", again.status, again.text]).toEqual([true, 304, ""]);
  });

  test("shows partners that have ever been active, and no others", async () => {
    const seen = async (status: "PENDING_REVIEW" | "REJECTED" | "SUSPENDED") => {
      const { id } = await cast.bakery(client, status);
      return outcome(await client.get(`/api/v1/partners/${id}`));
    };
    expect([await seen("PENDING_REVIEW"), await seen("REJECTED"), await seen("SUSPENDED")]).toEqual([
      "404 NOT_FOUND",
      "404 NOT_FOUND",
      "200",
    ]);
  });

  test.each([unknownId, "7", "me2", "%20", "00000000-0000-0000-0000-00000000000g"])("%s: 404 NOT_FOUND", async (id) => {
    expect(outcome(await client.get(`/api/v1/partners/${id}`))).toBe("404 NOT_FOUND");
  });
});

describe("PUT /partners/me", () => {
  test("changes the given fields and keeps the rest and the slug", async () => {
    const { id, owner } = await cast.bakery(client);
    const before = (await owner.client.get("/api/v1/partners/me")).body;
    const changed = await owner.client.put("/api/v1/partners/me", {
      name: "Новое имя",
      cityId: "tula",
      email: "a@b.ru",
    });
    expect(changed.status).toBe(200);
    expect(changed.body).toEqual({ ...before, name: "Новое имя", cityId: "tula", email: "a@b.ru" });
    const rest = {
      address: "Мира, 2",
      latitude: 54.2,
      longitude: 37.6,
      phone: "+79990001133",
      description: "Пироги",
      timezone: "Asia/Omsk",
      preparationMinutes: 45,
      openingHours: [
        { day: 1, opens: "08:00", closes: "13:00" },
        { day: 1, opens: "14:00", closes: "24:00" },
      ],
    };
    expect((await owner.client.put("/api/v1/partners/me", rest)).body).toEqual({ ...changed.body, ...rest });
    expect((await owner.client.get("/api/v1/partners/me")).body).toEqual({ ...changed.body, ...rest });
    expect((await client.get(`/api/v1/partners/${id}`)).body).toMatchObject({
      name: "Новое имя",
      address: "Мира, 2",
      openingHours: rest.openingHours,
    });
    expect((await owner.client.put("/api/v1/partners/me", { openingHours: [] })).body["openingHours"]).toEqual([]);
  });

  test("takes the profile as it was read, and null clears a field", async () => {
    const { owner } = await cast.bakery(client);
    await owner.client.put("/api/v1/partners/me", {
      description: "Хлеб",
      email: "bakery@example.com",
      phone: "+79990001122",
    });
    const read = (await owner.client.get("/api/v1/partners/me")).body;
    expect((await owner.client.put("/api/v1/partners/me", { ...read, email: null })).body).toEqual({
      ...read,
      email: null,
    });
    const rest = { description: null, phone: null };
    expect((await owner.client.put("/api/v1/partners/me", rest)).body).toEqual({ ...read, email: null, ...rest });
  });

  test("a new phone is a contact and makes no user an owner", async () => {
    const { id, owner } = await cast.bakery(client);
    await owner.client.put("/api/v1/partners/me", { phone: cast.newPhone() });
    expect(await sql`select owner_id, owner_phone from partners where id = ${id}::uuid`).toMatchObject([
      { ownerId: owner.id, ownerPhone: null },
    ]);
  });

  test.each([
    ["an empty body", {}],
    ["only unknown fields", { status: "ACTIVE", slug: "mine" }],
    ["an empty name", { name: "" }],
    ["a null name", { name: null }],
    ["half a minute of preparation", { preparationMinutes: 0.5 }],
    ["two days of preparation", { preparationMinutes: 2_880 }],
    ["hours of day 0", { openingHours: [{ day: 0, opens: "08:00", closes: "20:00" }] }],
    ["hours that open at 24:00", { openingHours: [{ day: 1, opens: "24:00", closes: "24:00" }] }],
    ["hours that close before they open", { openingHours: [{ day: 1, opens: "20:00", closes: "08:00" }] }],
  ])("%s: 400 VALIDATION_ERROR", async (_case, changes) => {
    const { owner } = await cast.bakery(client);
    expect(outcome(await owner.client.put("/api/v1/partners/me", changes))).toBe("400 VALIDATION_ERROR");
  });

  test.each(["PENDING_REVIEW", "REJECTED", "SUSPENDED"] as const)("is allowed to a %s partner", async (status) => {
    const { owner } = await cast.bakery(client, status);
    expect((await owner.client.put("/api/v1/partners/me", { description: "Скоро" })).body).toMatchObject({ status });
  });
});

test.each([
  ["PENDING_REVIEW", false],
  ["ACTIVE", true],
  ["REJECTED", false],
  ["SUSPENDED", false],
] as const)("GET /partners/me/status of a %s partner: active is %s", async (status, active) => {
  const { owner } = await cast.bakery(client, status);
  const read = await owner.client.get("/api/v1/partners/me/status");
  expect([read.status, read.body]).toEqual([200, { status, active }]);
});

test("a partner's staff acts for it as the owner does", async () => {
  const { id } = await cast.bakery(client);
  const clerk = await cast.user(client);
  expect(outcome(await clerk.client.get("/api/v1/partners/me"))).toBe("403 FORBIDDEN");
  await sql`insert into partner_staff (user_id, partner_id) values (${clerk.id}::uuid, ${id}::uuid)`;
  expect((await clerk.client.get("/api/v1/partners/me")).body).toMatchObject({ id });
  expect((await clerk.client.put("/api/v1/partners/me", { name: "От продавца" })).status).toBe(200);
});
