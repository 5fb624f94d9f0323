import { z } from "zod";
import { ApiError, conflict, notFound } from "../../../lib/process/errors.js";
import { imageAddress } from "../../../lib/storage/file-store.js";
import { sql, transaction, type Db } from "../../../sql/db.js";
import {
  deleteBanner,
  findBanner,
  insertBanner,
  listBanners,
  updateBanner,
  type BannerRow,
} from "../../../sql/queries/banners.js";
import { findCampaign, lockCampaign } from "../../../sql/queries/campaigns.js";
import { releaseImage } from "../../../sql/queries/files.js";
import { created, noContent, ok, section } from "../../http/endpoint.js";
import { ImageFileId, claimOwnImage } from "../../common/own-image.js";
import { page, PageQuery } from "../../http/pagination.js";
import {
  changesOf,
  CityId,
  HttpsAddress,
  Id,
  IdParams,
  Instant,
  Locale,
  Placement,
  Timestamp,
} from "../../http/schemas.js";

const image = {
  imageUrl: HttpsAddress.optional(),
  imageFileId: ImageFileId.optional(),
};

const fields = {
  link: HttpsAddress.meta({ description: "where a tap on it leads", example: "https://example.com/offer" }),
  placement: Placement.meta({ description: "one of the campaign's" }),
  startsAt: Instant,
  endsAt: Instant.refine((end) => end.getTime() > Date.now(), "must be in the future").meta({
    description: "after the start, and in the future",
  }),
};

const BannerLocale = Locale.meta({ description: "shown only in requests for this locale; without it, in all" });
const BannerCity = CityId.meta({ description: "shown only in requests for this city; without it, in all" });
const Weight = z.int().min(1).max(100).meta({ description: "how often it comes first, compared with the others" });

const NewBanner = z
  .object({
    ...image,
    ...fields,
    locale: BannerLocale.optional(),
    cityId: BannerCity.optional(),
    weight: Weight.default(1),
  })
  .refine(({ imageUrl, imageFileId }) => (imageUrl === undefined) !== (imageFileId === undefined), {
    path: ["imageUrl"],
    message: "give one of imageUrl and imageFileId",
  })
  .refine(({ startsAt, endsAt }) => endsAt > startsAt, { message: "must be after startsAt", path: ["endsAt"] })
  .meta({
    example: {
      imageUrl: "https://cdn.example.com/spring.webp",
      link: "https://example.com/offer",
      placement: "home-top",
      startsAt: "2026-06-01T00:00:00+03:00",
      endsAt: "2100-06-30T23:59:00+03:00",
    },
  });

const BannerChanges = changesOf({
  ...image,
  ...fields,
  locale: BannerLocale.nullable(),
  cityId: BannerCity.nullable(),
  weight: Weight,
})
  .refine(({ imageUrl, imageFileId }) => imageUrl === undefined || imageFileId === undefined, {
    path: ["imageUrl"],
    message: "give one of imageUrl and imageFileId",
  })
  .meta({ example: { weight: 10, cityId: null } });

const CampaignBanner = z
  .object({
    id: Id,
    campaignId: Id,
    imageUrl: z.string(),
    link: z.string(),
    placement: z.string(),
    locale: z.string().nullable(),
    cityId: z.string().nullable(),
    startsAt: Timestamp,
    endsAt: Timestamp,
    weight: z.int(),
    impressions: z.int().meta({ description: "how often it was in a response" }),
    clicks: z.int(),
  })
  .meta({ id: "CampaignBanner" });

const present = ({ image, ...row }: BannerRow): z.output<typeof CampaignBanner> => ({
  ...row,
  imageUrl: image === null ? (row.imageUrl ?? "") : imageAddress(image),
  startsAt: row.startsAt.toISOString(),
  endsAt: row.endsAt.toISOString(),
});

const BannerParams = z.object({ id: Id, bannerId: Id });

const refuse = (path: string, message: string) =>
  new ApiError(400, "BAD_REQUEST", `${path}: ${message}`, { errors: [{ path, message }] });

const ownImage = (tx: Db, fileId: string, userId: string) =>
  claimOwnImage(tx, fileId, userId, { path: "imageFileId", code: "BAD_REQUEST" });

/** Locks a campaign while one of its banners is written; throws 409 for a completed one, and 400 for another placement. */
async function lockOpenCampaign(tx: Db, id: string, placement: string | undefined): Promise<void> {
  const campaign = await lockCampaign(tx, id);
  if (!campaign) throw notFound("This campaign");
  if (campaign.status === "COMPLETED") throw conflict("The banners of a COMPLETED campaign cannot be changed.");
  if (placement !== undefined && !campaign.placements.includes(placement))
    throw refuse("placement", `must be one of the campaign's: ${campaign.placements.join(", ")}`);
}

export const campaignBanners = section({ prefix: "/admin/ads/campaigns", tag: "Advertising", invalid: "BAD_REQUEST" });

campaignBanners.post(
  "/:id/banners",
  {
    summary: "Add a banner to a campaign",
    auth: "ADMIN",
    params: IdParams,
    body: NewBanner,
    answers: { 201: CampaignBanner },
    errors: ["409 CONFLICT"],
  },
  async ({ user, params, body }) => {
    const banner = await transaction(async (tx) => {
      await lockOpenCampaign(tx, params.id, body.placement);
      const fields = {
        ...body,
        imageUrl: body.imageUrl ?? null,
        image: body.imageFileId === undefined ? null : await ownImage(tx, body.imageFileId, user.id),
        locale: body.locale ?? null,
        cityId: body.cityId ?? null,
      };
      return insertBanner(tx, params.id, fields, user.id);
    });
    if (!banner) throw new Error("the inserted banner was not returned");
    return created(present(banner), `/api/v1/admin/ads/campaigns/${banner.campaignId}/banners/${banner.id}`);
  },
);

campaignBanners.get(
  "/:id/banners",
  {
    summary: "List a campaign's banners",
    auth: "ADMIN",
    params: IdParams,
    query: PageQuery,
    answers: { 200: z.array(CampaignBanner) },
  },
  async ({ params, query, address }) => {
    const { rows, headers } = await page(address, query, (after, limit) => listBanners(sql, params.id, after, limit));
    if (rows.length === 0 && !(await findCampaign(sql, params.id))) throw notFound("This campaign");
    return ok(rows.map(present), headers);
  },
);

campaignBanners.get(
  "/:id/banners/:bannerId",
  { summary: "Read a banner", auth: "ADMIN", params: BannerParams, answers: { 200: CampaignBanner } },
  async ({ params }) => {
    const banner = await findBanner(sql, params.id, params.bannerId);
    if (!banner) throw notFound("This banner");
    return ok(present(banner));
  },
);

campaignBanners.put(
  "/:id/banners/:bannerId",
  {
    summary: "Change a banner",
    description: "Any of the fields, at least one; other fields stay unchanged, and null removes a filter.",
    auth: "ADMIN",
    params: BannerParams,
    body: BannerChanges,
    answers: { 200: CampaignBanner },
    errors: ["409 CONFLICT"],
  },
  async ({ user, params, body }) => {
    const changed = await transaction(async (tx) => {
      await lockOpenCampaign(tx, params.id, body.placement);
      const before = await findBanner(tx, params.id, params.bannerId);
      if (!before) throw notFound("This banner");
      const shown =
        body.imageFileId !== undefined
          ? { imageUrl: null, image: await ownImage(tx, body.imageFileId, user.id) }
          : body.imageUrl !== undefined
            ? { imageUrl: body.imageUrl, image: null }
            : { imageUrl: before.imageUrl, image: before.image };
      const after: BannerRow = {
        ...before,
        ...shown,
        link: body.link ?? before.link,
        placement: body.placement ?? before.placement,
        locale: body.locale === undefined ? before.locale : body.locale,
        cityId: body.cityId === undefined ? before.cityId : body.cityId,
        startsAt: body.startsAt ?? before.startsAt,
        endsAt: body.endsAt ?? before.endsAt,
        weight: body.weight ?? before.weight,
      };
      if (after.endsAt <= after.startsAt) throw refuse("endsAt", "must be after startsAt");
      const sent = Object.entries(body).flatMap(([name, value]) => (value === undefined ? [] : [name]));
      await updateBanner(tx, params.bannerId, after, user.id, sent);
      if (after.image !== before.image) await releaseImage(tx, before.image);
      return after;
    });
    return ok(present(changed));
  },
);

campaignBanners.delete(
  "/:id/banners/:bannerId",
  {
    summary: "Delete a banner",
    description: "It is no longer shown; its counts stay.",
    auth: "ADMIN",
    params: BannerParams,
    answers: { 204: null },
  },
  async ({ user, params }) => {
    if (!(await deleteBanner(sql, params.id, params.bannerId, user.id))) throw notFound("This banner");
    return noContent();
  },
);
