import { createHmac, randomUUID } from "node:crypto";
import { deliver, ok, refusal, startVendor, type SignedCall, type StandInItem } from "./vendor.js";

const error = (category: string, code: string) => ({ errors: [{ category, code, detail: "as the sandbox says" }] });

/** An object of the catalog, as `GET /v2/catalog/list` returns it. */
export interface CatalogObject {
  type: string;
  id: string;
  [field: string]: unknown;
}

/** The catalog's objects for a category and an item with variations; `price` is in minor units. */
export const category = (id: string, name: string): CatalogObject => ({
  type: "CATEGORY",
  id,
  version: 1,
  is_deleted: false,
  present_at_all_locations: true,
  category_data: { name },
});

export const variation = (id: string, name: string, amount: number, fields: Record<string, unknown> = {}) => ({
  type: "ITEM_VARIATION",
  id,
  version: 1,
  is_deleted: false,
  present_at_all_locations: true,
  item_variation_data: {
    name,
    pricing_type: "FIXED_PRICING",
    price_money: { amount, currency: "RUB" },
    ...fields,
  },
});

export const item = (id: string, name: string, fields: Record<string, unknown> = {}): CatalogObject => ({
  type: "ITEM",
  id,
  version: 1,
  is_deleted: false,
  present_at_all_locations: true,
  item_data: { name, is_archived: false, ...fields },
});

/** Square's server: catalog, locations, webhook subscription. */
export async function startSquare({ pageSize = 100 } = {}) {
  const token = `EAAA-${randomUUID()}`;
  const account = `MERCHANT${randomUUID().slice(0, 8)}`;
  const secret = `signature-key-${randomUUID()}`;
  const locations = [{ id: "LOC1", name: "Main", status: "ACTIVE", merchant_id: account }];
  let catalog: CatalogObject[] = [];

  const vendor = await startVendor(({ method, path, query, headers }) => {
    if (headers.authorization !== `Bearer ${token}`) return refusal(401, error("AUTHENTICATION_ERROR", "UNAUTHORIZED"));
    if (!/^\d{4}-\d\d-\d\d$/.test(String(headers["square-version"])))
      return refusal(400, error("INVALID_REQUEST_ERROR", "INVALID_SQUARE_VERSION_FORMAT"));
    if (method === "GET" && path === "/v2/locations") return ok({ locations });
    if (method === "GET" && path.startsWith("/v2/catalog/list")) {
      const types = query.get("types")?.split(",");
      const objects = catalog.filter(({ type }) => types?.includes(type) ?? true);
      const cursor = query.get("cursor");
      const start = cursor === null ? 0 : Number(Buffer.from(cursor, "base64url").toString());
      if (!Number.isInteger(start)) return refusal(400, error("INVALID_REQUEST_ERROR", "INVALID_CURSOR"));
      const end = start + pageSize;
      const next = end < objects.length ? { cursor: Buffer.from(String(end)).toString("base64url") } : {};
      // for an empty catalog the field is absent
      return ok(objects.length === 0 ? {} : { objects: objects.slice(start, end), ...next });
    }
    return refusal(404, error("INVALID_REQUEST_ERROR", "NOT_FOUND"));
  });

  const event = (type = "catalog.version.updated", fields: Record<string, unknown> = {}) => ({
    merchant_id: account,
    type,
    event_id: randomUUID(),
    created_at: new Date().toISOString(),
    data: {
      type: "catalog_version",
      id: randomUUID(),
      object: { catalog_version: { updated_at: new Date().toISOString() } },
    },
    ...fields,
  });

  /** Signs an event for a subscription whose notification URL is `to`. */
  const sign = (to: string, sent: unknown = event(), key = secret): SignedCall => {
    const body = typeof sent === "string" ? sent : JSON.stringify(sent);
    const signature = createHmac("sha256", key)
      .update(to + body)
      .digest("base64");
    return { headers: { "content-type": "application/json", "x-square-hmacsha256-signature": signature }, body };
  };

  return {
    ...vendor,
    account,
    secret,
    token,
    locations,
    /** The partner's credentials. */
    credentials: { accessToken: token, merchantId: account },
    event,
    sign,
    /** The event that requests a menu sync, sent to the notification URL. */
    send: (to: string, sent: unknown = event()) => deliver(to, sign(to, sent)),
    /** Sets the catalog's objects. */
    setCatalog: (objects: CatalogObject[]) => void (catalog = objects),
    /** Sets a menu of these items, each with one variation that has the item's id. */
    serve(items: readonly StandInItem[]): void {
      const names = [...new Set(items.map((sent) => sent.category))];
      const idOf = (name: string) => `CAT-${names.indexOf(name)}`;
      catalog = [
        ...items.map(({ id, name, category: of, price, description, available = true }) =>
          item(`ITEM-${id}`, name, {
            description,
            categories: [{ id: idOf(of), ordinal: 0 }],
            variations: [
              variation(id, "Regular", price, {
                location_overrides: [{ location_id: "LOC1", sold_out: !available }],
              }),
            ],
          }),
        ),
        ...names.map((name) => category(idOf(name), name)),
      ];
    },
  };
}
