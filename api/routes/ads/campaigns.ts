import { z } from "zod";
import { campaignMoves, type CampaignMove } from "../../../lib/domain/campaign-moves.js";
import { enums } from "../../../lib/domain/enums.js";
import { ApiError, conflict, notFound } from "../../../lib/process/errors.js";
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
import { created, ok, section } from "../../http/endpoint.js";
import { page, PageQuery } from "../../http/pagination.js";
import { Amount, changesOf, Id, IdParams, Instant, Money, Placement, text, Timestamp } from "../../http/schemas.js";

const fields = {
  name: text(200),
  placements: z
    .array(Placement)
    .min(1)
    .max(20)
    .refine((names) => new Set(names).size === names.length, "must name each placement once")
    .meta({ description: "where its banners may be shown", example: ["home-top"] }),
  budget: Amount,
};

const Cpm = Amount.meta({
  description: "the price of a thousand impressions, in major units; without it they are free",
});
const Start = Instant.meta({ description: "without it, the campaign starts at its activation" });
const End = Instant.refine((end) => end.getTime() > Date.now(), "must be in the future").meta({
  description: "after the start and in the future; without it, the campaign runs until it is completed",
});

const endsAfterItStarts = { message: "must be after startsAt", path: ["endsAt"] };

const NewCampaign = z
  .object({ ...fields, cpm: Cpm.optional(), startsAt: Start.optional(), endsAt: End.optional() })
  .refine(({ startsAt, endsAt }) => !startsAt || !endsAt || endsAt > startsAt, endsAfterItStarts);

const CampaignChanges = changesOf({
  ...fields,
  cpm: Cpm.nullable(),
  startsAt: Start.nullable(),
  endsAt: End.nullable(),
});

/** Up to a few seconds old. */
const counted = {
  impressions: z.int().meta({ description: "how often one of its banners was in a response" }),
  clicks: z.int(),
  spent: Money.meta({ description: "of the budget, in major units, rounded down to two decimals" }),
};

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
    ...counted,
    createdAt: Timestamp,
  })
  .meta({ id: "Campaign" });

const present = ({ budgetMinor, cpmMinor, spentMicro, ...row }: CampaignRow): z.output<typeof Campaign> => ({
  ...row,
  budget: toMajor(budgetMinor),
  cpm: cpmMinor === null ? null : toMajor(cpmMinor),
  spent: toMajor(wholeMinor(spentMicro)),
  startsAt: row.startsAt?.toISOString() ?? null,
  endsAt: row.endsAt?.toISOString() ?? null,
  createdAt: row.createdAt.toISOString(),
});

const refuse = (path: string, message: string) =>
  new ApiError(400, "BAD_REQUEST", `${path}: ${message}`, { errors: [{ path, message }] });

export const campaigns = section({ prefix: "/admin/ads/campaigns", tag: "Advertising", invalid: "BAD_REQUEST" });

campaigns.post(
  "/",
  {
    summary: "Create a campaign",
    description: "It is a draft until it is activated.",
    auth: "ADMIN",
    body: NewCampaign,
    answers: { 201: z.object({ id: Id, name: z.string(), status: CampaignStatus }) },
  },
  async ({ user, body: { budget, cpm, ...body } }) => {
    const campaign = await insertCampaign(
      sql,
      {
        ...body,
        budgetMinor: budget,
        cpmMinor: cpm ?? null,
        startsAt: body.startsAt ?? null,
        endsAt: body.endsAt ?? null,
      },
      user.id,
    );
    if (!campaign) throw new Error("the inserted campaign was not returned");
    return created(campaign, `/api/v1/admin/ads/campaigns/${campaign.id}`);
  },
);

campaigns.get(
  "/",
  {
    summary: "List campaigns, newest first",
    auth: "ADMIN",
    query: PageQuery.extend({ status: CampaignStatus.optional() }),
    answers: { 200: z.array(Campaign) },
  },
  async ({ query, address }) => {
    const { rows, headers } = await page(address, query, (after, limit) =>
      listCampaigns(sql, query.status ?? null, after, limit),
    );
    return ok(rows.map(present), headers);
  },
);

campaigns.get(
  "/:id",
  { summary: "Read a campaign", auth: "ADMIN", params: IdParams, answers: { 200: Campaign } },
  async ({ params }) => {
    const campaign = await findCampaign(sql, params.id);
    if (!campaign) throw notFound("This campaign");
    return ok(present(campaign));
  },
);

campaigns.put(
  "/:id",
  {
    summary: "Change a campaign",
    description:
      "Any of the fields, at least one; other fields stay unchanged, and null clears an optional one. A placement with " +
      "banners cannot be removed, the budget must stay above what is spent, and a COMPLETED campaign cannot be changed.",
    auth: "ADMIN",
    params: IdParams,
    body: CampaignChanges,
    answers: { 200: Campaign },
    errors: ["409 CONFLICT"],
  },
  async ({ user, params, body: { budget, cpm, ...body } }) => {
    const changed = await transaction(async (tx) => {
      const before = await lockCampaign(tx, params.id);
      if (!before) throw notFound("This campaign");
      if (before.status === "COMPLETED") throw conflict("A COMPLETED campaign cannot be changed.");
      const after: CampaignRow = {
        ...before,
        name: body.name ?? before.name,
        placements: body.placements ?? before.placements,
        budgetMinor: budget ?? before.budgetMinor,
        cpmMinor: cpm === undefined ? before.cpmMinor : cpm,
        startsAt: body.startsAt === undefined ? before.startsAt : body.startsAt,
        endsAt: body.endsAt === undefined ? before.endsAt : body.endsAt,
      };
      if (after.startsAt && after.endsAt && after.endsAt <= after.startsAt)
        throw refuse("endsAt", "must be after startsAt");
      if (before.spentMicro > 0 && toMicro(after.budgetMinor) <= before.spentMicro)
        throw conflict("The campaign has already spent that much: set a higher budget, or complete it.");
      const used = (await listBannerPlacements(tx, params.id)).filter((name) => !after.placements.includes(name));
      if (used.length > 0) throw conflict(`There are banners for ${used.join(", ")}: move or delete them first.`);
      const sent = Object.entries({ ...body, budget, cpm }).flatMap(([name, value]) =>
        value === undefined ? [] : [name],
      );
      await updateCampaign(tx, params.id, after, user.id, sent);
      return after;
    });
    return ok(present(changed));
  },
);

/** Declares one of the moves; repeating a move returns the state that it led to. */
function declareMove(path: string, summary: string, description: string, move: CampaignMove): void {
  campaigns.post(
    `/:id/${path}`,
    { summary, description, auth: "ADMIN", params: IdParams, answers: { 200: Campaign }, errors: ["409 CONFLICT"] },
    async ({ user, params }) => {
      const moved = await moveCampaign(sql, params.id, move, user.id);
      if (moved) return ok(present(moved));
      const campaign = await findCampaign(sql, params.id);
      if (!campaign) throw notFound("This campaign");
      if (campaign.status === campaignMoves[move].to) return ok(present(campaign));
      const allowed = campaignMoves[move].from.some((status) => status === campaign.status);
      throw conflict(
        allowed ? "The campaign's end has passed." : `A campaign that is ${campaign.status} does not allow this move.`,
      );
    },
  );
}

declareMove(
  "activate",
  "Activate a campaign",
  "Its banners are shown within the dates of campaign and banner.",
  "ACTIVATE",
);
declareMove("pause", "Pause a campaign", "It can be activated again.", "PAUSE");
declareMove(
  "complete",
  "Complete a campaign",
  "For good. A campaign also completes at its end date and when its budget is spent; then the admins who worked on it are " +
    "notified.",
  "COMPLETE",
);
