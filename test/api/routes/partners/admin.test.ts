import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { closeDatabase, sql } from "../../../../sql/db.js";
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
const unknownId = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";

describe("GET /admin/partners", () => {
  const register = (fields: Record<string, unknown>) =>
    client.post("/api/v1/partners/register", { ...profile, ...fields });
  const list = async (query: string) => (await admin.client.get(`/api/v1/admin/partners?${query}`)).list;

  test("lists partners newest first, by each filter and by all together", async () => {
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

  test("takes q literally", async () => {
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

  test("approve publishes the profile and lets the partner list boxes; suspend ends both at once", async () => {
    const { id, owner } = await cast.bakery(client, "PENDING_REVIEW");
    const listBox = async () => outcome(await owner.client.post("/api/v1/boxes", cast.newBox()));
    expect(await listBox()).toBe("403 FORBIDDEN");
    const approved = await moveTo(id, "approve");
    expect([approved.status, approved.body]).toEqual([200, { id, name: profile.name, status: "ACTIVE" }]);
    expect([await listBox(), outcome(await client.get(`/api/v1/partners/${id}`))]).toEqual(["201", "200"]);
    expect((await moveTo(id, "suspend")).body).toEqual({ id, name: profile.name, status: "SUSPENDED" });
    expect([await listBox(), outcome(await client.get(`/api/v1/partners/${id}`))]).toEqual(["403 FORBIDDEN", "200"]);
  });

  test("reject stores the reason", async () => {
    const { id } = await cast.bakery(client, "PENDING_REVIEW");
    expect((await moveTo(id, "reject", { reason: "Нет адреса" })).body).toEqual({
      id,
      name: profile.name,
      status: "REJECTED",
    });
    expect(await audited(id)).toEqual([`PARTNER_REJECT by ${admin.id}: Нет адреса`]);
    expect(await sql`select status_reason from partners where id = ${id}::uuid`).toMatchObject([
      { statusReason: "Нет адреса" },
    ]);
  });

  test("a reason that is not text: 400 VALIDATION_ERROR", async () => {
    const { id } = await cast.bakery(client, "PENDING_REVIEW");
    expect(outcome(await moveTo(id, "reject", { reason: 7 }))).toBe("400 VALIDATION_ERROR");
    expect(await audited(id)).toEqual([]);
  });

  test.each(["approve", "reject", "suspend"])("%s of an unknown partner: 404 NOT_FOUND", async (move) => {
    expect(outcome(await moveTo(unknownId, move))).toBe("404 NOT_FOUND");
    expect(outcome(await moveTo("me", move))).toBe("404 NOT_FOUND");
  });

  test("of two opposite concurrent moves one is made and audited", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await cast.bakery(client, "PENDING_REVIEW");
      const replies = await Promise.all([
        ...Array.from({ length: 4 }, () => moveTo(id, "approve")),
        ...Array.from({ length: 4 }, () => moveTo(id, "reject")),
      ]);
      const [status] = (await sql<{ status: string }[]>`select status from partners where id = ${id}::uuid`).map(
        (row) => row.status,
      );
      // approving is allowed after a rejection, rejecting after an approval is not
      expect(status).toBe("ACTIVE");
      const rejected = replies.slice(4).some((reply) => reply.status === 200);
      expect(await audited(id)).toEqual(
        [...(rejected ? ["PARTNER_REJECT"] : []), "PARTNER_APPROVE"].map((action) => `${action} by ${admin.id}`),
      );
    }
  });

  test("any sequence of moves follows the table, audits each move once, and answers 200 to repeats", async () => {
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
