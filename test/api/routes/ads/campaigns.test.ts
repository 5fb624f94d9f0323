import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { campaignMoves, type CampaignMove, type CampaignStatus } from "../../../../lib/domain/campaign-moves.js";
import { closeDatabase, sql, transaction } from "../../../../sql/db.js";
import { lockCampaign } from "../../../../sql/queries/campaigns.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { type Client, outcome, type Reply, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { task } from "../../../support/task.js";

let api: Awaited<ReturnType<typeof startApi>>;
let admin: cast.Character;
let client: Client;

beforeAll(async () => {
  api = await startApi();
  admin = await cast.admin(api.client);
  client = admin.client;
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const unknownId = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";
const day = 24 * 60 * 60 * 1_000;
const campaigns = "/api/v1/admin/ads/campaigns";

const inDays = (days: number) => new Date(Date.now() + days * day).toISOString();
const create = (fields: Record<string, unknown> = {}) => client.post(campaigns, cast.newCampaign(fields));
const read = async (id: string) => (await client.get(`${campaigns}/${id}`)).body;
const change = (id: string, changes: unknown) => client.put(`${campaigns}/${id}`, changes);
const make = (id: string, move: CampaignMove) => client.post(`${campaigns}/${id}/${move.toLowerCase()}`);
const isOver = (id: string) =>
  sql`update ad_campaigns set starts_at = null, ends_at = now() - interval '1 second' where id = ${id}::uuid`;
const auditOf = (id: string) =>
  sql<{ actorId: string | null; action: string; details: unknown }[]>`
    select actor_id, action, details from audit_events where subject_id = ${id}::uuid order by id`;

/** A campaign that an admin has moved to this status. */
async function campaignThatIs(status: CampaignStatus, fields: Record<string, unknown> = {}): Promise<string> {
  const id = await cast.campaign(client, fields);
  const ways = { DRAFT: [], ACTIVE: ["ACTIVATE"], PAUSED: ["ACTIVATE", "PAUSE"], COMPLETED: ["ACTIVATE", "COMPLETE"] };
  for (const move of ways[status]) await make(id, move as CampaignMove);
  return id;
}

describe("POST /admin/ads/campaigns", () => {
  test("creates a draft", async () => {
    const made = await create({ name: "Лето", status: "ACTIVE", id: unknownId });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({ id: expect.any(String), name: "Лето", status: "DRAFT" });
    expect(made.headers.get("location")).toBe(`${campaigns}/${made.string("id")}`);
    expect(await auditOf(made.string("id"))).toMatchObject([{ actorId: admin.id, action: "CAMPAIGN_CREATE" }]);
  });

  test("stores every field, to the kopeck and the millisecond", async () => {
    const fields = {
      placements: ["home-top", "Cart_2"],
      budget: 1_234.5,
      cpm: 0.01,
      startsAt: inDays(1),
      endsAt: inDays(2),
    };
    const made = await create(fields);
    expect(await read(made.string("id"))).toEqual({
      id: made.string("id"),
      name: "Лето без отходов",
      status: "DRAFT",
      impressions: 0,
      clicks: 0,
      spent: 0,
      createdAt: expect.any(String),
      ...fields,
    });
    expect(
      await sql`select budget_minor, cpm_minor from ad_campaigns where id = ${made.string("id")}::uuid`,
    ).toMatchObject([{ budgetMinor: 123_450, cpmMinor: 1 }]);
  });

  test.each([
    ["a campaign with a budget of 0", { budget: 0 }],
    ["20 placements", { placements: Array.from({ length: 20 }, (_, n) => `place-${n}`) }],
    ["a placement of 50 letters", { placements: ["x".repeat(50)] }],
    ["only a start", { startsAt: inDays(-1) }],
    ["only an end", { endsAt: inDays(1) }],
  ])("%s is accepted", async (_case, fields) => {
    expect(outcome(await create(fields))).toBe("201");
  });

  test.each([
    ["without a name", "name", { name: undefined }],
    ["with a blank name", "name", { name: " " }],
    ["with too long a name", "name", { name: "x".repeat(201) }],
    ["without placements", "placements", { placements: undefined }],
    ["with an empty list of placements", "placements", { placements: [] }],
    ["with 21 placements", "placements", { placements: Array.from({ length: 21 }, (_, n) => `place-${n}`) }],
    ["with a placement twice", "placements", { placements: ["home", "home"] }],
    ["with a placement of other characters", "placements.0", { placements: ["home top"] }],
    ["with a placement of 51 letters", "placements.0", { placements: ["x".repeat(51)] }],
    ["with a placement that is no text", "placements.0", { placements: [7] }],
    ["with placements that are not a list", "placements", { placements: "home" }],
    ["without a budget", "budget", { budget: undefined }],
    ["with a negative budget", "budget", { budget: -1 }],
    ["with a budget as text", "budget", { budget: "1000" }],
    ["with a fraction of a kopeck", "budget", { budget: 0.001 }],
    ["with a negative price", "cpm", { cpm: -1 }],
    ["with an end in the past", "endsAt", { endsAt: inDays(-1) }],
    ["with an end at its start", "endsAt", { startsAt: "2099-01-01T00:00Z", endsAt: "2099-01-01T00:00Z" }],
    ["with an invalid start", "startsAt", { startsAt: "tomorrow" }],
  ])("%s: 400 BAD_REQUEST", async (_case, path, fields) => {
    const refused = await create(fields);
    expect(outcome(refused)).toBe("400 BAD_REQUEST");
    expect(refused.body["errors"]).toEqual([{ path, message: expect.any(String) }]);
  });

  test("requires an admin: 401 UNAUTHORIZED without a token, 403 FORBIDDEN for others", async () => {
    expect(outcome(await api.client.post(campaigns, cast.newCampaign()))).toBe("401 UNAUTHORIZED");
    const { client: other } = (await cast.bakery(api.client)).owner;
    expect(outcome(await other.post(campaigns, cast.newCampaign()))).toBe("403 FORBIDDEN");
  });
});

test("GET /admin/ads/campaigns lists campaigns newest first, by status, page by page", async () => {
  await sql`update ad_campaigns set status = 'COMPLETED'`;
  const [first, second, third] = [
    await campaignThatIs("PAUSED"),
    await campaignThatIs("DRAFT"),
    await campaignThatIs("PAUSED"),
  ];
  const ids = ({ list }: Reply) => list.map(({ id }) => id);
  expect(ids(await client.get(`${campaigns}?limit=3`))).toEqual([third, second, first]);
  expect(ids(await client.get(`${campaigns}?status=DRAFT`))).toEqual([second]);
  const page = await client.get(`${campaigns}?status=PAUSED&limit=1`);
  expect(ids(page)).toEqual([third]);
  const [, next = ""] = /^<(.+)>; rel="next"$/.exec(page.headers.get("link") ?? "") ?? [];
  const last = await client.get(next);
  expect([ids(last), last.headers.get("link")]).toEqual([[first], null]);
  expect(outcome(await client.get(`${campaigns}?status=OVER`))).toBe("400 BAD_REQUEST");
});

describe("PUT /admin/ads/campaigns/{id}", () => {
  test.each(["DRAFT", "ACTIVE", "PAUSED"] as const)(
    "changes the given fields of a %s campaign and keeps the rest",
    async (status) => {
      const id = await campaignThatIs(status, { cpm: 90 });
      const before = await read(id);
      const changes = { budget: 0.5, startsAt: inDays(-3), endsAt: inDays(3) };
      const changed = await change(id, changes);
      expect([changed.status, changed.body]).toEqual([200, { ...before, ...changes }]);
      expect((await change(id, { name: "Осень", placements: ["cart"], cpm: null, startsAt: null })).body).toEqual({
        ...before,
        ...changes,
        name: "Осень",
        placements: ["cart"],
        cpm: null,
        startsAt: null,
      });
      expect(await read(id)).toMatchObject({ name: "Осень", budget: 0.5, cpm: null, startsAt: null, status });
      expect((await auditOf(id)).slice(-2)).toMatchObject([
        { actorId: admin.id, action: "CAMPAIGN_CHANGE", details: { fields: ["budget", "startsAt", "endsAt"] } },
        { details: { fields: ["name", "placements", "cpm", "startsAt"] } },
      ]);
    },
  );

  test("a COMPLETED campaign cannot be changed: 409 CONFLICT", async () => {
    const id = await campaignThatIs("COMPLETED");
    expect(outcome(await change(id, { budget: 7 }))).toBe("409 CONFLICT");
    expect(await read(id)).toMatchObject({ budget: 50_000 });
  });

  test("a placement with a banner cannot be removed: 409 CONFLICT", async () => {
    const id = await cast.campaign(client, { placements: ["home-top", "cart"] });
    const banner = await client.post(`${campaigns}/${id}/banners`, cast.newBanner());
    expect(outcome(await change(id, { placements: ["cart"] }))).toBe("409 CONFLICT");
    expect(outcome(await change(id, { placements: ["home-top"] }))).toBe("200");
    await client.delete(`${campaigns}/${id}/banners/${banner.string("id")}`);
    expect(outcome(await change(id, { placements: ["cart"] }))).toBe("200");
  });

  test("the end must be after the start, whichever is changed: 400 BAD_REQUEST", async () => {
    const id = await cast.campaign(client, { startsAt: inDays(5), endsAt: inDays(6) });
    for (const changes of [
      { startsAt: inDays(7) },
      { endsAt: inDays(4) },
      { startsAt: inDays(3), endsAt: inDays(2) },
    ]) {
      const refused = await change(id, changes);
      expect(outcome(refused)).toBe("400 BAD_REQUEST");
      expect(refused.body["errors"]).toEqual([{ path: "endsAt", message: "must be after startsAt" }]);
    }
    expect(outcome(await change(id, { startsAt: inDays(7), endsAt: null }))).toBe("200");
  });

  test.each([
    ["an empty body", {}],
    ["only unknown fields", { status: "ACTIVE" }],
    ["a null name", { name: null }],
    ["an empty list of placements", { placements: [] }],
    ["an end in the past", { endsAt: inDays(-1) }],
  ])("%s: 400 BAD_REQUEST", async (_case, changes) => {
    expect(outcome(await change(await cast.campaign(client), changes))).toBe("400 BAD_REQUEST");
  });
});

describe("moves", () => {
  const statuses = ["DRAFT", "ACTIVE", "PAUSED", "COMPLETED"] as const;
  const moves = ["ACTIVATE", "PAUSE", "COMPLETE"] as const;

  test("any sequence of requests makes only allowed moves, each audited once", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...moves), { maxLength: 8 }), async (asked) => {
        const id = await cast.campaign(client);
        let status: CampaignStatus = "DRAFT";
        const made: string[] = [];
        for (const move of asked) {
          const { from, to } = campaignMoves[move];
          const allowed = from.some((one) => one === status);
          const reply = await make(id, move);
          expect(outcome(reply)).toBe(allowed || status === to ? "200" : "409 CONFLICT");
          if (allowed) {
            status = to;
            made.push(`CAMPAIGN_${move}`);
          }
          if (reply.status === 200) expect(reply.body).toEqual(await read(id));
          expect(await read(id)).toMatchObject({ status });
        }
        expect((await auditOf(id)).map(({ action }) => action)).toEqual(["CAMPAIGN_CREATE", ...made]);
      }),
      { numRuns: 30 },
    );
  });

  test("twenty concurrent requests for one move make it once", async () => {
    const id = await campaignThatIs("ACTIVE");
    const replies = await Promise.all(Array.from({ length: 20 }, () => make(id, "PAUSE")));
    expect(new Set(replies.map(outcome))).toEqual(new Set(["200"]));
    expect((await auditOf(id)).filter(({ action }) => action === "CAMPAIGN_PAUSE")).toHaveLength(1);
  });

  test("a campaign whose end has passed cannot be activated: 409 CONFLICT", async () => {
    for (const status of ["DRAFT", "PAUSED"] as const) {
      const id = await campaignThatIs(status);
      await isOver(id);
      expect(outcome(await make(id, "ACTIVATE"))).toBe("409 CONFLICT");
      expect(await read(id)).toMatchObject({ status });
    }
  });

  test("activated campaigns are completed once when their end comes, without an actor", async () => {
    const ids: Record<string, string> = {};
    for (const status of statuses) {
      ids[status] = await campaignThatIs(status);
      await isOver(ids[status]);
    }
    const running = await campaignThatIs("ACTIVE", { endsAt: inDays(1) });
    const endless = await campaignThatIs("ACTIVE");
    await Promise.all([1, 2, 3].map(() => runUpkeep(task({ task: "complete-campaigns" }))));
    const left = await Promise.all([...Object.values(ids), running, endless].map(read));
    expect(left.map(({ status }) => status)).toEqual([
      "DRAFT",
      "COMPLETED",
      "COMPLETED",
      "COMPLETED",
      "ACTIVE",
      "ACTIVE",
    ]);
    const record = await auditOf(ids["ACTIVE"]!);
    expect(record.filter(({ action }) => action === "CAMPAIGN_COMPLETE")).toMatchObject([{ actorId: null }]);
  });

  test("a campaign that is locked by an admin's change is completed by the next run", async () => {
    const [busy, free] = [await campaignThatIs("ACTIVE"), await campaignThatIs("ACTIVE")];
    for (const id of [busy, free]) await isOver(id);
    const status = async (id: string) => (await read(id))["status"];
    await transaction(async (tx) => {
      await lockCampaign(tx, busy);
      await runUpkeep(task({ task: "complete-campaigns" }));
      expect([await status(busy), await status(free)]).toEqual(["ACTIVE", "COMPLETED"]);
    });
    await runUpkeep(task({ task: "complete-campaigns" }));
    expect(await status(busy)).toBe("COMPLETED");
  });
});

test.each([unknownId, "7"])("an unknown campaign %s: 404 NOT_FOUND", async (id) => {
  const replies = [
    await client.get(`${campaigns}/${id}`),
    await change(id, { budget: 1 }),
    await make(id, "ACTIVATE"),
    await client.get(`${campaigns}/${id}/banners`),
    await client.post(`${campaigns}/${id}/banners`, cast.newBanner()),
  ];
  expect(replies.map(outcome)).toEqual(Array(replies.length).fill("404 NOT_FOUND"));
});
