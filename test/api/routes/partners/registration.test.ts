import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql, transaction } from "../../../../sql/db.js";
import { insertPartner } from "../../../../sql/queries/partners.js";
import { outcome, startApi, type Client } from "../../../support/api.js";
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

const profile = cast.bakeryProfile;
const newPartner = {
  ...profile,
  cityTimezone: "Europe/Moscow",
  phone: null,
  email: null,
  description: null,
  timezone: null,
  ownerId: null,
  ownerPhone: null,
};
const unknownId = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";

const register = (fields: Record<string, unknown> = {}) =>
  client.post("/api/v1/partners/register", { ...profile, ...fields });

describe("POST /partners/register", () => {
  test("works without a token: the partner waits for review and has a slug", async () => {
    const registered = await register({ name: "Пекарня Ёлка" });
    expect(registered.status).toBe(201);
    expect(registered.body).toEqual({ id: expect.any(String), status: "PENDING_REVIEW", slug: "pekarnya-yolka" });
    expect(registered.headers.get("location")).toBe(`/api/v1/partners/${registered.string("id")}`);
    expect(
      await sql`
        select name, city_id, address, latitude, longitude, status, owner_id, owner_phone, activated_at
        from partners where id = ${registered.string("id")}::uuid`,
    ).toMatchObject([
      {
        name: "Пекарня Ёлка",
        cityId: profile.cityId,
        address: profile.address,
        latitude: profile.latitude,
        longitude: profile.longitude,
        status: "PENDING_REVIEW",
        ownerId: null,
        ownerPhone: null,
        activatedAt: null,
      },
    ]);
  });

  test("with a user's token makes that user the owner at once", async () => {
    const owner = await cast.user(client);
    const registered = await owner.client.post("/api/v1/partners/register", { ...profile, phone: cast.newPhone() });
    expect(registered.status).toBe(201);
    expect((await owner.client.get("/api/v1/partners/me")).body["id"]).toBe(registered.string("id"));
    expect((await owner.client.get("/api/v1/partners/me/status")).body).toEqual({
      status: "PENDING_REVIEW",
      active: false,
    });
    expect(
      await sql`select owner_id, owner_phone from partners where id = ${registered.string("id")}::uuid`,
    ).toMatchObject([{ ownerId: owner.id, ownerPhone: null }]);
  });

  test("with a phone and no token makes the next user who logs in with it the owner", async () => {
    const phone = cast.newPhone();
    const id = (await register({ phone })).string("id");
    expect(await sql`select owner_id, owner_phone, phone from partners where id = ${id}::uuid`).toMatchObject([
      { ownerId: null, ownerPhone: phone, phone },
    ]);
  });

  test("stores the optional fields", async () => {
    const owner = await cast.user(client);
    await owner.client.post("/api/v1/partners/register", {
      ...profile,
      phone: "+79990001122",
      email: "hello@example.com",
      description: "Хлеб на закваске",
      timezone: "Asia/Yekaterinburg",
    });
    expect((await owner.client.get("/api/v1/partners/me")).body).toMatchObject({
      phone: "+79990001122",
      email: "hello@example.com",
      description: "Хлеб на закваске",
      timezone: "Asia/Yekaterinburg",
      preparationMinutes: 20,
    });
  });

  test("adds an unknown city, and keeps a known one as it is", async () => {
    await register({ cityId: "perm" });
    expect(await sql`select name, timezone from cities where id = 'perm'`).toMatchObject([
      { name: "perm", timezone: "Europe/Moscow" },
    ]);
    await sql`update cities set name = 'Пермь', timezone = 'Asia/Yekaterinburg' where id = 'perm'`;
    await register({ cityId: "perm" });
    expect(await sql`select name, timezone from cities where id = 'perm'`).toMatchObject([
      { name: "Пермь", timezone: "Asia/Yekaterinburg" },
    ]);
  });

  test("ignores unknown fields, so that no one approves their own registration", async () => {
    const registered = await register({
      status: "ACTIVE",
      id: unknownId,
      slug: "mine",
      ownerId: admin.id,
      isAdmin: true,
    });
    expect(registered.body).toMatchObject({ status: "PENDING_REVIEW" });
    expect(registered.body).not.toMatchObject({ id: unknownId });
    expect(registered.body).not.toMatchObject({ slug: "mine" });
  });

  test.each([
    ["without a name", { name: undefined }],
    ["with a blank name", { name: " \t " }],
    ["with too long a name", { name: "x".repeat(201) }],
    ["without a city", { cityId: undefined }],
    ["with a city of other characters", { cityId: "New York" }],
    ["with too long a city", { cityId: "x".repeat(65) }],
    ["without an address", { address: undefined }],
    ["without a latitude", { latitude: undefined }],
    ["north of the pole", { latitude: 90.1 }],
    ["with a latitude as text", { latitude: "55.7" }],
    ["past the date line", { longitude: -180.1 }],
    ["with a foreign phone", { phone: "+4915112345678" }],
    ["with an invalid e-mail address", { email: "hello" }],
    ["with an unknown time zone", { timezone: "Moscow" }],
    ["with a null description", { description: null }],
  ])("%s: 400 VALIDATION_ERROR", async (_case, fields) => {
    const refused = await register(fields);
    expect(outcome(refused)).toBe("400 VALIDATION_ERROR");
    expect(refused.body["errors"]).toEqual([{ path: Object.keys(fields)[0], message: expect.any(String) }]);
  });

  test("refuses an invalid token, although none is required", async () => {
    expect(outcome(await client.as("x.y.z").post("/api/v1/partners/register", profile))).toBe("401 UNAUTHORIZED");
  });

  test("refuses a deleted account", async () => {
    const gone = await cast.user(client);
    await sql`update users set deleted_at = now() where id = ${gone.id}::uuid`;
    expect(outcome(await gone.client.post("/api/v1/partners/register", profile))).toBe("401 UNAUTHORIZED");
    expect(await sql`select id from partners where owner_id = ${gone.id}::uuid`).toHaveLength(0);
  });

  describe("one partner per user", () => {
    test("a second registration by the owner: 409 CONFLICT", async () => {
      const { owner } = await cast.bakery(client);
      expect(outcome(await owner.client.post("/api/v1/partners/register", profile))).toBe("409 CONFLICT");
    });

    test("the rejected one does not count: its owner may register again, and then owns the new one", async () => {
      const { id, owner } = await cast.bakery(client, "REJECTED");
      const registered = await owner.client.post("/api/v1/partners/register", profile);
      expect(registered.status).toBe(201);
      expect((await owner.client.get("/api/v1/partners/me")).body["id"]).toBe(registered.string("id"));
      expect((await admin.client.put(`/api/v1/admin/partners/${id}/approve`)).status).toBe(200);
      expect((await owner.client.get("/api/v1/partners/me")).body["id"]).toBe(registered.string("id"));
    });

    test("a registration by a partner's staff: 409 CONFLICT", async () => {
      const { id } = await cast.bakery(client);
      const clerk = await cast.user(client);
      await sql`insert into partner_staff (user_id, partner_id) values (${clerk.id}::uuid, ${id}::uuid)`;
      expect(outcome(await clerk.client.post("/api/v1/partners/register", profile))).toBe("409 CONFLICT");
    });

    test("one phone waits for one active partner", async () => {
      const phone = cast.newPhone();
      const [first, second] = [await register({ phone }), await register({ phone })];
      expect(outcome(await admin.client.put(`/api/v1/admin/partners/${first.string("id")}/approve`))).toBe("200");
      expect(outcome(await admin.client.put(`/api/v1/admin/partners/${second.string("id")}/approve`))).toBe(
        "409 CONFLICT",
      );
    });

    test("ten concurrent registrations by one user create one partner", async () => {
      const owner = await cast.user(client);
      const replies = await Promise.all(
        Array.from({ length: 10 }, () => owner.client.post("/api/v1/partners/register", profile)),
      );
      expect(replies.map(outcome).sort()).toEqual(["201", ...Array<string>(9).fill("409 CONFLICT")]);
    });
  });

  describe("with a phone and without a token", () => {
    test("does not depend on whose phone it is", async () => {
      const { owner } = await cast.bakery(client);
      const clerk = await cast.user(client);
      await cast.join({ id: "", owner }, clerk);
      const customer = await cast.user(client);
      const phones = [owner.phone, clerk.phone, customer.phone, admin.phone, cast.newPhone()];
      for (const phone of phones) {
        const replies = [];
        for (let n = 0; n < 4; n += 1) replies.push(await register({ name: "Shop", phone }));
        expect(replies.map(outcome)).toEqual(["201", "201", "201", "409 CONFLICT"]);
        const [first] = replies;
        expect({ ...first?.body, id: "", slug: "" }).toEqual({ id: "", slug: "", status: "PENDING_REVIEW" });
      }
    });

    test("at most 3 that wait for review name a phone, also when 10 arrive at once", async () => {
      const phone = cast.newPhone();
      const replies = await Promise.all(Array.from({ length: 10 }, () => register({ phone })));
      expect(replies.map(outcome).sort()).toEqual(["201", "201", "201", ...Array<string>(7).fill("409 CONFLICT")]);
      const first = replies.find(({ status }) => status === 201);
      await admin.client.put(`/api/v1/admin/partners/${first?.string("id")}/reject`);
      expect((await register({ phone })).status).toBe(201);
    });
  });

  describe("slugs", () => {
    test("of one name are the name and its first numbers", async () => {
      const slugs = [];
      for (let n = 0; n < 6; n += 1) slugs.push((await register({ name: "Тот же хлеб" })).string("slug"));
      expect(slugs).toEqual(["tot-zhe-khleb", ...[2, 3, 4, 5, 6].map((n) => `tot-zhe-khleb-${n}`)]);
    });

    test("30 concurrent registrations of one name get different ones", async () => {
      const replies = await Promise.all(Array.from({ length: 30 }, () => register({ name: "Сразу" })));
      expect(new Set(replies.map((reply) => reply.string("slug"))).size).toBe(30);
    });

    test("do not wait for another registration of the name, which may take long", async () => {
      await transaction(async (tx) => {
        expect((await insertPartner(tx, { ...newPartner, slug: "cafe" }))?.slug).toBe("cafe");
        for (const name of ["Cafe", "Cafe 2"])
          expect((await register({ name })).string("slug")).toMatch(/^cafe(-2)?-[0-9a-f]{8}$/);
      });
      expect((await register({ name: "Cafe" })).string("slug")).toBe("cafe-2");
    });

    test("a name that ends in a number does not collide with a numbered slug", async () => {
      for (const slug of ["bar", "bar-2", "bar-2-2"])
        expect((await register({ name: slug === "bar-2-2" ? "Bar 2" : "Bar" })).string("slug")).toBe(slug);
    });

    test("any name gives a slug of letters, digits and hyphens", async () => {
      const names = ["!!!", "面包", "🥖", "Ünïcödé", "a_b", "-", "x".repeat(200)];
      for (const name of names) expect((await register({ name })).string("slug")).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    });
  });
});
