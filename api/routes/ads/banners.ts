import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import { imageAddress } from "../../../lib/storage/file-store.js";
import { formatWait } from "../../../lib/outbound/retry-after.js";
import { weightedOrder } from "../../../lib/domain/weighted-order.js";
import { hasReplicas, lookups, type Db } from "../../../sql/db.js";
import { findAdsChange, findBannerLink, listBannersOnShow } from "../../../sql/queries/banners.js";
import { adCounters } from "./counters.js";
import { isValidTraffic, sourceOf } from "./traffic.js";
import { isUnmodified } from "../../http/answer.js";
import { found, ok, section } from "../../http/endpoint.js";
import { CityId, Id, Locale, Placement, Timestamp } from "../../http/schemas.js";
import { ShortCache } from "../../http/short-cache.js";

const cacheMs = 5_000;
const maxCached = 2_000;
const maxBanners = 100;

/**
 * A change gets its time before it commits, and Last-Modified has whole seconds. So Last-Modified is at least this much
 * before the read: a change that the read missed then always has a later time, also when a replica was read.
 */
const settlingMs = 5_000 + (hasReplicas ? config.DATABASE_REPLICA_MAX_LAG_MS : 0);

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

interface BannerList {
  banners: z.output<typeof Banner>[];
  bannerIds: readonly string[];
  lastModified: string;
}

async function load(db: Db, placement: string, locale: string | null, cityId: string | null): Promise<BannerList> {
  // read first: a later change may then be shown before its Last-Modified, but never hidden behind a newer one
  const { now, changedAt } = await findAdsChange(db);
  const rows = await listBannersOnShow(db, { placement, locale, cityId }, maxBanners);
  const rotation = Math.floor(now.getTime() / cacheMs);
  return {
    banners: weightedOrder(rows, String(rotation)).map(({ weight: _, image, imageUrl, ...row }) => ({
      ...row,
      imageUrl: image === null ? (imageUrl ?? "") : imageAddress(image),
    })),
    bannerIds: rows.map(({ id }) => id),
    lastModified: new Date(Math.min(changedAt.getTime(), now.getTime() - settlingMs)).toUTCString(),
  };
}

const lists = new ShortCache<BannerList>(cacheMs, maxCached);

export const ads = section({ prefix: "/ads", tag: "Advertising", invalid: "BAD_REQUEST" });

ads.get(
  "/banners",
  {
    name: "listBanners",
    summary: "Show the banners of a placement",
    description:
      "Banners of active campaigns, within the dates of campaign and banner, at most 100; none for an unknown placement. " +
      `Their order rotates by weight. A response may be cached for ${formatWait(cacheMs / 1_000)}; after that, its \`Last-Modified\` sent as ` +
      "`If-Modified-Since` gets 304 as long as nothing has changed. Each banner in a 200 response counts as an impression; " +
      "304, HEAD and cached responses do not count, nor does invalid traffic.",
    auth: "BANNER_READER",
    query: BannerQuery,
    headers: z.object({
      "if-modified-since": z.string().optional().meta({ example: "Mon, 01 Jun 2026 15:00:00 GMT" }),
    }),
    answers: { 200: z.array(Banner) },
    limit: { name: "banners", perMinute: config.RATE_LIMIT_BANNERS },
  },
  async ({ user, query: { placement, locale = null, city, cityId = city ?? null }, ip, incoming, reads }) => {
    const { banners, bannerIds, lastModified } = await lists.get([placement, locale, cityId].join(" "), () =>
      load(reads, placement, locale, cityId),
    );
    if (incoming.method === "GET" && bannerIds.length > 0 && !isUnmodified(incoming, lastModified)) {
      // the app behind a service key reads for all its users
      const hasServiceKey = user === null && incoming.headers.authorization !== undefined;
      // a banner has one placement, so reads of the placement bound its impressions
      const isValid = hasServiceKey || isValidTraffic(`shows ${placement}`, sourceOf(user, ip));
      adCounters.countImpressions(bannerIds, isValid);
    }
    return ok(banners, { "Last-Modified": lastModified, "Cache-Control": "public, max-age=5" });
  },
);

ads.get(
  "/banners/:id/click",
  {
    name: "followBanner",
    summary: "Follow a banner",
    description:
      "Redirects to the banner's link, and counts a click while the banner is on show. Apps open this address instead of " +
      "the link.",
    auth: "ANYONE",
    answers: { 302: null },
  },
  async ({ params, ip, incoming }) => {
    const banner = found(await findBannerLink(lookups, params.id), "This banner");
    if (banner.onShow && incoming.method === "GET")
      adCounters.countClick(banner.id, isValidTraffic(`click ${banner.id}`, sourceOf(null, ip)));
    return { status: 302 as const, headers: { Location: banner.link, "Cache-Control": "no-store" } };
  },
);
