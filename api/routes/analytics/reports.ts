import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import { daysOf, type Period } from "../../../lib/domain/days.js";
import { toMajor } from "../../../lib/domain/money.js";
import { reports, sql } from "../../../sql/db.js";
import {
  findDashboard,
  findPartnerTotals,
  listListingsByHour,
  listOrdersByHour,
  listTopBoxes,
  listTopPartners,
  type Totals,
} from "../../../sql/queries/analytics.js";
import { findPartner } from "../../../sql/queries/partners.js";
import { found, ok, section } from "../../http/endpoint.js";
import { notFound } from "../../http/refusals.js";
import { Limit } from "../../http/pagination.js";
import { Id, Money } from "../../http/schemas.js";

const Period = z
  .enum(["7d", "30d", "90d", "1y"])
  .default("30d")
  .meta({ description: `the last days, today included, in ${config.DEFAULT_TIMEZONE}` });
const PeriodQuery = z.object({ period: Period });
const ReportQuery = PeriodQuery.extend({ partnerId: Id.optional().meta({ description: "only this partner" }) });
const RankingQuery = ReportQuery.extend({
  limit: Limit(10, 100),
  sort: z.enum(["gmv", "orders"]).default("gmv").meta({ description: "by amount due, or by number of orders" }),
});

const totals = {
  orders: z.int().meta({ description: "without cancelled orders" }),
  gmv: Money.meta({ description: "their amount due, in major units" }),
};
const HourCount = z.object({ hour: z.int().min(0).max(23), count: z.int() });
const PartnerTotals = z.object({ partnerId: Id, ...totals });

const present = ({ orders, gmvMinor }: Totals) => ({ orders, gmv: toMajor(gmvMinor) });

const daysNow = (period: Period) => daysOf(period, Date.now(), config.DEFAULT_TIMEZONE);

/** Returns the partner that a report is about, if any; throws 404 when it does not exist. */
async function reportPartner(partnerId: string | undefined): Promise<string | null> {
  return partnerId === undefined ? null : found(await findPartner(sql, partnerId), "This partner").id;
}

export const analytics = section({ prefix: "/admin/analytics", tag: "Analytics", invalid: "BAD_REQUEST" });

analytics.get(
  "/dashboard",
  {
    name: "readDashboard",
    summary: "Show the platform's figures",
    description:
      "`activePartners` counts active partners that had an order; food counts as saved when it is picked up.",
    auth: "ADMIN",
    query: ReportQuery,
    answers: {
      200: z.object({
        ...totals,
        activePartners: z.int(),
        commission: Money,
        foodSavedGrams: z.int(),
        period: z.string(),
      }),
    },
    errors: [notFound],
    csv: true,
  },
  async ({ query: { period, partnerId } }) => {
    const figures = await findDashboard(reports, daysNow(period), await reportPartner(partnerId));
    const { activePartners, commissionMinor, foodSavedGrams } = figures;
    return ok({ ...present(figures), activePartners, commission: toMajor(commissionMinor), foodSavedGrams, period });
  },
);

analytics.get(
  "/partners/:id",
  {
    name: "readPartnerAnalytics",
    summary: "Show a partner's figures",
    auth: "ADMIN",
    query: PeriodQuery,
    answers: { 200: PartnerTotals },
    csv: true,
  },
  async ({ params, query }) => {
    const { id } = found(await findPartner(sql, params.id), "This partner");
    return ok({ partnerId: id, ...present(await findPartnerTotals(reports, daysNow(query.period), id)) });
  },
);

analytics.get(
  "/top-boxes",
  {
    name: "rankBoxes",
    summary: "Rank the boxes that were ordered",
    description: "By the amount due for the box, less its share of the order's discount.",
    auth: "ADMIN",
    query: RankingQuery,
    answers: { 200: z.array(z.object({ boxId: Id, title: z.string(), ...totals })) },
    errors: [notFound],
    csv: true,
  },
  async ({ query: { period, partnerId, sort, limit } }) => {
    const rows = await listTopBoxes(reports, daysNow(period), await reportPartner(partnerId), sort, limit);
    return ok(rows.map(({ boxId, title, ...row }) => ({ boxId, title, ...present(row) })));
  },
);

analytics.get(
  "/top-partners",
  {
    name: "rankPartners",
    summary: "Rank the partners that had orders",
    auth: "ADMIN",
    query: RankingQuery,
    answers: { 200: z.array(z.object({ partnerId: Id, name: z.string(), ...totals })) },
    errors: [notFound],
    csv: true,
  },
  async ({ query: { period, partnerId, sort, limit } }) => {
    const rows = await listTopPartners(reports, daysNow(period), await reportPartner(partnerId), sort, limit);
    return ok(rows.map(({ partnerId, name, ...row }) => ({ partnerId, name, ...present(row) })));
  },
);

const hours = `Hours of the day in ${config.DEFAULT_TIMEZONE}, 0 to 23, including hours without any.`;

const heatmaps = [
  {
    path: "/order-heatmap",
    name: "countOrdersByHour",
    summary: "Count orders by hour of the day",
    list: listOrdersByHour,
  },
  {
    path: "/listing-heatmap",
    name: "countListingsByHour",
    summary: "Count listed boxes by hour of the day",
    list: listListingsByHour,
  },
] as const;

for (const { path, name, summary, list } of heatmaps) {
  analytics.get(
    path,
    {
      name,
      summary,
      description: hours,
      auth: "ADMIN",
      query: ReportQuery,
      answers: { 200: z.array(HourCount) },
      errors: [notFound],
      csv: true,
    },
    async ({ query: { period, partnerId } }) =>
      ok([...(await list(reports, daysNow(period), await reportPartner(partnerId)))]),
  );
}

analytics.get(
  "/peak-hours",
  {
    name: "rankPeakHours",
    summary: "Rank the hours of the day by orders",
    description: hours,
    auth: "ADMIN",
    query: ReportQuery.extend({ limit: Limit(5, 100) }),
    answers: { 200: z.array(HourCount) },
    errors: [notFound],
    csv: true,
  },
  async ({ query: { period, partnerId, limit } }) => {
    const rows = await listOrdersByHour(reports, daysNow(period), await reportPartner(partnerId));
    return ok([...rows].sort((a, b) => b.count - a.count || a.hour - b.hour).slice(0, limit));
  },
);

export const ownAnalytics = section({ prefix: "/partners", tag: "Analytics", invalid: "BAD_REQUEST" });

ownAnalytics.get(
  "/me/analytics",
  {
    name: "readOwnAnalytics",
    summary: "Show your partner's figures",
    auth: "PARTNER",
    query: PeriodQuery,
    answers: { 200: PartnerTotals },
    csv: true,
  },
  async ({ partner, query }) =>
    ok({ partnerId: partner.id, ...present(await findPartnerTotals(sql, daysNow(query.period), partner.id)) }),
);
