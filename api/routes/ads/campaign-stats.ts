import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import { addDays, dayOf } from "../../../lib/domain/days.js";
import { toMajor, wholeMinor } from "../../../lib/domain/money.js";
import { sql } from "../../../sql/db.js";
import { findCampaign, listCampaignDays } from "../../../sql/queries/campaigns.js";
import { found, ok, section } from "../../http/endpoint.js";
import { Day, Money } from "../../http/schemas.js";

/** A leap year. */
const maxDays = 366;
const defaultDays = 30;

interface Span {
  from?: string | undefined;
  to?: string | undefined;
}

/** Returns the first and the last day of a span. */
function daysOf({ from, to }: Span): { first: string; last: string } {
  const last = to ?? dayOf(Date.now(), config.DEFAULT_TIMEZONE);
  return { first: from ?? addDays(last, 1 - defaultDays), last };
}

const StatsQuery = z
  .object({
    from: Day.optional().meta({ description: `the first day; without it, so that there are ${defaultDays}` }),
    to: Day.optional().meta({ description: "the last day, included; without it, today" }),
  })
  .refine(
    (span) => {
      const { first, last } = daysOf(span);
      return first <= last && last < addDays(first, maxDays);
    },
    { path: ["from"], message: `must not be after the last day, nor more than ${maxDays - 1} days before it` },
  );

const CampaignDay = z
  .object({
    day: Day,
    impressions: z.int(),
    clicks: z.int(),
    spent: Money.meta({ description: "in major units, rounded down to two decimals" }),
    invalidImpressions: z.int().meta({ description: "beyond what one user or address may cause; they cost nothing" }),
    invalidClicks: z.int(),
  })
  .meta({ id: "CampaignDay" });

export const campaignStats = section({ prefix: "/admin/ads/campaigns", tag: "Advertising", invalid: "BAD_REQUEST" });

campaignStats.get(
  "/:id/stats",
  {
    name: "readCampaignStats",
    summary: "Show a campaign's counts, day by day",
    description:
      `Every day of at most ${maxDays}, including days without counts, in ${config.DEFAULT_TIMEZONE}. Counts after the ` +
      "completion of a campaign cost nothing. Of one user, or of one address without a token, at most " +
      `${config.AD_EVENTS_PER_MINUTE} impressions of a banner a minute and ${config.AD_EVENTS_PER_DAY} a day count, and as ` +
      "many clicks; others are invalid traffic.",
    auth: "ADMIN",
    query: StatsQuery,
    answers: { 200: z.array(CampaignDay) },
    csv: true,
  },
  async ({ params, query }) => {
    const { first, last } = daysOf(query);
    const days = await listCampaignDays(sql, params.id, first, last);
    found(await findCampaign(sql, params.id), "This campaign");
    return ok(days.map(({ spentMicro, ...day }) => ({ ...day, spent: toMajor(wholeMinor(spentMicro)) })));
  },
);
