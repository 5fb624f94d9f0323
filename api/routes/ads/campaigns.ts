import { z } from "zod";
import { campaignMoves, type CampaignMove } from "../../../lib/domain/campaign-moves.js";
import { enums } from "../../../lib/domain/enums.js";
import { toMajor, toMicro, wholeMinor } from "../../../lib/domain/money.js";
import { sql, transaction } from "../../../sql/db.js";
import { listBannerPlacements } from "../../../sql/queries/banners.js";
import {
  findCampaign,
  insertCampaign,
  listCampaigns,
  moveCampaign,
  lockCampaign,
  updateCampaign,
  type CampaignRow,
} from "../../../sql/queries/campaigns.js";
import type { Title } from "../../http/declaration.js";
import { created, found, ok, section } from "../../http/endpoint.js";
import { budgetSpent, campaignCompleted, campaignEnded, campaignMoveNotAllowed, placementInUse } from "./refusals.js";
import { invalidFields } from "../../http/refusals.js";
import { page, PageQuery } from "../../http/pagination.js";
import {
  Amount,
  changesOf,
  Id,
  Instant,
  Money,
  orNull,
  Placement,
  text,
  Timestamp,
  withChanges,
} from "../../http/schemas.js";

const fields = {
  name: text(200),
  placements: z
    .array(Placement)
    .min(1)
    .max(20)
    .refine((names) => new Set(names).size === names.length, "must name each placement once")
    .meta({ description: "where its banners may be shown" }),
  budget: Amount,
};

const Cpm = Amount.meta({
  description: "the price of a thousand impressions, in major units; without it they are free",
});
const Start = Instant.meta({ description: "without it, the campaign starts at its activation" });
const End = Instant.refine((end) => end.getTime() > Date.now(), "must be in the future").meta({
  description: "after the start and in the future; without it, the campaign runs until it is completed",
});

const NewCampaign = z
  .object({ ...fields, cpm: orNull(Cpm), startsAt: orNull(Start), endsAt: orNull(End) })
  .refine(({ startsAt, endsAt }) => !startsAt || !endsAt || endsAt > startsAt, {
    message: "must be after startsAt",
    path: ["endsAt"],
  });

const CampaignChanges = changesOf({
  ...fields,
  cpm: Cpm.nullable(),
  startsAt: Start.nullable(),
  endsAt: End.nullable(),
});

const CampaignStatus = z.enum(enums.campaignStatus);

const Campaign = z
  .object({
    id: Id,
    name: z.string(),
    placements: z.array(z.string()),
    budget: Money,
    cpm: Money.nullable(),
    status: CampaignStatus,
    startsAt: Timestamp.nullable(),
    endsAt: Timestamp.nullable(),
    // the counts are up to a few seconds old
    impressions: z.int().meta({ description: "how often one of its banners was in a response" }),
    clicks: z.int(),
    spent: Money.meta({ description: "of the budget, in major units, rounded down to two decimals" }),
    createdAt: Timestamp,
  })
  .meta({ id: "Campaign" });

const present = ({ budgetMinor, cpmMinor, spentMicro, ...row }: CampaignRow): z.output<typeof Campaign> => ({
  ...row,
  budget: toMajor(budgetMinor),
  cpm: cpmMinor === null ? null : toMajor(cpmMinor),
  spent: toMajor(wholeMinor(spentMicro)),
});

export const campaigns = section({ prefix: "/admin/ads/campaigns", tag: "Advertising", invalid: "BAD_REQUEST" });

campaigns.post(
  "/",
  {
    name: "createCampaign",
    summary: "Create a campaign",
    description: "It is a draft until it is activated.",
    auth: "ADMIN",
    body: NewCampaign,
    answers: { 201: z.object({ id: Id, name: z.string(), status: CampaignStatus }) },
  },
  async ({ user, body: { budget, cpm, ...fields } }) => {
    const campaign = await insertCampaign(sql, { ...fields, budgetMinor: budget, cpmMinor: cpm }, user.id);
    if (!campaign) throw new Error("the inserted campaign was not returned");
    return created(campaign, `/api/v1/admin/ads/campaigns/${campaign.id}`);
  },
);

campaigns.get(
  "/",
  {
    name: "listCampaigns",
    summary: "List campaigns, newest first",
    auth: "ADMIN",
    query: PageQuery.extend({ status: orNull(CampaignStatus) }),
    answers: { 200: z.array(Campaign) },
  },
  ({ query, address }) =>
    page(address, query, (after, limit) => listCampaigns(sql, query.status, after, limit), present),
);

campaigns.get(
  "/:id",
  { name: "readCampaign", summary: "Read a campaign", auth: "ADMIN", answers: { 200: Campaign } },
  async ({ params }) => ok(present(found(await findCampaign(sql, params.id), "This campaign"))),
);

campaigns.put(
  "/:id",
  {
    name: "changeCampaign",
    summary: "Change a campaign",
    description:
      "Null clears an optional field. A placement with banners cannot be removed, the budget must stay above what is spent, " +
      "and a COMPLETED campaign cannot be changed.",
    auth: "ADMIN",
    body: CampaignChanges,
    answers: { 200: Campaign },
    errors: [campaignCompleted, budgetSpent, placementInUse],
  },
  async ({ user, params, body }) => {
    const { budget: budgetMinor, cpm: cpmMinor, ...fields } = body;
    const changed = await transaction(async (tx) => {
      const before = found(await lockCampaign(tx, params.id), "This campaign");
      if (before.status === "COMPLETED") throw campaignCompleted();
      const after = withChanges(before, { ...fields, budgetMinor, cpmMinor });
      if (after.startsAt && after.endsAt && after.endsAt <= after.startsAt)
        throw invalidFields("BAD_REQUEST", [{ path: "endsAt", message: "must be after startsAt" }]);
      if (before.spentMicro > 0 && toMicro(after.budgetMinor) <= before.spentMicro) throw budgetSpent();
      const used = (await listBannerPlacements(tx, params.id)).filter((name) => !after.placements.includes(name));
      if (used.length > 0) throw placementInUse({ placements: used });
      await updateCampaign(tx, params.id, after, user.id, Object.keys(body));
      return after;
    });
    return ok(present(changed));
  },
);

/** Declares one of the moves; repeating a move returns the state that it led to. */
function declareMove(path: `/:id/${string}`, title: Title, description: string, move: CampaignMove): void {
  campaigns.post(
    path,
    {
      ...title,
      description,
      auth: "ADMIN",
      answers: { 200: Campaign },
      errors: move === "ACTIVATE" ? [campaignEnded, campaignMoveNotAllowed] : [campaignMoveNotAllowed],
    },
    async ({ user, params }) => {
      const moved = await moveCampaign(sql, params.id, move, user.id);
      if (moved) return ok(present(moved));
      const campaign = found(await findCampaign(sql, params.id), "This campaign");
      if (campaign.status === campaignMoves[move].to) return ok(present(campaign));
      const allowed = campaignMoves[move].from.some((status) => status === campaign.status);
      // only an activation looks at the dates
      throw allowed && move === "ACTIVATE"
        ? campaignEnded()
        : campaignMoveNotAllowed({ campaignStatus: campaign.status });
    },
  );
}

declareMove(
  "/:id/activate",
  { name: "activateCampaign", summary: "Activate a campaign" },
  "Its banners are shown within the dates of campaign and banner.",
  "ACTIVATE",
);
declareMove(
  "/:id/pause",
  { name: "pauseCampaign", summary: "Pause a campaign" },
  "It can be activated again.",
  "PAUSE",
);
declareMove(
  "/:id/complete",
  { name: "completeCampaign", summary: "Complete a campaign" },
  "For good. A campaign also completes at its end date and when its budget is spent; then the admins who worked on it are " +
    "notified.",
  "COMPLETE",
);
