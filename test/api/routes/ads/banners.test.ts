import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { ShortCache } from "../../../../api/http/short-cache.js";
import { weightedOrder } from "../../../../lib/domain/weighted-order.js";
import { closeDatabase, databaseStats, sql, transaction } from "../../../../sql/db.js";
import { startApi, type Client, type Reply } from "../../../support/api.js";
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

/** How far the clock that the cache goes by is ahead. */
let ahead = 0;
const realNow = performance.now.bind(performance);

/** Each test has a placement of its own. */
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
const outcome = ({ status, body }: Reply) => `${status} ${typeof body["code"] === "string" ? body["code"] : ""}`.trim();
const read = (query = "", headers: Record<string, string> = {}) =>
  client.get(`/api/v1/ads/banners?placement=${placement}${query}`, { headers });
const ids = ({ list }: Reply) => list.map(({ id }) => id);
/** Reads what is shown now, not what was shown when it was last read. */
const readAnew = (query = "", headers: Record<string, string> = {}) => {
  ahead += 5 * second;
  return read(query, headers);
};
const shown = async (query = "") => ids(await readAnew(query)).sort();

const pathOf = (campaignId: string, rest = "") => `/api/v1/admin/ads/campaigns/${campaignId}${rest}`;
const add = async (campaignId: string, fields: Record<string, unknown> = {}) =>
  (await admin.post(pathOf(campaignId, "/banners"), cast.newBanner({ placement, ...fields }))).string("id");

/** An active campaign for this test's placement. */
async function activeCampaign(fields: Record<string, unknown> = {}): Promise<string> {
  const id = await cast.campaign(admin, { placements: [placement, `${placement}-other`], ...fields });
  await admin.post(pathOf(id, "/activate"));
  return id;
}

describe("what is shown", () => {
  test("a banner of an active campaign, as it is and nothing else", async () => {
    const fields = cast.newBanner({ placement });
    const id = await add(await activeCampaign(), { ...fields, locale: "ru-RU", cityId: "omsk", weight: 9 });
    expect((await read("&locale=ru-RU&cityId=omsk")).list).toEqual([{ id, ...fields }]);
  });

  test("nothing where nobody knows the placement", async () => {
    const unknown = await read();
    expect([unknown.status, unknown.text]).toEqual([200, "[]"]);
  });

  test("only while its campaign is ACTIVE, and until the banner is deleted", async () => {
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

  test("only within the dates of both, the campaign and the banner", async () => {
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

  test("for a locale and a city: what is for them, and what is for all", async () => {
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

  test("only what is for the placement", async () => {
    const campaignId = await activeCampaign();
    const here = await add(campaignId);
    await add(campaignId, { placement: `${placement}-other` });
    expect(await shown()).toEqual([here]);
  });

  test("of more than a hundred, the heaviest", async () => {
    const campaignId = await activeCampaign();
    const heavy = await add(campaignId, { weight: 2 });
    await sql`
      insert into ad_banners (campaign_id, image_url, link, placement, starts_at, ends_at)
      select ${campaignId}::uuid, 'https://a.ru/', 'https://a.ru/', ${placement}, now(), now() + interval '1 day'
      from generate_series(1, 150)`;
    const found = ids(await readAnew());
    expect([found.length, found.includes(heavy)]).toEqual([100, true]);
  });

  test("in the order that is this moment's turn, by weight", async () => {
    const campaignId = await activeCampaign();
    const weights = [1, 1, 5, 5, 20, 20, 100, 100];
    const all: { id: string; weight: number }[] = [];
    for (const weight of weights) all.push({ id: await add(campaignId, { weight }), weight });
    const ordersNow = () => {
      const turn = Math.floor(Date.now() / (5 * second));
      return [turn - 1, turn, turn + 1].map((n) => weightedOrder(all, String(n)).map(({ id }) => id));
    };
    const possible = ordersNow();
    const first = ids(await readAnew());
    expect([...possible, ...ordersNow()]).toContainEqual(first);
    for (let n = 0; n < 5; n += 1) expect(ids(await read())).toEqual(first);
  });
});

describe("the cache", () => {
  test("what was read is shown for five seconds, for these parameters only", async () => {
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

  test("a hundred who ask at once cost one look at the database", async () => {
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

  test("may be kept by others for as long", async () => {
    expect((await read()).headers.get("cache-control")).toBe("public, max-age=5");
  });

  test("a look at the database that fails is not kept", async () => {
    await sql`alter table ad_banners rename to ad_banners_away`;
    const failed = await readAnew();
    await sql`alter table ad_banners_away rename to ad_banners`;
    expect([outcome(failed), outcome(await read())]).toEqual(["500 INTERNAL", "200"]);
  });
});

describe("Last-Modified", () => {
  const lastModified = ({ headers }: Reply) => headers.get("last-modified") ?? "";
  const since = (date: string) => ({ "if-modified-since": date });

  /** As if nothing had happened for three days. */
  beforeEach(async () => {
    await sql`update ad_campaigns set starts_at = null, ends_at = null, updated_at = now() - interval '3 days'`;
    await sql`
      update ad_banners
      set starts_at = now() - interval '4 days', ends_at = now() + interval '4 days', updated_at = now() - interval '3 days'`;
  });

  test("is when the last change was, to the second, and whoever has that gets 304", async () => {
    const campaignId = await activeCampaign();
    await sql`update ad_campaigns set updated_at = '2026-06-01T15:00:00.999Z' where id = ${campaignId}::uuid`;
    await sql`update ad_campaigns set updated_at = '2020-01-01' where id <> ${campaignId}::uuid`;
    await sql`update ad_banners set updated_at = '2020-01-01', starts_at = '2020-01-01'`;
    const shown = await readAnew();
    expect(lastModified(shown)).toBe("Mon, 01 Jun 2026 15:00:00 GMT");
    for (const date of ["2100", "Fri, 01 Jan 2100 00:00:00 GMT", "yesterday"])
      expect((await readAnew("", since(date))).status).toBe(200);
    for (const date of [lastModified(shown), new Date().toUTCString()]) {
      const again = await readAnew("", since(date));
      expect([again.status, again.text, lastModified(again)]).toEqual([304, "", lastModified(shown)]);
      expect(again.headers.get("cache-control")).toBe("public, max-age=5");
    }
    for (const date of ["Mon, 01 Jun 2026 14:59:59 GMT", "yesterday", ""]) {
      expect((await read("", since(date))).status).toBe(200);
    }
    expect((await read("", { ...since(lastModified(shown)), "if-none-match": '"a"' })).status).toBe(200);
  });

  test("goes without an ETag: the order takes turns while nothing changes", async () => {
    expect((await read()).headers.get("etag")).toBeNull();
  });

  test("is never within the last five seconds, when more may happen that counts as earlier", async () => {
    const before = Date.now();
    await activeCampaign();
    const changed = Date.parse(lastModified(await readAnew()));
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
    ["a banner's time has come", bannerStarts],
    ["a banner's time is over", bannerEnds],
    ["the campaign is paused", (id) => admin.post(pathOf(id, "/pause"))],
    ["the campaign is completed", (id) => admin.post(pathOf(id, "/complete"))],
    ["the campaign's dates are changed", (id) => admin.put(pathOf(id), { startsAt: inMs(day) })],
    ["the campaign's time has come", campaignStarts],
    ["the campaign's time is over", campaignEnds],
  ])("moves on when %s", async (_case, change) => {
    const campaignId = await activeCampaign();
    const bannerId = await add(campaignId);
    await sql`update ad_campaigns set updated_at = now() - interval '3 days'`;
    await sql`update ad_banners set updated_at = now() - interval '3 days', starts_at = now() - interval '4 days'`;
    const before = await readAnew();
    expect((await readAnew("", since(lastModified(before)))).status).toBe(304);
    await change(campaignId, bannerId);
    const after = await readAnew("", since(lastModified(before)));
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
  ["a locale that is none", "placement=a&locale=russian"],
  ["a city of other characters", "placement=a&cityId=New%20York"],
  ["a city that is empty", "placement=a&city="],
])("%s: 400 BAD_REQUEST", async (_case, query) => {
  expect(outcome(await client.get(`/api/v1/ads/banners?${query}`))).toBe("400 BAD_REQUEST");
});

test("is public; a token that is sent must be valid: 401 UNAUTHORIZED", async () => {
  const path = `/api/v1/ads/banners?placement=${placement}`;
  expect(outcome(await (await cast.user(client)).client.get(path))).toBe("200");
  expect(outcome(await client.as("x.y.z").get(path))).toBe("401 UNAUTHORIZED");
});
