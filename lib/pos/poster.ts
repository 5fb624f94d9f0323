import { createHash } from "node:crypto";
import { z } from "zod";
import { config } from "../process/config.js";
import type { Minor } from "../domain/money.js";
import { callOutbound } from "./http.js";
import {
  PosRefused,
  PosUnavailable,
  type MenuEnd,
  type MenuPage,
  type PosAdapter,
  type PosConnection,
} from "./adapter.js";
import { retrying, testCredentials } from "./calls.js";
import { Secret, WebhookSecret } from "./credentials.js";
import { Entries, MaybeParts, partsOf, validOf } from "./lists.js";
import { IdText, MaybeText, menuPages, minorOfDouble, readAnswer, readOne, type Candidate } from "./menu.js";
import { firstText, isSignedBy, jsonOf, readCall, textOf } from "./webhook.js";

const Credentials = z.strictObject({
  account: textOf(100).meta({ description: "the account's name at joinposter.com, which Poster's events name" }),
  token: Secret.meta({ description: "access token of the account" }),
  spotId: IdText.optional().meta({
    description: "the spot whose prices and visibility count; without it, the first spot where an item is visible",
  }),
  webhookSecret: WebhookSecret.meta({
    description: "application secret that signs the account's events, if it is not the platform's",
  }),
});

type Credentials = z.output<typeof Credentials>;

/** Poster's codes for missing, wrong or expired tokens, and for applications without permission. */
const refusals = [10, 11, 12, 20, 54];

/** Failures come with status 200. */
const Failure = z.union([
  z.object({ error: z.object({ code: z.coerce.number() }) }).transform(({ error }) => error.code),
  z.object({ error: z.coerce.number() }).transform(({ error }) => error),
]);
const Answer = z.object({ response: Entries });

/** A price in kopecks, as text. */
const Kopecks = z.union([z.string().regex(/^\d{1,12}$/), z.int().min(0)]).transform(Number);
const Flag = z
  .union([z.string(), z.number(), z.boolean()])
  .nullish()
  .transform((value) => value === true || String(value) === "1");
const Spot = z.object({ spot_id: IdText, price: Kopecks.nullish(), visible: Flag.default(true) });
const Spots = partsOf(Spot).nullish();

const Modification = z.object({ modificator_id: IdText, modificator_name: z.string(), spots: Spots });

/** Modifiers of a dish; their prices are in major units and are added to the dish's. */
const Group = z.object({
  num_min: z.coerce.number().nullish(),
  modifications: partsOf(z.object({ price: z.coerce.number() })).default([]),
});

const Product = z.object({
  product_id: IdText,
  product_name: z.string(),
  menu_category_id: IdText.nullish(),
  category_name: MaybeText,
  hidden: Flag,
  type: z.coerce.string().nullish(),
  price: z.record(z.string(), Kopecks).nullish(),
  spots: Spots,
  modifications: MaybeParts,
  group_modifications: partsOf(Group).nullish(),
});

type Product = z.output<typeof Product>;
type Spot = z.output<typeof Spot>;

const Category = z.object({ category_id: IdText, category_name: z.string(), category_hidden: Flag });
type Categories = ReadonlyMap<string, z.output<typeof Category>>;

const modificationId = (productId: string, modificatorId: string) => `${productId}:${modificatorId}`;

/** The ids of a product's items: one, or one for each of its modifications. */
const ProductIds = z
  .object({ product_id: IdText, modifications: partsOf(z.object({ modificator_id: IdText })).nullish() })
  .transform(({ product_id, modifications }) =>
    modifications?.length
      ? modifications.map(({ modificator_id }) => modificationId(product_id, modificator_id))
      : [product_id],
  );
const ProductName = z.object({ product_name: z.string() }).transform(({ product_name }) => product_name);

/** Returns the lowest price of the required modifiers; null when one has no valid price. */
function leastOfChoices(groups: Product["group_modifications"]): Minor | null {
  let least: Minor = 0;
  for (const { num_min, modifications } of groups ?? []) {
    const needed = num_min ?? 0;
    if (needed <= 0) continue;
    const prices = modifications.map(({ price }) => minorOfDouble(price));
    const known = prices.filter((price) => price !== null).sort((one, other) => one - other);
    if (known.length < prices.length || known[0] === undefined) return null;
    for (let index = 0; index < Math.min(needed, 100); index += 1) least += known[index] ?? known[0];
  }
  return least;
}

/** Returns the spots where an item is sold, with their prices, which older responses have in `price`. */
const spotsOf = (spots: readonly Spot[] | null | undefined, price: Product["price"]): readonly Spot[] =>
  spots?.map((spot) => ({ ...spot, price: spot.price ?? price?.[spot.spot_id] })) ??
  Object.entries(price ?? {}).map(([spot_id, kopecks]) => ({ spot_id, price: kopecks, visible: true }));

function candidatesOf(sent: unknown, categories: Categories, spotId: string | undefined): readonly Candidate[] {
  return readOne(Product, ProductIds, sent, (product) => {
    // a semi-finished product is not sold itself
    if (product.type === "1") return [];
    const category = categories.get(product.menu_category_id ?? "");
    const shown = !product.hidden && category?.category_hidden !== true;
    const extra = leastOfChoices(product.group_modifications);
    const draft = (externalId: string, name: string, spots: readonly Spot[]): readonly Candidate[] => {
      const own = spots.filter(({ spot_id }) => spotId === undefined || spot_id === spotId);
      if (own.length === 0 && spots.length > 0) return [];
      const spot = own.find(({ visible }) => visible) ?? own[0];
      const price = spot?.price ?? null;
      const priceMinor = price === null || extra === null ? null : price + extra;
      const available = shown && spot?.visible === true;
      return [{ externalId, name, category: category?.category_name ?? product.category_name, priceMinor, available }];
    };
    if (product.modifications.length === 0)
      return draft(product.product_id, product.product_name, spotsOf(product.spots, product.price));
    const Ids = z
      .object({ modificator_id: IdText })
      .transform(({ modificator_id }) => [modificationId(product.product_id, modificator_id)]);
    return product.modifications.flatMap((one) =>
      readOne(Modification, Ids, one, ({ modificator_id, modificator_name, spots }) =>
        draft(
          modificationId(product.product_id, modificator_id),
          `${product.product_name}, ${modificator_name}`,
          spotsOf(spots, null),
        ),
      ),
    );
  });
}

function connect(baseUrl: string, { account, token, spotId, webhookSecret }: Credentials): PosConnection {
  /** Calls a method that answers a list. */
  async function call(method: string, signal: AbortSignal, parameters: Record<string, string> = {}) {
    const query = new URLSearchParams({ token, ...parameters });
    const sent = await callOutbound(`${baseUrl}/api/${method}?${query.toString()}`, { signal });
    const failure = Failure.safeParse(sent);
    if (failure.success && failure.data !== 0) {
      const message = `the POS answers with its error ${failure.data}`;
      throw refusals.includes(failure.data) ? new PosRefused(message) : new PosUnavailable(message);
    }
    return readAnswer(Answer, sent).response;
  }

  return {
    account,
    origin: new URL(baseUrl).origin,
    webhookSecret: webhookSecret ?? null,

    test: (signal) =>
      testCredentials(async () => {
        const spots = await call("access.getSpots", signal);
        const ids = spots.map((spot) => z.object({ spot_id: IdText }).safeParse(spot).data?.spot_id);
        return spotId === undefined || ids.includes(spotId) ? null : "the account has no such spot";
      }),

    async *pullMenu(_revision, signal): AsyncGenerator<MenuPage, MenuEnd> {
      const ask = retrying(signal);
      const sent = await ask(() => call("menu.getCategories", signal));
      const categories = new Map((await validOf(Category, sent)).map((category) => [category.category_id, category]));
      const pages = menuPages((sent) => candidatesOf(sent, categories, spotId), ProductName);
      for (const type of ["products", "batchtickets"])
        yield* pages(await ask(() => call("menu.getProducts", signal, { type })));
      return { unchanged: false, revision: null };
    },
  };
}

/** A signed field. Fields are joined by `;`, so none may contain one. */
const Signed = textOf(100).regex(/^[^;]+$/);
const Id = z.union([Signed, z.int()]).transform(String);

const Event = z.object({
  account: Signed,
  object: Signed,
  object_id: Id,
  action: Signed,
  data: z.string().nullish(),
  time: z
    .union([z.string(), z.int()])
    .transform(String)
    .pipe(z.string().regex(/^\d{1,15}$/)),
});
const SignedEvent = Event.extend({ verify: z.string() });

/** An event is far shorter: it names an object and says nothing of it. */
const MOST_BYTES = 65_536;

/** Poster: prices in kopecks by spot, and events that carry their own signature. */
export const poster = (baseUrl = config.POS_POSTER_URL): PosAdapter => ({
  name: "poster",
  displayName: "Poster",
  address: baseUrl,
  credentials: Credentials,
  connect: (credentials) => connect(baseUrl, Credentials.parse(credentials)),
  webhook: {
    account: (call) => firstText(call, "account"),

    // `time` is when the event happened, and Poster repeats an event for two days, so it does not limit a call's age
    verify(call, secrets) {
      // the signature is in the body, so that this must be parsed before anyone has vouched for it
      if (call.body.length > MOST_BYTES) return false;
      const sent = SignedEvent.safeParse(jsonOf(call));
      if (!sent.success) return false;
      const { account, object, object_id, action, data, time, verify } = sent.data;
      const signed = [account, object, object_id, action, ...(typeof data === "string" ? [data] : []), time].join(";");
      return isSignedBy(verify, secrets, (secret) => createHash("md5").update(`${signed};${secret}`).digest("hex"));
    },

    read(call) {
      const { account, object, object_id, action, time } = readCall(Event, jsonOf(call));
      const ofMenu = ["product", "dish", "category"].includes(object);
      return [
        { id: [object, object_id, action, time].join(";"), account, change: ofMenu ? { kind: "menu.updated" } : null },
      ];
    },
  },
});
