import { createHmac } from "node:crypto";
import { z } from "zod";
import { config } from "../process/config.js";
import { callOutbound } from "./http.js";
import { PosUnavailable, type MenuEnd, type MenuPage, type PosAdapter, type PosConnection } from "./adapter.js";
import { readPages, retrying, testCredentials } from "./calls.js";
import { Secret, WebhookSecret } from "./credentials.js";
import { MaybeEntries, MaybeParts, partsOf, validOf } from "./lists.js";
import { IdText, MaybeText, menuPages, readAnswer, readOne, type Candidate } from "./menu.js";
import { firstText, headerOf, isSignedBy, jsonOf, Name, readCall } from "./webhook.js";

/** The version of Square's API that this was written for. */
const version = "2025-01-23";

const Credentials = z.strictObject({
  accessToken: Secret.meta({ description: "access token of the seller's Square account" }),
  merchantId: Name.meta({ description: "the seller's merchant id, which Square's events name" }),
  locationId: Name.optional().meta({
    description: "the location whose prices and stock count; not needed where the seller has only one",
  }),
  webhookSecret: WebhookSecret.meta({
    description: "signature key of the seller's own webhook subscription, if it is not the platform's",
  }),
});

type Credentials = z.output<typeof Credentials>;

/** Square omits an empty list; errors beside a list mean that it is incomplete. */
const CatalogPage = z.object({
  objects: MaybeEntries,
  cursor: z.string().nullish(),
  errors: z.array(z.unknown()).nullish(),
});
const Locations = z.object({
  locations: partsOf(z.object({ id: z.string(), status: MaybeText, merchant_id: MaybeText })).default([]),
});

const Presence = {
  id: z.string().min(1),
  is_deleted: z.boolean().nullish(),
  present_at_all_locations: z.boolean().nullish(),
  present_at_location_ids: partsOf(z.string()).nullish(),
  absent_at_location_ids: partsOf(z.string()).nullish(),
};

const Category = z.object({ id: z.string(), category_data: z.object({ name: z.string() }) });

const Item = z.object({
  ...Presence,
  item_data: z.object({
    name: z.string(),
    description: MaybeText,
    description_plaintext: MaybeText,
    is_archived: z.boolean().nullish(),
    categories: partsOf(z.object({ id: z.string() })).nullish(),
    category_id: MaybeText,
    variations: MaybeParts,
  }),
});

/** `amount` is in minor units. */
const PriceMoney = z.object({ amount: z.int().min(0), currency: z.string() });

const Variation = z.object({
  ...Presence,
  item_variation_data: z.object({
    name: MaybeText,
    price_money: PriceMoney.nullish(),
    location_overrides: partsOf(
      z.object({ location_id: z.string(), price_money: PriceMoney.nullish(), sold_out: z.boolean().nullish() }),
    ).nullish(),
  }),
});

/** The ids of the items of a variation, and of a catalog object. */
const VariationIds = z.object({ id: IdText }).transform(({ id }) => [id]);
const ItemIds = z
  .object({ item_data: z.object({ variations: partsOf(z.object({ id: IdText })) }) })
  .transform(({ item_data }) => item_data.variations.map(({ id }) => id));
const ItemName = z.object({ item_data: z.object({ name: z.string() }) }).transform(({ item_data }) => item_data.name);

type Presence = Pick<
  z.output<typeof Variation>,
  "is_deleted" | "present_at_all_locations" | "present_at_location_ids" | "absent_at_location_ids"
>;

/** Whether an object is sold at a location, or anywhere when none is given. */
function isPresent(sent: Presence, locationId: string | undefined): boolean {
  if (sent.is_deleted === true) return false;
  if (locationId === undefined) return true;
  if (sent.present_at_all_locations !== false) return !(sent.absent_at_location_ids ?? []).includes(locationId);
  return (sent.present_at_location_ids ?? []).includes(locationId);
}

/** Returns the items of a catalog object: one for each variation, named after it where there are several. */
function candidatesOf(
  sent: unknown,
  categories: ReadonlyMap<string, string>,
  locationId: string | undefined,
): readonly Candidate[] {
  return readOne(Item, ItemIds, sent, (item) => {
    const data = item.item_data;
    if (data.is_archived === true || !isPresent(item, locationId)) return [];
    const categoryId = data.categories?.[0]?.id ?? data.category_id ?? "";
    return data.variations.flatMap((sentVariation) =>
      readOne(Variation, VariationIds, sentVariation, (variation) => {
        if (!isPresent(variation, locationId)) return [];
        const { name, price_money, location_overrides } = variation.item_variation_data;
        const own = location_overrides?.find(({ location_id }) => location_id === locationId);
        const price = own?.price_money ?? price_money;
        return [
          {
            externalId: variation.id,
            name: data.variations.length > 1 && name ? `${data.name}, ${name}` : data.name,
            category: categories.get(categoryId),
            priceMinor: price?.currency === config.CURRENCY ? price.amount : null,
            description: data.description_plaintext ?? data.description,
            available: own?.sold_out !== true,
          },
        ];
      }),
    );
  });
}

function connect(baseUrl: string, { accessToken, merchantId, locationId, webhookSecret }: Credentials): PosConnection {
  const headers = { authorization: `Bearer ${accessToken}`, "square-version": version };
  const call = (path: string, signal: AbortSignal) => callOutbound(baseUrl + path, { headers, signal });

  const objects = (type: string, ask: ReturnType<typeof retrying>, signal: AbortSignal) =>
    readPages(async (cursor) => {
      const query = new URLSearchParams({ types: type, ...(cursor === null ? {} : { cursor }) });
      const sent = await ask(() => call(`/v2/catalog/list?${query.toString()}`, signal));
      const { objects: entries, cursor: next, errors } = readAnswer(CatalogPage, sent);
      if (errors && errors.length > 0) throw new PosUnavailable("the POS sends only a part of its menu");
      return { entries, next };
    });

  const readLocations = async (signal: AbortSignal) =>
    readAnswer(Locations, await call("/v2/locations", signal)).locations;

  /** Returns the configured location, or the only active one. */
  async function findLocation(ask: ReturnType<typeof retrying>, signal: AbortSignal) {
    if (locationId !== undefined) return locationId;
    const active = (await ask(() => readLocations(signal))).filter(({ status }) => status !== "INACTIVE");
    return active.length === 1 ? active[0]?.id : undefined;
  }

  return {
    account: merchantId,
    origin: new URL(baseUrl).origin,
    webhookSecret: webhookSecret ?? null,

    test: (signal) =>
      testCredentials(async () => {
        const locations = await readLocations(signal);
        if (locations.some(({ merchant_id }) => merchant_id && merchant_id !== merchantId))
          return "the access token is another merchant's";
        if (locationId !== undefined && !locations.some(({ id }) => id === locationId))
          return "the merchant has no such location";
        return null;
      }),

    async *pullMenu(_revision, signal): AsyncGenerator<MenuPage, MenuEnd> {
      const ask = retrying(signal);
      const location = await findLocation(ask, signal);
      // a page of items may come before the page that names their categories, so these are read first
      const categories = new Map<string, string>();
      for await (const sent of objects("CATEGORY", ask, signal))
        for (const { id, category_data } of await validOf(Category, sent)) categories.set(id, category_data.name);
      const pages = menuPages((sent) => candidatesOf(sent, categories, location), ItemName);
      for await (const entries of objects("ITEM", ask, signal)) yield* pages(entries);
      return { unchanged: false, revision: null };
    },
  };
}

const Event = z.object({ merchant_id: Name, type: z.string().max(200), event_id: Name });

/** Square: a catalog of items with variations, and signatures over the subscription's own address. */
export const square = (
  baseUrl = config.POS_SQUARE_URL,
  notificationUrl = `${config.PUBLIC_URL}/api/v1/pos/webhooks/square`,
): PosAdapter => ({
  name: "square",
  displayName: "Square",
  address: baseUrl,
  credentials: Credentials,
  connect: (credentials) => connect(baseUrl, Credentials.parse(credentials)),
  webhook: {
    account: (call) => firstText(call, "merchant_id"),

    verify(call, secrets) {
      const signature = headerOf(call, "x-square-hmacsha256-signature");
      const sign = (secret: string) =>
        createHmac("sha256", secret).update(notificationUrl).update(call.body).digest("base64");
      return signature !== null && isSignedBy(signature, secrets, sign);
    },

    read(call) {
      const { merchant_id, type, event_id } = readCall(Event, jsonOf(call));
      // the event says that something changed, and not what
      const change = type === "catalog.version.updated" ? ({ kind: "menu.updated" } as const) : null;
      return [{ id: event_id, account: merchant_id, change }];
    },
  },
});
