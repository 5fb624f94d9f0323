import { z } from "zod";
import { config } from "../../lib/config.js";
import { imageAddress } from "../../lib/file-store.js";
import { weightedOrder } from "../../lib/weighted-order.js";
import { lookups, sql } from "../../sql/db.js";
import { findAdsChange, listBannersOnShow } from "../../sql/queries/banners.js";
import { ok, section } from "../endpoint.js";
import { CityId, Id, Locale, Placement, Timestamp } from "../schemas.js";
import { ShortCache } from "../short-cache.js";

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
      "knows. They take turns in coming first, by weight. What was read may be kept for 5 seconds; after that, whoever " +
      "sends its `Last-Modified` back as `If-Modified-Since` gets 304 as long as nothing has changed.",
    auth: "BANNER_READER",
    query: BannerQuery,
    headers: z.object({
      "if-modified-since": z.string().optional().meta({ example: "Mon, 01 Jun 2026 15:00:00 GMT" }),
    }),
    answers: { 200: z.array(Banner) },
    limit: { name: "banners", perMinute: config.RATE_LIMIT_BANNERS },
  },
  async ({ query: { placement, locale = null, city, cityId = city ?? null } }) => {
    const { banners, lastModified } = await shows.get([placement, locale, cityId].join(" "), () =>
      load(placement, locale, cityId),
    );
    return ok(banners, { "Last-Modified": lastModified, "Cache-Control": "public, max-age=5" });
  },
);
