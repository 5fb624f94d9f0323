import { accessTokenSeconds } from "../../lib/security/tokens.js";

/**
 * Examples of fields, by name; in the document they replace the example of the field's type. `Tag.name` or `Schema.name`
 * goes before `name`.
 */
const examples: Readonly<Record<string, unknown>> = {
  accessToken: "eyJhbGciOiJFZERTQSIsImtpZCI6IjEifQ.eyJzdWIiOiIwMTk3OGQyZSJ9.c2lnbmF0dXJl",
  activePartners: 128,
  address: "Tverskaya Street, 1, Moscow",
  avatarUrl: "https://cdn.example.com/anna.webp",
  avgRating: 4.67,
  boxId: "01978d2e-6b7c-7d4e-9fa0-1b2c3d4e5f60",
  category: "Bread",
  cityId: "moscow",
  code: "314159",
  "Loyalty and promo.code": "AUTUMN-10",
  "Promo.code": "AUTUMN-10",
  count: 42,
  day: 1,
  "CampaignDay.day": "2026-06-01",
  description: "Bread and pastry of today",
  discountCents: 2_499,
  discountPercent: 10,
  distanceMeters: 412.5,
  email: "anna@example.com",
  endsAt: "2100-06-30T20:59:00.000Z",
  "Loyalty and promo.error": null,
  expiresIn: accessTokenSeconds,
  externalId: "sku-4711",
  firstName: "Anna",
  foodSavedGrams: 1_200,
  hour: 18,
  imageUrl: "https://cdn.example.com/banner.webp",
  key: "sfk_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  lastName: "Ivanova",
  latitude: 55.7558,
  lat: 55.7558,
  link: "https://example.com/summer",
  lng: 37.6173,
  locale: "ru-RU",
  longitude: 37.6173,
  maxDiscountCents: 10_000,
  maxUses: 500,
  maxUsesPerUser: 1,
  message: "The code is on its way.",
  "FieldError.message": "must have at most two decimals",
  "MenuImport.message": "must not be empty",
  "MenuSync.message": "its price must be a number",
  name: "Corner bakery",
  "Menu.name": "Baguette",
  "MenuItem.name": "Baguette",
  "Box.name": "Baguette",
  "OrderReceipt.name": "Evening box",
  "Order.name": "Evening box",
  "Advertising.name": "Summer without waste",
  "Campaign.name": "Summer without waste",
  "Service keys.name": "Mobile app, banners",
  "City.name": "Moscow",
  newPercent: 12.5,
  oldPercent: 15,
  orders: 314,
  ordersCompleted: 7,
  partnerId: "01978d2e-4f5a-7b2c-9d8e-9f0a1b2c3d4e",
  partnerName: "Corner bakery",
  path: "price",
  period: "30d",
  pickupCode: "052475",
  pickupWindowStart: "2100-06-01T15:00:00.000Z",
  pickupWindowEnd: "2100-06-01T17:00:00.000Z",
  placement: "home-top",
  placements: ["home-top"],
  points: 120,
  preparationMinutes: 20,
  qty: 1,
  quantity: 5,
  quantityAvailable: 5,
  ratePercent: 12.5,
  rating: 5,
  reason: "The address is not a shop.",
  "MenuSync.reason": "The POS does not answer.",
  "PosEvent.reason": "the menu does not have some of the items",
  referralCode: "7K3M9QX2",
  refreshToken: "m3Zq0b1Xk5l2TnF8vYw7cR4eHs9uJd6aPg0iLoQx1-A",
  requestId: "0b7c5b1e-6f4d-4a55-9d0c-2f3f5a1f7a10",
  retryAfterSeconds: 60,
  reviewCount: 42,
  serviceId: "SF-7K3M9QX2",
  slug: "corner-bakery",
  startsAt: "2100-06-01T00:00:00.000Z",
  text: "Still warm!",
  timezone: "Europe/Moscow",
  title: "Evening box",
  "Notification.title": "Order accepted",
  until: "2100-12-31",
  "Operations.until": "2100-06-01T09:00:00.000Z",
  "Overview.until": "2100-06-01T09:00:00.000Z",
  "BulkAction.until": "2100-06-01T09:00:00.000Z",
  uses: 17,
  weight: 1,
  weightGrams: 450,
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Adds examples to all fields and parameters below `part` of a document; `context` is the tag or schema it belongs to. */
export function addExamples(part: unknown, context: string): void {
  if (Array.isArray(part)) {
    for (const each of part) addExamples(each, context);
    return;
  }
  if (!isRecord(part)) return;
  for (const [name, schema] of Object.entries(isRecord(part["properties"]) ? part["properties"] : {})) {
    const example = examples[`${context}.${name}`] ?? examples[name];
    // a boolean and null need no example, and may share their name with a field of another type
    if (!isRecord(schema) || "$ref" in schema || "const" in schema) continue;
    if (schema["type"] === "boolean" || schema["type"] === "null" || example === undefined) continue;
    schema["example"] = example;
  }
  if (typeof part["in"] === "string" && typeof part["name"] === "string") {
    const example = examples[`${context}.${part["name"]}`] ?? examples[part["name"]];
    if (example !== undefined) part["example"] = example;
  }
  for (const each of Object.values(part)) addExamples(each, context);
}
