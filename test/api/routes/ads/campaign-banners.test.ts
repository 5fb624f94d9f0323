import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let admin: cast.Character;
let client: Client;
let campaignId: string;

beforeAll(async () => {
  api = await startApi();
  admin = await cast.admin(api.client);
  client = admin.client;
});

beforeEach(async () => {
  campaignId = await cast.campaign(client, { placements: ["home-top", "cart"] });
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const unknownId = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";
const day = 24 * 60 * 60 * 1_000;

const inDays = (days: number) => new Date(Date.now() + days * day).toISOString();
const banners = (id = campaignId) => `/api/v1/admin/ads/campaigns/${id}/banners`;
const add = (fields: Record<string, unknown> = {}) => client.post(banners(), cast.newBanner(fields));
const move = (path: string) => client.post(`/api/v1/admin/ads/campaigns/${campaignId}/${path}`);
const actionsOn = async (id: string) =>
  (
    await sql<{ actorId: string; action: string }[]>`
      select actor_id, action from audit_events where subject_id = ${id}::uuid order by id`
  ).map(({ actorId, action }) => [actorId, action]);

describe("POST …/banners", () => {
  test("adds a banner, which is read back as it was sent", async () => {
    const fields = cast.newBanner({ locale: "ru-RU", cityId: "moscow", weight: 100, placement: "cart" });
    const added = await add(fields);
    expect(added.status).toBe(201);
    expect(added.body).toEqual({ id: expect.any(String), campaignId, ...fields, impressions: 0, clicks: 0 });
    const location = added.headers.get("location") ?? "";
    expect(location).toBe(`${banners()}/${added.string("id")}`);
    expect((await client.get(location)).body).toEqual(added.body);
    expect(await actionsOn(added.string("id"))).toEqual([[admin.id, "BANNER_CREATE"]]);
  });

  test("defaults to no filters and a weight of 1", async () => {
    expect((await add()).body).toMatchObject({ locale: null, cityId: null, weight: 1 });
  });

  test.each([
    ["without an image", "imageUrl", { imageUrl: undefined }],
    ["with an image that is not on https", "imageUrl", { imageUrl: "http://cdn.example.com/a.webp" }],
    ["with an image URL of another scheme", "imageUrl", { imageUrl: "data:image/png;base64,AAAA" }],
    ["without a link", "link", { link: undefined }],
    ["with a link that is a script", "link", { link: "javascript:alert(1)" }],
    ["with a link with a password", "link", { link: "https://me:secret@example.com/" }],
    ["with too long a link", "link", { link: `https://example.com/${"x".repeat(2_048)}` }],
    ["with a link that has a space", "link", { link: "https://example.com/a b" }],
    ["without a placement", "placement", { placement: undefined }],
    ["for a placement that is not the campaign's", "placement", { placement: "checkout" }],
    ["for a malformed locale", "locale", { locale: "russian" }],
    ["for a malformed city", "cityId", { cityId: "New York" }],
    ["without a start", "startsAt", { startsAt: undefined }],
    ["without an end", "endsAt", { endsAt: undefined }],
    ["with an end in the past", "endsAt", { startsAt: inDays(-2), endsAt: inDays(-1) }],
    ["with an end before its start", "endsAt", { startsAt: inDays(2), endsAt: inDays(1) }],
    ["with a weight of 0", "weight", { weight: 0 }],
    ["with too much weight", "weight", { weight: 101 }],
    ["with a fractional weight", "weight", { weight: 1.5 }],
  ])("%s: 400 BAD_REQUEST", async (_case, path, fields) => {
    const refused = await add(fields);
    expect(outcome(refused)).toBe("400 BAD_REQUEST");
    expect(refused.body["errors"]).toEqual([{ path, message: expect.any(String) }]);
    expect((await client.get(banners())).list).toEqual([]);
  });
});

test("GET …/banners lists the campaign's banners, oldest first, page by page", async () => {
  const ids = [(await add()).string("id"), (await add()).string("id")];
  await client.post(banners(await cast.campaign(client)), cast.newBanner());
  const first = await client.get(`${banners()}?limit=1`);
  const [, next = ""] = /^<(.+)>; rel="next"$/.exec(first.headers.get("link") ?? "") ?? [];
  const second = await client.get(next);
  expect([...first.list, ...second.list].map(({ id }) => id)).toEqual(ids);
  expect(second.headers.get("link")).toBeNull();
});

describe("PUT …/banners/{bannerId}", () => {
  test("changes the given fields and keeps the rest; null removes a filter", async () => {
    const banner = await add({ locale: "ru-RU", cityId: "moscow" });
    const path = `${banners()}/${banner.string("id")}`;
    const changes = { placement: "cart", locale: null, weight: 7, endsAt: inDays(9) };
    const changed = await client.put(path, changes);
    expect([changed.status, changed.body]).toEqual([200, { ...banner.body, ...changes }]);
    const rest = {
      imageUrl: "https://cdn.example.com/b.webp",
      link: "https://example.com/?b",
      locale: "en-US",
      cityId: null,
      startsAt: inDays(1),
    };
    expect((await client.put(path, rest)).body).toEqual({ ...banner.body, ...changes, ...rest });
    expect((await client.get(path)).body).toEqual({ ...banner.body, ...changes, ...rest });
    expect(await actionsOn(banner.string("id"))).toEqual(
      ["BANNER_CREATE", "BANNER_CHANGE", "BANNER_CHANGE"].map((action) => [admin.id, action]),
    );
  });

  test.each([
    ["an empty body", {}],
    ["another campaign's placement", { placement: "checkout" }],
    ["a start after the end", { startsAt: inDays(2) }],
    ["an end before the start", { startsAt: inDays(4), endsAt: inDays(3) }],
    ["a null weight", { weight: null }],
  ])("%s: 400 BAD_REQUEST", async (_case, changes) => {
    const path = `${banners()}/${(await add()).string("id")}`;
    expect(outcome(await client.put(path, changes))).toBe("400 BAD_REQUEST");
  });
});

test("DELETE …/banners/{bannerId} hides a banner for good, and keeps its row", async () => {
  const id = (await add()).string("id");
  const path = `${banners()}/${id}`;
  const deleted = await client.delete(path);
  expect([deleted.status, deleted.text]).toEqual([204, ""]);
  const replies = [await client.get(path), await client.put(path, { weight: 2 }), await client.delete(path)];
  expect(replies.map(outcome)).toEqual(Array(3).fill("404 NOT_FOUND"));
  expect((await client.get(banners())).list).toEqual([]);
  expect(await sql`select id from ad_banners where id = ${id}::uuid`).toHaveLength(1);
  expect(await actionsOn(id)).toEqual([
    [admin.id, "BANNER_CREATE"],
    [admin.id, "BANNER_DELETE"],
  ]);
});

test("banners of a COMPLETED campaign can be deleted, but not added or changed: 409 CONFLICT", async () => {
  const path = `${banners()}/${(await add()).string("id")}`;
  await move("activate");
  expect(outcome(await client.put(path, { weight: 2 }))).toBe("200");
  await move("complete");
  expect(outcome(await add())).toBe("409 CONFLICT");
  expect(outcome(await client.put(path, { weight: 3 }))).toBe("409 CONFLICT");
  expect(outcome(await client.delete(path))).toBe("204");
});

test("a placement is never removed while a banner for it is being added", async () => {
  for (let round = 0; round < 10; round += 1) {
    campaignId = await cast.campaign(client, { placements: ["home-top", "cart"] });
    const replies = await Promise.all([
      add(),
      client.put(`/api/v1/admin/ads/campaigns/${campaignId}`, { placements: ["cart"] }),
      add(),
    ]);
    const [first, taken, second] = replies.map(outcome);
    const added = [first, second].filter((one) => one === "201").length;
    expect([taken, added > 0]).toEqual(taken === "200" ? ["200", false] : ["409 CONFLICT", true]);
  }
});

test("a banner that is unknown or of another campaign: 404 NOT_FOUND", async () => {
  const id = (await add()).string("id");
  const foreign = `${banners(await cast.campaign(client))}/${id}`;
  for (const path of [foreign, `${banners()}/${unknownId}`, `${banners()}/7`]) {
    const replies = [await client.get(path), await client.put(path, { weight: 2 }), await client.delete(path)];
    expect(replies.map(outcome)).toEqual(Array(3).fill("404 NOT_FOUND"));
  }
});
