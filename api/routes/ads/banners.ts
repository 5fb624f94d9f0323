import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import { notFound } from "../../../lib/process/errors.js";
import { imageAddress } from "../../../lib/storage/file-store.js";
import { formatWait } from "../../../lib/outbound/retry-after.js";
import { weightedOrder } from "../../../lib/domain/weighted-order.js";
import { lookups, sql } from "../../../sql/db.js";
import { findAdsChange, findBannerLink, listBannersOnShow } from "../../../sql/queries/banners.js";
import { adCounters } from "./counters.js";
import { isUnmodified } from "../../http/answer.js";
import { ok, section } from "../../http/endpoint.js";
import { CityId, Id, IdParams, Locale, Placement, Timestamp } from "../../http/schemas.js";
import { ShortCache } from "../../http/short-cache.js";

const cacheMs = 5_000;
const maxCached = 2_000;
const maxBanners = 100;

/**
 * A change is stamped a moment before it can be read, and Last-Modified has no fractions of a second. So it is never
 * said to be later than this before the reading: then whatever that missed is always later than what it was said to be.
 */
const settlingMs = 5_000;

const BannerQuery = z.object({
  placement: Placement,
  locale: Locale.optional().meta({ description: "banners for this locale, and those for every locale" }),
  cityId: CityId.optional().meta({ description: "banners for this city, and those for every city" }),
  city: CityId.optional().meta({ description: "the same as `cityId`" }),
});

const Banner = z
  .object({
    id: Id,
    imageUrl: z.string(),
    link: z.string(),
    placement: z.string(),
    startsAt: Timestamp,
    endsAt: Timestamp,
  })
  .meta({ id: "Banner" });

interface Show {
  banners: z.output<typeof Banner>[];
  bannerIds: readonly string[];
  lastModified: string;
}

async function load(placement: string, locale: string | null, cityId: string | null): Promise<Show> {
  // first of all: what changes after this is shown too early rather than said to be old
  const { now, changedAt } = await findAdsChange(lookups);
  const rows = await listBannersOnShow(sql, { placement, locale, cityId }, maxBanners);
  const turn = Math.floor(now.getTime() / cacheMs);
  return {
    banners: weightedOrder(rows, String(turn)).map(({ weight: _, image, imageUrl, ...row }) => ({
      ...row,
      imageUrl: image === null ? (imageUrl ?? "") : imageAddress(image),
      startsAt: row.startsAt.toISOString(),
      endsAt: row.endsAt.toISOString(),
    })),
    bannerIds: rows.map(({ id }) => id),
    lastModified: new Date(Math.min(changedAt.getTime(), now.getTime() - settlingMs)).toUTCString(),
  };
}

const shows = new ShortCache<Show>(cacheMs, maxCached);

export const ads = section({ prefix: "/ads", tag: "Advertising", invalid: "BAD_REQUEST" });

ads.get(
  "/banners",
  {
    summary: "Show the banners of a placement",
    description:
      "Those of active campaigns, within the dates of campaign and banner, at most 100; none for a placement that nobody " +
      `knows. They take turns in coming first, by weight. What was read may be kept for ${formatWait(cacheMs / 1_000)}; after that, whoever ` +
      "sends its `Last-Modified` back as `If-Modified-Since` gets 304 as long as nothing has changed. Each banner in an " +
      "answer of 200 counts as an impression of it; 304, an answer to HEAD, and what was kept elsewhere do not.",
    auth: "BANNER_READER",
    query: BannerQuery,
    headers: z.object({
      "if-modified-since": z.string().optional().meta({ example: "Mon, 01 Jun 2026 15:00:00 GMT" }),
    }),
    answers: { 200: z.array(Banner) },
    limit: { name: "banners", perMinute: config.RATE_LIMIT_BANNERS },
  },
  async ({ query: { placement, locale = null, city, cityId = city ?? null }, incoming }) => {
    const { banners, bannerIds, lastModified } = await shows.get([placement, locale, cityId].join(" "), () =>
      load(placement, locale, cityId),
    );
    if (incoming.method === "GET" && !isUnmodified(incoming, lastModified)) adCounters.countAnswer(bannerIds);
    return ok(banners, { "Last-Modified": lastModified, "Cache-Control": "public, max-age=5" });
  },
);

ads.get(
  "/banners/:id/click",
  {
    summary: "Follow a banner",
    description:
      "Leads to the banner's link, and counts a click as long as the banner is on show. Apps open this address instead " +
      "of the link.",
    auth: "ANYONE",
    params: IdParams,
    answers: { 302: null },
  },
  async ({ params, incoming }) => {
    const banner = await findBannerLink(lookups, params.id);
    if (!banner) throw notFound("This banner");
    if (banner.onShow && incoming.method === "GET") adCounters.countClick(banner.id);
    return { status: 302 as const, headers: { Location: banner.link, "Cache-Control": "no-store" } };
  },
);
