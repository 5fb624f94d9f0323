import cors from "cors";
import express, { type Request } from "express";
import { config } from "../lib/config.js";
import { ApiError, notFound } from "../lib/errors.js";
import { publicKeys } from "../lib/tokens.js";
import { dashboard } from "./dashboard.js";
import { docs } from "./docs.js";
import type { Section } from "./endpoint.js";
import { handleError } from "./errors.js";
import { fileContent } from "./file-content.js";
import { health } from "./health.js";
import { observe } from "./observe.js";
import { openApiDocument } from "./openapi.js";
import { ads } from "./routes/ads.js";
import { analytics, ownAnalytics } from "./routes/analytics.js";
import { apiKeys } from "./routes/api-keys.js";
import { auth } from "./routes/auth.js";
import { boxes } from "./routes/boxes.js";
import { campaignBanners } from "./routes/campaign-banners.js";
import { campaignStats } from "./routes/campaign-stats.js";
import { campaigns } from "./routes/campaigns.js";
import { adminCities, cities } from "./routes/cities.js";
import { commissions } from "./routes/commissions.js";
import { devices } from "./routes/devices.js";
import { favorites } from "./routes/favorites.js";
import { files } from "./routes/files.js";
import { geo } from "./routes/geo.js";
import { loyalty } from "./routes/loyalty.js";
import { menu } from "./routes/menu.js";
import { menuImports } from "./routes/menu-import.js";
import { menuSync } from "./routes/menu-sync.js";
import { adminNotifications, notifications } from "./routes/notifications.js";
import { offers } from "./routes/offers.js";
import { orders } from "./routes/orders.js";
import { ownFiles } from "./routes/own-files.js";
import { adminPartners, partners } from "./routes/partners.js";
import { pos } from "./routes/pos.js";
import { posEvents } from "./routes/pos-events.js";
import { posWebhooks } from "./routes/pos-webhooks.js";
import { partnerOrders } from "./routes/partner-orders.js";
import { adminPromo, promo } from "./routes/promo.js";
import { reviews } from "./routes/reviews.js";
import { invitations, staff } from "./routes/staff.js";
import { users } from "./routes/users.js";

/** Every section of the interface; the ones that are read most come first. */
const sections: Section[] = [
  offers,
  boxes,
  orders,
  ads,
  users,
  favorites,
  menuSync,
  menu,
  files,
  ownFiles,
  menuImports,
  partnerOrders,
  staff,
  invitations,
  partners,
  adminPartners,
  cities,
  adminCities,
  geo,
  posWebhooks,
  pos,
  posEvents,
  reviews,
  commissions,
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
  analytics,
  ownAnalytics,
];

export const endpoints = sections.flatMap((section) => section.endpoints);

export const app = express();

app.disable("x-powered-by");
app.set("trust proxy", config.TRUST_PROXY);

app.use(observe);
app.use((_request, response, next) => {
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Strict-Transport-Security", "max-age=31536000");
  next();
});
if (config.CORS_ORIGINS.length > 0) {
  const allowed = {
    origin: config.CORS_ORIGINS.includes("*") ? "*" : config.CORS_ORIGINS,
    exposedHeaders: ["ETag", "Link", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id"],
    maxAge: 600,
  };
  app.use(
    // no browser calls a webhook
    cors<Request>(({ path }, decide) =>
      decide(null, /^\/api\/v1\/pos\/webhooks\//i.test(path) ? { origin: false } : allowed),
    ),
  );
}

for (const section of sections) app.use(`/api/v1${section.prefix}`, section.router);

app.use(fileContent);
app.use(health);

const openApi = openApiDocument(endpoints);
app.get("/api/v1/openapi.json", (_request, response) => {
  response.json(openApi);
});
app.get("/.well-known/jwks.json", (_request, response) => {
  response.set("Cache-Control", "public, max-age=300").json(publicKeys());
});
app.use("/docs", docs);
app.use(dashboard);

const known = endpoints.map(({ method, path }) => ({
  method: method.toUpperCase(),
  pattern: new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}/?$`, "i"),
}));

app.use(({ path }, response, next) => {
  const allowed = known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  if (allowed.length === 0) throw notFound("This address");
  response.set("Allow", allowed.join(", "));
  next(new ApiError(405, "METHOD_NOT_ALLOWED", `This address knows only ${allowed.join(", ")}.`));
});
app.use(handleError);
