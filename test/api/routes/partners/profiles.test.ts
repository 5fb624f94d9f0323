import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { closeDatabase, sql, transaction } from "../../../../sql/db.js";
import { insertPartner } from "../../../../sql/queries/partners.js";
import { startApi, type Client, type Reply } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { until } from "../../../support/until.js";

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

const outcome = ({ status, body }: Reply) => `${status} ${typeof body["code"] === "string" ? body["code"] : ""}`.trim();
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
        city_id: profile.cityId,
        address: profile.address,
        latitude: profile.latitude,
        longitude: profile.longitude,
        status: "PENDING_REVIEW",
        owner_id: null,
        owner_phone: null,
        activated_at: null,
      },
    ]);
  });

  test("sent with a user's token, that user owns the partner and acts for it at once", async () => {
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
    ).toMatchObject([{ owner_id: owner.id, owner_phone: null }]);
  });

  test("with a phone and without a token, the partner waits for whoever logs in with it", async () => {
    const phone = cast.newPhone();
    const id = (await register({ phone })).string("id");
    expect(await sql`select owner_id, owner_phone, phone from partners where id = ${id}::uuid`).toMatchObject([
      { owner_id: null, owner_phone: phone, phone },
    ]);
  });

  test("keeps what is optional", async () => {
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

  test("an unknown city becomes a city, a known one stays as it is", async () => {
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

  test("unknown fields are ignored: nobody approves their own registration", async () => {
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
    ["with a latitude in words", { latitude: "55.7" }],
    ["past the date line", { longitude: -180.1 }],
    ["with a foreign phone", { phone: "+4915112345678" }],
    ["with no e-mail address", { email: "hello" }],
    ["with no time zone", { timezone: "Moscow" }],
    ["with a null description", { description: null }],
  ])("%s: 400 VALIDATION_ERROR", async (_case, fields) => {
    const refused = await register(fields);
    expect(outcome(refused)).toBe("400 VALIDATION_ERROR");
    expect(refused.body["errors"]).toEqual([{ path: Object.keys(fields)[0], message: expect.any(String) }]);
  });

  test("a token that is sent must be valid", async () => {
    expect(outcome(await client.as("x.y.z").post("/api/v1/partners/register", profile))).toBe("401 UNAUTHORIZED");
  });

  test("an account that is gone registers nothing", async () => {
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

    test("a registration for the owner's phone: 409 CONFLICT", async () => {
      const { owner } = await cast.bakery(client);
      expect(outcome(await register({ phone: owner.phone }))).toBe("409 CONFLICT");
    });

    test("a registration by a partner's staff: 409 CONFLICT", async () => {
      const { id } = await cast.bakery(client);
      const clerk = await cast.user(client);
      await sql`insert into partner_staff (user_id, partner_id) values (${clerk.id}::uuid, ${id}::uuid)`;
      expect(outcome(await clerk.client.post("/api/v1/partners/register", profile))).toBe("409 CONFLICT");
    });

    test("two registrations for one phone: the second is 409 CONFLICT, unless the first was rejected", async () => {
      const phone = cast.newPhone();
      const first = (await register({ phone })).string("id");
      expect(outcome(await register({ phone }))).toBe("409 CONFLICT");
      await admin.client.put(`/api/v1/admin/partners/${first}/reject`);
      expect((await register({ phone })).status).toBe(201);
      expect(outcome(await admin.client.put(`/api/v1/admin/partners/${first}/approve`))).toBe("409 CONFLICT");
    });

    test("ten registrations by one user at once: one", async () => {
      const owner = await cast.user(client);
      const replies = await Promise.all(
        Array.from({ length: 10 }, () => owner.client.post("/api/v1/partners/register", profile)),
      );
      expect(replies.map(outcome).sort()).toEqual(["201", ...Array<string>(9).fill("409 CONFLICT")]);
    });
  });

  describe("slugs", () => {
    test("30 registrations of one name at once get the name and its first 29 numbers", async () => {
      const replies = await Promise.all(Array.from({ length: 30 }, () => register({ name: "Тот же хлеб" })));
      const numbered = Array.from({ length: 29 }, (_, index) => `tot-zhe-khleb-${index + 2}`);
      expect(new Set(replies.map((reply) => reply.string("slug")))).toEqual(new Set(["tot-zhe-khleb", ...numbered]));
    });

    test("a name that ends in a number does not take the slug that another registration is about to get", async () => {
      await register({ name: "Cafe" });
      let registering = Promise.resolve<Reply | null>(null);
      await transaction(async (tx) => {
        const second = await insertPartner(tx, { ...newPartner, slug: "cafe" });
        expect(second?.slug).toBe("cafe-2");
        registering = register({ name: "Cafe 2" });
        await until(async () => {
          const waiting = await sql`
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
          return waiting.length > 0;
        });
      });
      expect((await registering)?.body).toMatchObject({ slug: "cafe-2-2" });
    });

    test("any name gives a slug of letters, digits and dashes", async () => {
      const names = ["!!!", "面包", "🥖", "Ünïcödé", "a_b", "-", "x".repeat(200)];
      for (const name of names) expect((await register({ name })).string("slug")).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    });
  });
});

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
      headers: { "if-none-match": etag, "cache-control": "max-age=0" },
    });
    expect([etag !== "", again.status, again.text]).toEqual([true, 304, ""]);
  });

  test("shows who was active once, not who never was", async () => {
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
  test("changes what is sent and leaves the rest; the slug stays", async () => {
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

  test("a new phone is a contact; it makes nobody an owner", async () => {
    const { id, owner } = await cast.bakery(client);
    await owner.client.put("/api/v1/partners/me", { phone: cast.newPhone() });
    expect(await sql`select owner_id, owner_phone from partners where id = ${id}::uuid`).toMatchObject([
      { owner_id: owner.id, owner_phone: null },
    ]);
  });

  test.each([
    ["nothing", {}],
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

  test.each(["PENDING_REVIEW", "REJECTED", "SUSPENDED"] as const)("a partner that is %s may", async (status) => {
    const { owner } = await cast.bakery(client, status);
    expect((await owner.client.put("/api/v1/partners/me", { description: "Скоро" })).body).toMatchObject({ status });
  });
});

test.each([
  ["PENDING_REVIEW", false],
  ["ACTIVE", true],
  ["REJECTED", false],
  ["SUSPENDED", false],
] as const)("GET /partners/me/status of a partner that is %s: active is %s", async (status, active) => {
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

describe("GET /admin/partners", () => {
  const list = async (query: string) => (await admin.client.get(`/api/v1/admin/partners?${query}`)).list;

  test("lists newest first, with every filter and all of them together", async () => {
    const name = "Сыр_100%";
    const first = (await register({ name, cityId: "omsk" })).string("id");
    const second = (await register({ name: `«${name.toUpperCase()}»`, cityId: "omsk" })).string("id");
    const elsewhere = (await register({ name, cityId: "tver" })).string("id");
    await admin.client.put(`/api/v1/admin/partners/${second}/approve`);
    const ids = async (query: string) => (await list(query)).map(({ id }) => id);

    expect(await ids("cityId=omsk")).toEqual([second, first]);
    expect(await ids(`q=${encodeURIComponent("сыр_100%")}`)).toEqual([elsewhere, second, first]);
    expect(await ids("cityId=omsk&status=ACTIVE")).toEqual([second]);
    expect(await ids(`cityId=omsk&status=PENDING_REVIEW&q=${encodeURIComponent("СЫР")}`)).toEqual([first]);
    expect(await ids("cityId=nowhere")).toEqual([]);
    expect((await list("cityId=tver"))[0]).toEqual({
      id: elsewhere,
      name,
      status: "PENDING_REVIEW",
      slug: expect.stringMatching(/^syr-100(-\d)?$/),
      cityId: "tver",
      address: profile.address,
      addressDistanceMeters: null,
      addressDoubtful: false,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  test("q is taken literally", async () => {
    const id = (await register({ name: "50%_off\\'; --" })).string("id");
    for (const q of ["%_", "_off\\", "'; --"]) {
      expect((await list(`q=${encodeURIComponent(q)}`)).map((partner) => partner["id"])).toContain(id);
    }
    expect(await list(`q=${encodeURIComponent("50_%off")}`)).toEqual([]);
  });

  test.each(["status=OPEN", "status=active", "cityId=a%20b", "q=", "q=%00", "status=ACTIVE&status=REJECTED"])(
    "?%s: 400 VALIDATION_ERROR",
    async (query) => {
      expect(outcome(await admin.client.get(`/api/v1/admin/partners?${query}`))).toBe("400 VALIDATION_ERROR");
    },
  );
});

describe("an admin's moves", () => {
  const moveTo = (id: string, move: string, body?: unknown) =>
    admin.client.put(`/api/v1/admin/partners/${id}/${move}`, body);

  const audited = async (id: string) =>
    (
      await sql<{ line: string }[]>`
        select action || ' by ' || actor_id || coalesce(': ' || (details ->> 'reason'), '') as line
        from audit_events where subject_id = ${id}::uuid order by id`
    ).map(({ line }) => line);

  test("approve shows the profile and lets the partner list boxes; suspend ends that at once", async () => {
    const { id, owner } = await cast.bakery(client, "PENDING_REVIEW");
    const listBox = async () => outcome(await owner.client.post("/api/v1/boxes", cast.newBox()));
    expect(await listBox()).toBe("403 FORBIDDEN");
    const approved = await moveTo(id, "approve");
    expect([approved.status, approved.body]).toEqual([200, { id, name: profile.name, status: "ACTIVE" }]);
    expect([await listBox(), outcome(await client.get(`/api/v1/partners/${id}`))]).toEqual(["201", "200"]);
    expect((await moveTo(id, "suspend")).body).toEqual({ id, name: profile.name, status: "SUSPENDED" });
    expect([await listBox(), outcome(await client.get(`/api/v1/partners/${id}`))]).toEqual(["403 FORBIDDEN", "200"]);
  });

  test("reject keeps the reason", async () => {
    const { id } = await cast.bakery(client, "PENDING_REVIEW");
    expect((await moveTo(id, "reject", { reason: "Нет адреса" })).body).toEqual({
      id,
      name: profile.name,
      status: "REJECTED",
    });
    expect(await audited(id)).toEqual([`PARTNER_REJECT by ${admin.id}: Нет адреса`]);
    expect(await sql`select status_reason from partners where id = ${id}::uuid`).toMatchObject([
      { status_reason: "Нет адреса" },
    ]);
  });

  test("a reason that is no text: 400 VALIDATION_ERROR", async () => {
    const { id } = await cast.bakery(client, "PENDING_REVIEW");
    expect(outcome(await moveTo(id, "reject", { reason: 7 }))).toBe("400 VALIDATION_ERROR");
    expect(await audited(id)).toEqual([]);
  });

  test.each(["approve", "reject", "suspend"])("%s of nobody: 404 NOT_FOUND", async (move) => {
    expect(outcome(await moveTo(unknownId, move))).toBe("404 NOT_FOUND");
    expect(outcome(await moveTo("me", move))).toBe("404 NOT_FOUND");
  });

  test("two opposite moves at once: one is made, and it is the one that is on record", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await cast.bakery(client, "PENDING_REVIEW");
      const replies = await Promise.all([
        ...Array.from({ length: 4 }, () => moveTo(id, "approve")),
        ...Array.from({ length: 4 }, () => moveTo(id, "reject")),
      ]);
      const [status] = (await sql<{ status: string }[]>`select status from partners where id = ${id}::uuid`).map(
        (row) => row.status,
      );
      // approving also takes a rejection back; rejecting takes no approval back
      expect(status).toBe("ACTIVE");
      const rejected = replies.slice(4).some((reply) => reply.status === 200);
      expect(await audited(id)).toEqual(
        [...(rejected ? ["PARTNER_REJECT"] : []), "PARTNER_APPROVE"].map((action) => `${action} by ${admin.id}`),
      );
    }
  });

  test("whatever moves are tried, only those of the table are made, each is on record once, and repeats answer 200", async () => {
    const table: Record<string, { from: readonly string[]; to: string }> = {
      approve: { from: ["PENDING_REVIEW", "REJECTED", "SUSPENDED"], to: "ACTIVE" },
      reject: { from: ["PENDING_REVIEW"], to: "REJECTED" },
      suspend: { from: ["PENDING_REVIEW", "ACTIVE"], to: "SUSPENDED" },
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("approve", "reject", "suspend"), { minLength: 1, maxLength: 8 }),
        async (moves) => {
          const { id, owner } = await cast.bakery(client, "PENDING_REVIEW");
          let state = "PENDING_REVIEW";
          const made: string[] = [];
          for (const move of moves) {
            const { from = [], to = "" } = table[move] ?? {};
            const possible = from.includes(state);
            const expected = possible || state === to ? "200" : "409 CONFLICT";
            if (possible) {
              state = to;
              made.push(`PARTNER_${move.toUpperCase()} by ${admin.id}`);
            }
            const moved = await moveTo(id, move);
            expect(outcome(moved)).toBe(expected);
            if (moved.status === 200) expect(moved.body).toEqual({ id, name: profile.name, status: state });
            expect((await owner.client.get("/api/v1/partners/me/status")).body).toEqual({
              status: state,
              active: state === "ACTIVE",
            });
          }
          expect(await audited(id)).toEqual(made);
        },
      ),
      { numRuns: 25 },
    );
  });
});
