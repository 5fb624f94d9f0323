import { createHash, createPublicKey, randomInt, randomUUID } from "node:crypto";
import { createWriteStream, mkdirSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import busboy from "busboy";
import express, { type NextFunction, type Request, type Response } from "express";
import { jwtVerify } from "jose";
import postgres from "postgres";
import { findBox } from "../../../sql/queries/boxes.js";
import { listPartnersNear } from "../../../sql/queries/geo.js";
import { listOffersSoon } from "../../../sql/queries/offers.js";

// The hot endpoints written by hand, directly on Express and postgres.js: the same statements and the same answers, without
// validation, limits, metrics, logs or error handling.

const bigint = { to: 20, from: [20], parse: Number, serialize: String };
// as in the service, rows have the columns' names in camelCase
const transform = { column: postgres.toCamel };
// postgres.js prints notices otherwise, such as that a job is due
const onnotice = () => undefined;
const pool = postgres(process.env["DATABASE_URL"] ?? "", { max: 10, types: { bigint }, transform, onnotice });

interface Profile {
  id: string;
  serviceId: string;
  phone: string;
  firstName: string | null;
  lastName: string | null;
  email: string | null;
  avatarUrl: string | null;
  locale: string;
  timezone: string | null;
}

interface NewOrder {
  items: { menuItemId: string; qty: number }[];
  totalAmount: number;
  partnerId: string;
  address?: string;
}

interface Placement {
  outcome: string;
  orderId: string;
  status: string;
  estimatedReadyAt: string;
  totalMinor: number;
  items: { id: string; name: string; priceMinor: number; qty: number }[];
}

const url = process.env["PUBLIC_URL"] ?? "";
const publicKey = createPublicKey(process.env["PUBLIC_KEY"] ?? "");
const rules = { algorithms: ["EdDSA"], issuer: url, audience: `${url}/api/v1`, typ: "at+jwt" };

/** With CACHE_TOKENS=1 a token's signature is verified once, as in the service. */
const cached = new Map<string, { userId: string; expiresAt: number }>();

async function userOf(token: string): Promise<string> {
  const known = cached.get(token);
  if (known && known.expiresAt > Date.now()) return known.userId;
  const { payload } = await jwtVerify(token, publicKey, rules);
  const userId = payload.sub ?? "";
  if (process.env["CACHE_TOKENS"] === "1") {
    cached.set(token, { userId, expiresAt: (payload.exp ?? 0) * 1_000 });
  }
  return userId;
}

async function requireUser(request: Request, response: Response, next: NextFunction): Promise<void> {
  const [scheme, token = ""] = (request.headers.authorization ?? "").split(" ");
  try {
    if (scheme !== "Bearer") throw new Error("no bearer token");
    response.locals["userId"] = await userOf(token);
  } catch {
    response.status(401).json({ code: "UNAUTHORIZED" });
    return;
  }
  next();
}

const folder = join(process.env["STORAGE_DIR"] ?? "", "bare");
mkdirSync(folder, { recursive: true });

const app = express();
app.disable("x-powered-by");

app.get("/api/v1/boxes/:id", async (request, response) => {
  const box = await findBox(pool, request.params.id);
  if (!box) {
    response.status(404).json({ code: "NOT_FOUND" });
    return;
  }
  const { priceMinor, originalPriceMinor, image, ...rest } = box;
  const price = priceMinor / 100;
  const originalPrice = originalPriceMinor === null ? null : originalPriceMinor / 100;
  response.json({ ...rest, price, originalPrice, ...addressesOf(image) });
});

/** No box of the bench has a picture. */
const addressesOf = (image: string | null) => ({ imageUrl: image, thumbnailUrl: image });

const anyOffer = { maxPriceMinor: null, availableFrom: null, availableTo: null };

app.get("/api/v1/boxes", async (request, response) => {
  const { cityId, limit } = request.query;
  const city = typeof cityId === "string" ? cityId : null;
  const boxes = await listOffersSoon(pool, { ...anyOffer, cityId: city }, null, Number(limit) + 1);
  response.json(
    boxes.slice(0, Number(limit)).map(({ priceMinor, originalPriceMinor, startKey: _, image, ...rest }) => ({
      ...rest,
      ...addressesOf(image),
      price: priceMinor / 100,
      originalPrice: originalPriceMinor === null ? null : originalPriceMinor / 100,
      distanceMeters: null,
    })),
  );
});

app.get("/api/v1/geo/partners/nearby", async (request, response) => {
  const { lat, lng, radius, limit } = request.query;
  const circle = { latitude: Number(lat), longitude: Number(lng), radius: Number(radius) };
  const found = await listPartnersNear(pool, circle, null, Number(limit) + 1);
  const partners = found
    .slice(0, Number(limit))
    .map(({ distance, ...rest }) => ({ ...rest, distanceMeters: Math.round(distance * 10) / 10 }));
  response.json({ partners });
});

app.post("/api/v1/files/upload", requireUser, (request, response) => {
  const form = busboy({ headers: request.headers });
  form.on("file", (_name, file) => {
    const name = randomUUID();
    pipeline(file, createWriteStream(join(folder, name), { flush: true }))
      .then(() => pool`select ${name}::text`)
      .then(() => response.status(201).json({ fileId: name }))
      .catch(() => response.status(500).end());
  });
  request.pipe(form);
});

app.get("/api/v1/users/me", requireUser, async (_request, response) => {
  const [profile] = await pool<Profile[]>`
    select id, service_id as "serviceId", phone as "phone", first_name as "firstName", last_name as "lastName", email,
      avatar_url as "avatarUrl", locale, timezone
    from users
    where id = ${String(response.locals["userId"])}::uuid and deleted_at is null and phone is not null`;
  if (!profile) {
    response.status(401).json({ code: "UNAUTHORIZED" });
    return;
  }
  response.json({ ...profile, timezone: profile.timezone ?? "Europe/Moscow", active: true });
});

const orders = express.Router();
orders.use(express.json(), requireUser);
orders.post("/", async (request: Request<unknown, unknown, NewOrder>, response) => {
  const { items, partnerId, totalAmount, address = null } = request.body;
  const key = request.get("idempotency-key") ?? null;
  const fingerprint = createHash("sha256").update(JSON.stringify(request.body)).digest();
  const pickupCode = String(randomInt(1_000_000)).padStart(6, "0");
  const [row] = await pool<{ placement: Placement }[]>`
    select place_order(
      ${String(response.locals["userId"])}::uuid,
      ${partnerId}::uuid,
      ${items.map(({ menuItemId }) => menuItemId)}::uuid[],
      ${items.map(({ qty }) => qty)}::integer[],
      ${Math.round(totalAmount * 100)}::bigint,
      ${address}::text,
      ${null}::text,
      ${key}::text,
      ${fingerprint}::bytea,
      ${pickupCode}::text,
      ${null}::text
    ) as placement`;
  if (row?.placement.outcome !== "PLACED") {
    response.status(409).json({ code: "CONFLICT" });
    return;
  }
  const { orderId, status, estimatedReadyAt, totalMinor, items: lines } = row.placement;
  response
    .status(201)
    .location(`/api/v1/orders/${orderId}`)
    .json({
      orderId,
      status,
      estimatedReadyAt,
      totalAmount: totalMinor / 100,
      discountCents: 0,
      amountDue: totalMinor / 100,
      pickupCode,
      items: lines.map(({ id, name, priceMinor, qty }) => ({ menuItemId: id, name, price: priceMinor / 100, qty })),
    });
});
app.use("/api/v1/orders", orders);

const server = app.listen(Number(process.env["PORT"]), "127.0.0.1", () => process.send?.("up"));
server.keepAliveTimeout = 65_000;
process.on("disconnect", () => process.exit());
