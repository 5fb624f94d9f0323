import { z } from "zod";
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
import { created, found, noContent, ok, section } from "../../http/endpoint.js";
import { invalidFields, notFound } from "../../http/refusals.js";
import { campaignCompleted } from "./refusals.js";
import { claimOwnImage, ImageFileId, imageNotReady } from "../../common/own-image.js";
import { page, PageQuery } from "../../http/pagination.js";
import {
  changesOf,
  CityId,
  HttpsAddress,
  Id,
  Instant,
  Locale,
  orNull,
  Placement,
  Timestamp,
  withChanges,
} from "../../http/schemas.js";

const fields = {
  imageUrl: HttpsAddress,
  imageFileId: ImageFileId,
  link: HttpsAddress.meta({ description: "where a tap on it leads" }),
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
    ...fields,
    imageUrl: orNull(fields.imageUrl),
    imageFileId: fields.imageFileId.optional(),
    locale: orNull(BannerLocale),
    cityId: orNull(BannerCity),
    weight: Weight.default(1),
  })
  .refine(({ imageUrl, imageFileId }) => (imageUrl === null) !== (imageFileId === undefined), {
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
});

const ownImage = (tx: Db, fileId: string, userId: string) =>
  claimOwnImage(tx, fileId, userId, { path: "imageFileId", code: "BAD_REQUEST" });

/** Locks a campaign while one of its banners is written; throws 409 for a completed one, and 400 for another placement. */
async function lockOpenCampaign(tx: Db, id: string, placement: string | undefined): Promise<void> {
  const { status, placements } = found(await lockCampaign(tx, id), "This campaign");
  if (status === "COMPLETED") throw campaignCompleted("The banners of a COMPLETED campaign cannot be changed.");
  if (placement !== undefined && !placements.includes(placement)) {
    const message = `must be one of the campaign's: ${placements.join(", ")}`;
    throw invalidFields("BAD_REQUEST", [{ path: "placement", message }]);
  }
}

export const campaignBanners = section({ prefix: "/admin/ads/campaigns", tag: "Advertising", invalid: "BAD_REQUEST" });

campaignBanners.post(
  "/:id/banners",
  {
    name: "addCampaignBanner",
    summary: "Add a banner to a campaign",
    auth: "ADMIN",
    body: NewBanner,
    answers: { 201: CampaignBanner },
    errors: [campaignCompleted, imageNotReady],
  },
  async ({ user, params, body: { imageFileId, ...fields } }) => {
    const banner = await transaction(async (tx) => {
      await lockOpenCampaign(tx, params.id, fields.placement);
      const image = imageFileId === undefined ? null : await ownImage(tx, imageFileId, user.id);
      return insertBanner(tx, params.id, { ...fields, image }, user.id);
    });
    if (!banner) throw new Error("the inserted banner was not returned");
    return created(present(banner), `/api/v1/admin/ads/campaigns/${banner.campaignId}/banners/${banner.id}`);
  },
);

campaignBanners.get(
  "/:id/banners",
  {
    name: "listCampaignBanners",
    summary: "List a campaign's banners",
    auth: "ADMIN",
    query: PageQuery,
    answers: { 200: z.array(CampaignBanner) },
  },
  async ({ params, query, address }) => {
    const list = (after: string | null, limit: number) => listBanners(sql, params.id, after, limit);
    const answer = await page(address, query, list, present);
    if (answer.body.length === 0) found(await findCampaign(sql, params.id), "This campaign");
    return answer;
  },
);

campaignBanners.get(
  "/:id/banners/:bannerId",
  { name: "readCampaignBanner", summary: "Read a banner", auth: "ADMIN", answers: { 200: CampaignBanner } },
  async ({ params }) => ok(present(found(await findBanner(sql, params.id, params.bannerId), "This banner"))),
);

campaignBanners.put(
  "/:id/banners/:bannerId",
  {
    name: "changeCampaignBanner",
    summary: "Change a banner",
    description: "Null removes a filter.",
    auth: "ADMIN",
    body: BannerChanges,
    answers: { 200: CampaignBanner },
    errors: [campaignCompleted, imageNotReady],
  },
  async ({ user, params, body }) => {
    const { imageFileId, ...fields } = body;
    const changed = await transaction(async (tx) => {
      await lockOpenCampaign(tx, params.id, fields.placement);
      const before = found(await findBanner(tx, params.id, params.bannerId), "This banner");
      const after = withChanges(before, fields);
      if (imageFileId !== undefined) {
        after.imageUrl = null;
        after.image = await ownImage(tx, imageFileId, user.id);
      } else if (fields.imageUrl !== undefined) {
        after.image = null;
      }
      if (after.endsAt <= after.startsAt)
        throw invalidFields("BAD_REQUEST", [{ path: "endsAt", message: "must be after startsAt" }]);
      await updateBanner(tx, params.bannerId, after, user.id, Object.keys(body));
      if (after.image !== before.image) await releaseImage(tx, before.image);
      return after;
    });
    return ok(present(changed));
  },
);

campaignBanners.delete(
  "/:id/banners/:bannerId",
  {
    name: "deleteCampaignBanner",
    summary: "Delete a banner",
    description: "It is no longer shown; its counts stay.",
    auth: "ADMIN",
    answers: { 204: null },
  },
  async ({ user, params }) => {
    if (!(await deleteBanner(sql, params.id, params.bannerId, user.id))) throw notFound("This banner");
    return noContent();
  },
);
