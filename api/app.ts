import express from "express";
import { config } from "../lib/process/config.js";
import { publicKeys } from "../lib/security/tokens.js";
import { operatorsConsole } from "./ops/console/router.js";
import { dashboard } from "./ops/dashboard/router.js";
import { demoBoard } from "./ops/demo-board.js";
import { docs, leadToDocs } from "./ops/docs.js";
import { errorsPage } from "./ops/errors-page.js";
import { limitBodyTime } from "./http/body-time.js";
import { allowOrigins } from "./http/cors.js";
import type { Section } from "./http/endpoint.js";
import { handleError } from "./http/errors.js";
import { fileContent } from "./routes/files/content.js";
import { health } from "./ops/health.js";
import { observe } from "./http/observe.js";
import { sendOpenApi } from "./http/openapi.js";
import { methodNotAllowed, notFound } from "./http/refusals.js";
import { safetyHeaders } from "./http/safety-headers.js";
import { warnOfProxy } from "./http/warn-of-proxy.js";
import { ads } from "./routes/ads/banners.js";
import { analytics, ownAnalytics } from "./routes/analytics/reports.js";
import { apiKeys } from "./routes/accounts/api-keys.js";
import { auth } from "./routes/accounts/login.js";
import { backlog } from "./routes/operations/backlog.js";
import { inspection } from "./routes/operations/inspection.js";
import { jobOperations } from "./routes/operations/jobs.js";
import { queueOperations } from "./routes/operations/overview.js";
import { runs } from "./routes/operations/runs.js";
import { boxes } from "./routes/boxes/listings.js";
import { campaignBanners } from "./routes/ads/campaign-banners.js";
import { campaignStats } from "./routes/ads/campaign-stats.js";
import { campaigns } from "./routes/ads/campaigns.js";
import { adminCities, cities } from "./routes/geo/cities.js";
import { commissions } from "./routes/commissions/rates.js";
import { dataExports } from "./routes/accounts/data-exports.js";
import { devices } from "./routes/notifications/devices.js";
import { events } from "./routes/events/log.js";
import { favorites } from "./routes/accounts/favorites.js";
import { uploads } from "./routes/files/uploads.js";
import { partUploads } from "./routes/files/parts.js";
import { geo } from "./routes/geo/locations.js";
import { loyalty } from "./routes/rewards/loyalty.js";
import { menu } from "./routes/menu/items.js";
import { menuImports } from "./routes/menu/csv-import.js";
import { menuSync } from "./routes/pos/menu-sync.js";
import { adminNotifications, notifications } from "./routes/notifications/inbox.js";
import { offers } from "./routes/boxes/search.js";
import { orders } from "./routes/orders/customer-orders.js";
import { ownFiles } from "./routes/files/own-files.js";
import { adminPartners, partners } from "./routes/partners/profiles.js";
import { pos } from "./routes/pos/credentials.js";
import { posEvents } from "./routes/pos/events.js";
import { posWebhooks } from "./routes/pos/webhooks.js";
import { pickups } from "./routes/orders/pickups.js";
import { fulfilment, partnerOrders } from "./routes/orders/partner-orders.js";
import { adminPromo, promo } from "./routes/rewards/promo-codes.js";
import { reviews } from "./routes/reviews/reviews.js";
import { invitations, staff } from "./routes/partners/staff.js";
import { webhookDeliveries } from "./routes/events/webhook-deliveries.js";
import { settlements } from "./routes/settlements/accounting.js";
import { statements } from "./routes/settlements/statements.js";
import { boxStream, orderStreams, partnerStream } from "./routes/events/streams.js";
import { webhookEndpoints } from "./routes/events/webhooks.js";
import { webhookOperations } from "./routes/operations/webhooks.js";
import { users } from "./routes/accounts/profile.js";

/** Every section of the interface, the busiest first. */
const sections: Section[] = [
  offers,
  // before the box with an id
  boxStream,
  boxes,
  geo,
  orders,
  fulfilment,
  orderStreams,
  ads,
  users,
  dataExports,
  favorites,
  menuSync,
  menu,
  uploads,
  partUploads,
  ownFiles,
  menuImports,
  partnerOrders,
  partnerStream,
  pickups,
  staff,
  invitations,
  statements,
  partners,
  adminPartners,
  cities,
  adminCities,
  posWebhooks,
  pos,
  posEvents,
  reviews,
  commissions,
  settlements,
  loyalty,
  promo,
  adminPromo,
  devices,
  notifications,
  adminNotifications,
  auth,
  apiKeys,
  campaigns,
  campaignBanners,
  campaignStats,
  events,
  webhookEndpoints,
  webhookDeliveries,
  analytics,
  ownAnalytics,
  queueOperations,
  inspection,
  jobOperations,
  runs,
  backlog,
  webhookOperations,
];

export const endpoints = sections.flatMap((section) => section.endpoints);

export const app = express();

app.disable("x-powered-by");
app.set("trust proxy", config.TRUST_PROXY);

app.use(observe);
if (config.TRUST_PROXY === 0) app.use(warnOfProxy);
app.use(limitBodyTime);
const everySafetyHeader = Object.entries(safetyHeaders);
app.use((_request, response, next) => {
  for (const [name, value] of everySafetyHeader) response.setHeader(name, value);
  next();
});
if (config.CORS_ORIGINS.length > 0) app.use(allowOrigins);

for (const section of sections) app.use(`/api/v1${section.prefix}`, section.router);

app.use(fileContent);
app.use(health);

app.get("/api/v1/openapi.json", sendOpenApi(endpoints));
app.get("/.well-known/jwks.json", (_request, response) => {
  response.set("Cache-Control", "public, max-age=300").json(publicKeys());
});
app.get("/", leadToDocs);
app.use(
  "/docs",
  docs(() => errorsPage(endpoints)),
);
if (config.NODE_ENV === "development") app.use("/demo", demoBoard());
app.use(dashboard);
app.use(operatorsConsole);

const known = endpoints.map(({ method, path }) => ({
  method: method.toUpperCase(),
  pattern: new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}/?$`, "i"),
}));

app.use(({ path }, response, next) => {
  const allowed = known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  if (allowed.length === 0) throw notFound("This address");
  response.set("Allow", allowed.join(", "));
  next(methodNotAllowed({ allowed }));
});
app.use(handleError);
