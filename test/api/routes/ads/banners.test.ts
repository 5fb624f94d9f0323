import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { ShortCache } from "../../../../api/http/short-cache.js";
import { weightedOrder } from "../../../../lib/domain/weighted-order.js";
import { closeDatabase, databaseStats, sql, transaction } from "../../../../sql/db.js";
import { type Client, outcome, type Reply, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { until } from "../../../support/until.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let admin: Client;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
  admin = (await cast.admin(client)).client;
});

/** How far the cache's clock is ahead. */
let ahead = 0;
const realNow = performance.now.bind(performance);

/** Each test uses its own placement. */
let placement = "";
let tests = 0;

beforeEach(() => {
  placement = `place-${(tests += 1)}`;
  jest.spyOn(performance, "now").mockImplementation(() => realNow() + ahead);
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const second = 1_000;
const day = 24 * 60 * 60 * second;

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const read = (query = "", headers: Record<string, string> = {}) =>
  client.get(`/api/v1/ads/banners?placement=${placement}${query}`, { headers });
const ids = ({ list }: Reply) => list.map(({ id }) => id);
/** Reads past the server's cache. */
const readFresh = (query = "", headers: Record<string, string> = {}) => {
  ahead += 5 * second;
  return read(query, headers);
};
const shown = async (query = "") => ids(await readFresh(query)).sort();

const pathOf = (campaignId: string, rest = "") => `/api/v1/admin/ads/campaigns/${campaignId}${rest}`;
const add = async (campaignId: string, fields: Record<string, unknown> = {}) =>
  (await admin.post(pathOf(campaignId, "/banners"), cast.newBanner({ placement, ...fields }))).string("id");

/** An active campaign for this test's placement. */
async function activeCampaign(fields: Record<string, unknown> = {}): Promise<string> {
  const id = await cast.campaign(admin, { placements: [placement, `${placement}-other`], ...fields });
  await admin.post(pathOf(id, "/activate"));
  return id;
}

describe("GET /ads/banners", () => {
  test("returns a banner of an active campaign with its public fields only", async () => {
    const fields = cast.newBanner({ placement });
    const id = await add(await activeCampaign(), { ...fields, locale: "ru-RU", cityId: "omsk", weight: 9 });
    expect((await read("&locale=ru-RU&cityId=omsk")).list).toEqual([{ id, ...fields }]);
  });

  test("returns nothing for an unknown placement", async () => {
    const unknown = await read();
    expect([unknown.status, unknown.text]).toEqual([200, "[]"]);
  });

  test("shows a banner only while its campaign is ACTIVE and it is not deleted", async () => {
    const campaignId = await cast.campaign(admin, { placements: [placement] });
    const id = await add(campaignId);
    const seen = [await shown()];
    for (const move of ["activate", "pause", "activate"]) {
      await admin.post(pathOf(campaignId, `/${move}`));
      seen.push(await shown());
    }
    await admin.delete(pathOf(campaignId, `/banners/${id}`));
    seen.push(await shown());
    const next = await add(campaignId);
    seen.push(await shown());
    await admin.post(pathOf(campaignId, "/complete"));
    seen.push(await shown());
    expect(seen).toEqual([[], [id], [], [id], [], [next], []]);
  });

  test("shows a banner only within its own and its campaign's dates", async () => {
    const dates = {
      now: { starts_at: inMs(-day), ends_at: inMs(day) },
      "since now": { starts_at: inMs(-1), ends_at: inMs(day) },
      over: { starts_at: inMs(-day), ends_at: inMs(-1) },
      "to come": { starts_at: inMs(day), ends_at: inMs(2 * day) },
    };
    const names: Record<string, string> = {};
    for (const [ofCampaign, { starts_at: from, ends_at: to }] of Object.entries(dates)) {
      const campaignId = await activeCampaign();
      await sql`
        update ad_campaigns set starts_at = ${from}::timestamptz, ends_at = ${to}::timestamptz where id = ${campaignId}::uuid`;
      for (const [ofBanner, { starts_at, ends_at }] of Object.entries(dates)) {
        const id = await add(campaignId);
        names[id] = `${ofCampaign} / ${ofBanner}`;
        await sql`
          update ad_banners set starts_at = ${starts_at}::timestamptz, ends_at = ${ends_at}::timestamptz
          where id = ${id}::uuid`;
      }
    }
    expect((await shown()).map((id) => names[String(id)]).sort()).toEqual([
      "now / now",
      "now / since now",
      "since now / now",
      "since now / since now",
    ]);
  });

  test("filters by locale and city, and includes banners without a filter", async () => {
    const campaignId = await activeCampaign();
    const [all, russian, english, omsk, russianInOmsk] = [
      await add(campaignId),
      await add(campaignId, { locale: "ru-RU" }),
      await add(campaignId, { locale: "en-US" }),
      await add(campaignId, { cityId: "omsk" }),
      await add(campaignId, { locale: "ru-RU", cityId: "omsk" }),
    ];
    expect(await shown()).toEqual([all]);
    expect(await shown("&locale=ru-RU")).toEqual([all, russian].sort());
    expect(await shown("&locale=en-US&cityId=tula")).toEqual([all, english].sort());
    expect(await shown("&cityId=omsk")).toEqual([all, omsk].sort());
    expect(await shown("&city=omsk")).toEqual([all, omsk].sort());
    expect(await shown("&cityId=omsk&locale=ru-RU")).toEqual([all, russian, omsk, russianInOmsk].sort());
  });

  test("filters by placement", async () => {
    const campaignId = await activeCampaign();
    const here = await add(campaignId);
    await add(campaignId, { placement: `${placement}-other` });
    expect(await shown()).toEqual([here]);
  });

  test("shows at most a hundred banners, and prefers the heaviest", async () => {
    const campaignId = await activeCampaign();
    const heavy = await add(campaignId, { weight: 2 });
    await sql`
      insert into ad_banners (campaign_id, image_url, link, placement, starts_at, ends_at)
      select ${campaignId}::uuid, 'https://a.ru/', 'https://a.ru/', ${placement}, now(), now() + interval '1 day'
      from generate_series(1, 150)`;
    const found = ids(await readFresh());
    expect([found.length, found.includes(heavy)]).toEqual([100, true]);
  });

  test("orders banners by weight, in an order that changes every five seconds", async () => {
    const campaignId = await activeCampaign();
    const weights = [1, 1, 5, 5, 20, 20, 100, 100];
    const all: { id: string; weight: number }[] = [];
    for (const weight of weights) all.push({ id: await add(campaignId, { weight }), weight });
    const ordersNow = () => {
      const turn = Math.floor(Date.now() / (5 * second));
      return [turn - 1, turn, turn + 1].map((n) => weightedOrder(all, String(n)).map(({ id }) => id));
    };
    const possible = ordersNow();
    const first = ids(await readFresh());
    expect([...possible, ...ordersNow()]).toContainEqual(first);
    for (let n = 0; n < 5; n += 1) expect(ids(await read())).toEqual(first);
  });
});

describe("the cache", () => {
  test("keeps an answer for five seconds, separately for each query", async () => {
    const campaignId = await activeCampaign();
    const first = await add(campaignId);
    expect(ids(await read())).toEqual([first]);
    const next = await add(campaignId);
    ahead += 4 * second;
    expect(ids(await read())).toEqual([first]);
    expect(ids(await read("&locale=ru-RU")).sort()).toEqual([first, next].sort());
    ahead += second;
    expect(ids(await read()).sort()).toEqual([first, next].sort());
  });

  test("loads once for a hundred concurrent requests", async () => {
    const id = await add(await activeCampaign());
    const asked = jest.spyOn(ShortCache.prototype, "get");
    let replies: Promise<Reply[]> = Promise.resolve([]);
    await transaction(async (tx) => {
      await tx`lock table ad_banners in access exclusive mode`;
      replies = Promise.all(Array.from({ length: 100 }, () => read()));
      await until(() => asked.mock.calls.length === 100);
      expect(databaseStats().statements.running).toBe(1);
    });
    expect((await replies).map(ids)).toEqual(Array(100).fill([id]));
  });

  test("lets clients cache the answer for the same time", async () => {
    expect((await read()).headers.get("cache-control")).toBe("public, max-age=5");
  });

  test("does not keep a failed load", async () => {
    await sql`alter table ad_banners rename to ad_banners_away`;
    const failed = await readFresh();
    await sql`alter table ad_banners_away rename to ad_banners`;
    expect([outcome(failed), outcome(await read())]).toEqual(["500 INTERNAL", "200"]);
  });
});

describe("Last-Modified", () => {
  const lastModified = ({ headers }: Reply) => headers.get("last-modified") ?? "";
  const since = (date: string) => ({ "if-modified-since": date });

  /** Moves all changes three days into the past. */
  beforeEach(async () => {
    await sql`update ad_campaigns set starts_at = null, ends_at = null, updated_at = now() - interval '3 days'`;
    await sql`
      update ad_banners
      set starts_at = now() - interval '4 days', ends_at = now() + interval '4 days', updated_at = now() - interval '3 days'`;
  });

  test("is the time of the last change, to the second, and answers 304 to clients that have it", async () => {
    const campaignId = await activeCampaign();
    await sql`update ad_campaigns set updated_at = '2026-06-01T15:00:00.999Z' where id = ${campaignId}::uuid`;
    await sql`update ad_campaigns set updated_at = '2020-01-01' where id <> ${campaignId}::uuid`;
    await sql`update ad_banners set updated_at = '2020-01-01', starts_at = '2020-01-01'`;
    const shown = await readFresh();
    expect(lastModified(shown)).toBe("Mon, 01 Jun 2026 15:00:00 GMT");
    for (const date of ["2100", "Fri, 01 Jan 2100 00:00:00 GMT", "yesterday"])
      expect((await readFresh("", since(date))).status).toBe(200);
    for (const date of [lastModified(shown), new Date().toUTCString()]) {
      const again = await readFresh("", since(date));
      expect([again.status, again.text, lastModified(again)]).toEqual([304, "", lastModified(shown)]);
      expect(again.headers.get("cache-control")).toBe("public, max-age=5");
    }
    for (const date of ["Mon, 01 Jun 2026 14:59:59 GMT", "yesterday", ""]) {
      expect((await read("", since(date))).status).toBe(200);
    }
    expect((await read("", { ...since(lastModified(shown)), "if-none-match": '"a"' })).status).toBe(200);
  });

  test("is sent without an ETag, since the order changes on its own", async () => {
    expect((await read()).headers.get("etag")).toBeNull();
  });

  test("is at least five seconds in the past, so that a later change is always newer", async () => {
    const before = Date.now();
    await activeCampaign();
    const changed = Date.parse(lastModified(await readFresh()));
    expect(changed).toBeLessThanOrEqual(Date.now() - 5 * second);
    expect(changed).toBeGreaterThan(before - 15 * second);
  });

  const campaignEnds = (id: string) =>
    sql`update ad_campaigns set ends_at = now() - interval '10 seconds' where id = ${id}::uuid`;
  const campaignStarts = (id: string) =>
    sql`update ad_campaigns set starts_at = now() - interval '10 seconds' where id = ${id}::uuid`;
  const bannerEnds = (_id: string, banner: string) =>
    sql`update ad_banners set ends_at = now() - interval '10 seconds' where id = ${banner}::uuid`;
  const bannerStarts = (_id: string, banner: string) =>
    sql`update ad_banners set starts_at = now() - interval '10 seconds' where id = ${banner}::uuid`;

  test.each<[string, (campaignId: string, bannerId: string) => PromiseLike<unknown>]>([
    ["a banner is added", (id) => add(id)],
    ["a banner is changed", (id, banner) => admin.put(pathOf(id, `/banners/${banner}`), { link: "https://b.ru/" })],
    ["a banner is deleted", (id, banner) => admin.delete(pathOf(id, `/banners/${banner}`))],
    ["a banner's period begins", bannerStarts],
    ["a banner's period ends", bannerEnds],
    ["the campaign is paused", (id) => admin.post(pathOf(id, "/pause"))],
    ["the campaign is completed", (id) => admin.post(pathOf(id, "/complete"))],
    ["the campaign's dates are changed", (id) => admin.put(pathOf(id), { startsAt: inMs(day) })],
    ["the campaign's period begins", campaignStarts],
    ["the campaign's period ends", campaignEnds],
  ])("advances when %s", async (_case, change) => {
    const campaignId = await activeCampaign();
    const bannerId = await add(campaignId);
    await sql`update ad_campaigns set updated_at = now() - interval '3 days'`;
    await sql`update ad_banners set updated_at = now() - interval '3 days', starts_at = now() - interval '4 days'`;
    const before = await readFresh();
    expect((await readFresh("", since(lastModified(before)))).status).toBe(304);
    await change(campaignId, bannerId);
    const after = await readFresh("", since(lastModified(before)));
    expect(after.status).toBe(200);
    expect(Date.parse(lastModified(after))).toBeGreaterThan(Date.parse(lastModified(before)));
    expect((await read("", since(lastModified(after)))).status).toBe(304);
  });
});

test.each([
  ["no placement", ""],
  ["an empty placement", "placement="],
  ["a placement of other characters", "placement=home%20top"],
  ["a placement of 51 letters", `placement=${"x".repeat(51)}`],
  ["two placements", "placement=a&placement=b"],
  ["an invalid locale", "placement=a&locale=russian"],
  ["a city of other characters", "placement=a&cityId=New%20York"],
  ["an empty city", "placement=a&city="],
])("%s: 400 BAD_REQUEST", async (_case, query) => {
  expect(outcome(await client.get(`/api/v1/ads/banners?${query}`))).toBe("400 BAD_REQUEST");
});

test("banners are public, but a given token must be valid: 401 UNAUTHORIZED", async () => {
  const path = `/api/v1/ads/banners?placement=${placement}`;
  expect(outcome(await (await cast.user(client)).client.get(path))).toBe("200");
  expect(outcome(await client.as("x.y.z").get(path))).toBe("401 UNAUTHORIZED");
});
