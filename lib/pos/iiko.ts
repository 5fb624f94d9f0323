import { createHash } from "node:crypto";
import { z } from "zod";
import { config } from "../process/config.js";
import { callOutbound, TokenRefused } from "./http.js";
import { MalformedWebhook, type MenuEnd, type MenuPage, type PosAdapter, type PosConnection } from "./adapter.js";
import { retrying, testCredentials } from "./calls.js";
import { Secret, WebhookSecret } from "./credentials.js";
import { Entries, inBatches, listUpTo, MaybeEntries, MaybeParts, partsOf, validOf } from "./lists.js";
import { IdText, MaybeText, menuPages, minorOfDouble, readAnswer, readOne, type Candidate } from "./menu.js";
import { firstText, headerOf, isSignedBy, jsonOf, Name, readCall, textOf } from "./webhook.js";

const organisation = {
  organizationId: Name.meta({ description: "the organisation whose menu it is, which iiko's events name" }),
  terminalGroupId: Name.optional().meta({
    description: "the terminal group whose stop list counts; without it, what any of them has stopped is not available",
  }),
  webhookSecret: WebhookSecret.meta({
    description: "the `authToken` that was registered with the organisation's webhook, if it is not the platform's",
  }),
};

/** The two ways to log in. */
const Credentials = z.union([
  z.strictObject({ ...organisation, apiLogin: Secret.meta({ description: "API login" }) }).meta({ title: "API login" }),
  z
    .strictObject({
      ...organisation,
      appId: Secret.meta({ description: "id of the application" }),
      clientSecret: Secret.meta({ description: "secret of the application" }),
      apiKey: Secret.meta({ description: "key of the API" }),
    })
    .meta({ title: "Application" }),
]);

type Credentials = z.output<typeof Credentials>;

const Token = z.object({ token: z.string().min(1) });
const Organizations = z.object({ organizations: partsOf(z.object({ id: z.string() })) });

const Nomenclature = z.object({
  groups: MaybeEntries,
  productCategories: MaybeEntries,
  products: Entries,
  sizes: MaybeEntries,
  revision: z.int().min(0),
});
type Nomenclature = z.output<typeof Nomenclature>;

const Named = z.object({ id: z.string(), name: z.string() });

/** `currentPrice` is in major units. */
const SizePrice = z.object({
  sizeId: z.string().nullish(),
  price: z.object({ currentPrice: z.number().nullish(), isIncludedInMenu: z.boolean().nullish() }),
});

/** `weight` is in kilograms. */
const Product = z.object({
  id: z.string().min(1),
  name: z.string(),
  description: MaybeText,
  weight: z.number().nullish().catch(null),
  isDeleted: z.boolean().nullish(),
  type: MaybeText,
  parentGroup: MaybeText,
  productCategoryId: MaybeText,
  sizePrices: MaybeParts,
});

const idOf = (productId: string, sizeId: string | null = null) =>
  sizeId === null ? productId : `${productId}:${sizeId}`;

/** The ids of a product's items: one for each of its sizes. */
const ProductIds = z
  .object({ id: IdText, sizePrices: partsOf(z.object({ sizeId: z.string().nullish() })) })
  .transform(({ id, sizePrices }) => sizePrices.map(({ sizeId }) => idOf(id, sizeId)));
const ProductName = z.object({ name: z.string() }).transform(({ name }) => name);

const StopLists = z.object({
  terminalGroupStopLists: partsOf(
    z.object({ items: partsOf(z.object({ terminalGroupId: z.string(), items: Entries })) }),
  ),
});
const Stopped = z.array(
  z.object({ productId: z.string(), sizeId: z.string().nullish(), balance: z.number().nullish() }),
);

const namesOf = async (sent: readonly unknown[]): Promise<ReadonlyMap<string, string>> =>
  new Map((await validOf(Named, sent)).map(({ id, name }) => [id, name]));

async function readerOf({ groups, productCategories, sizes }: Nomenclature, stopped: ReadonlySet<string>) {
  const groupNames = await namesOf(groups);
  const categoryNames = await namesOf(productCategories);
  const sizeNames = await namesOf(sizes);
  const nameOfCategory = ({ parentGroup, productCategoryId }: z.output<typeof Product>) =>
    groupNames.get(parentGroup ?? "") ?? categoryNames.get(productCategoryId ?? "");

  return (sent: unknown): readonly Candidate[] =>
    readOne(Product, ProductIds, sent, (product): readonly Candidate[] => {
      if (product.isDeleted === true || product.type?.toLowerCase() === "modifier") return [];
      const { id, name, description, sizePrices } = product;
      if (sizePrices.length === 0) return [{ externalId: id, reason: "it has no price that can be paid" }];
      const Ids = z.object({ sizeId: z.string().nullish() }).transform(({ sizeId }) => [idOf(id, sizeId)]);
      return sizePrices.flatMap((sentPrice) =>
        readOne(SizePrice, Ids, sentPrice, ({ sizeId, price }): readonly Candidate[] => {
          if (price.isIncludedInMenu === false) return [];
          const size = sizePrices.length > 1 ? sizeNames.get(sizeId ?? "") : undefined;
          return [
            {
              externalId: idOf(id, sizeId),
              name: size ? `${name}, ${size}` : name,
              category: nameOfCategory(product),
              priceMinor: minorOfDouble(price.currentPrice ?? NaN),
              description,
              weightGrams: (product.weight ?? 0) * 1_000,
              available: !stopped.has(id) && !stopped.has(idOf(id, sizeId)),
            },
          ];
        }),
      );
    });
}

/** Returns the menu's revision: the nomenclature's, with a digest of the stop list, which changes independently. */
const revisionOf = (nomenclature: number, stopped: ReadonlySet<string>) =>
  `${nomenclature}-${createHash("sha256")
    .update(JSON.stringify([...stopped].sort()))
    .digest("hex")
    .slice(0, 32)}`;

const nomenclatureOf = (revision: string | null): number | undefined => {
  const [, known] = /^(\d{1,15})-/.exec(revision ?? "") ?? [];
  return known === undefined ? undefined : Number(known);
};

function connect(baseUrl: string, credentials: Credentials): PosConnection {
  const { organizationId, terminalGroupId, webhookSecret, ...login } = credentials;

  async function newToken(signal: AbortSignal): Promise<string> {
    const path = "apiLogin" in login ? "/api/1/access_token" : "/api/v2/access_token";
    return readAnswer(Token, await callOutbound(baseUrl + path, { method: "POST", body: login, signal })).token;
  }

  /** Returns a function that calls with one token, which it renews once when it expires on the way. */
  function session(signal: AbortSignal) {
    const ask = retrying(signal);
    let token: string | undefined;
    let renewals = 1;
    return async <T>(path: string, body: unknown, answer: z.ZodType<T>): Promise<T> => {
      for (;;) {
        const headers = { authorization: `Bearer ${(token ??= await ask(() => newToken(signal)))}` };
        try {
          const sent = await ask(() => callOutbound(baseUrl + path, { method: "POST", headers, body, signal }));
          return readAnswer(answer, sent);
        } catch (error) {
          if (!(error instanceof TokenRefused) || renewals === 0) throw error;
          renewals -= 1;
          token = undefined;
        }
      }
    };
  }

  /** Reads the ids of products and sizes that are sold out. */
  async function readStopped(call: ReturnType<typeof session>): Promise<ReadonlySet<string>> {
    const lists = await call("/api/1/stop_lists", { organizationIds: [organizationId] }, StopLists);
    const groups = lists.terminalGroupStopLists.flatMap(({ items }) => items);
    const stopped = new Set<string>();
    for (const group of groups) {
      if (terminalGroupId !== undefined && group.terminalGroupId !== terminalGroupId) continue;
      for await (const part of inBatches(group.items))
        for (const { productId, sizeId, balance } of readAnswer(Stopped, part))
          // an entry with a balance is sold until that is used up
          if ((balance ?? 0) <= 0) stopped.add(idOf(productId, sizeId));
    }
    return stopped;
  }

  return {
    account: organizationId,
    origin: new URL(baseUrl).origin,
    webhookSecret: webhookSecret ?? null,

    test: (signal) =>
      testCredentials(async () => {
        const { organizations } = await session(signal)("/api/1/organizations", {}, Organizations);
        return organizations.some(({ id }) => id === organizationId) ? null : "there is no such organisation";
      }),

    async *pullMenu(revision, signal): AsyncGenerator<MenuPage, MenuEnd> {
      const call = session(signal);
      const read = (startRevision?: number) =>
        call("/api/1/nomenclature", { organizationId, startRevision }, Nomenclature);
      const stopped = await readStopped(call);
      const known = nomenclatureOf(revision);
      let nomenclature = await read(known);
      if (known !== undefined && nomenclature.products.length === 0) {
        if (revision === revisionOf(nomenclature.revision, stopped)) return { unchanged: true };
        // an empty answer means an unchanged nomenclature, but the stop list has changed
        nomenclature = await read();
      }
      yield* menuPages(await readerOf(nomenclature, stopped), ProductName)(nomenclature.products);
      return { unchanged: false, revision: revisionOf(nomenclature.revision, stopped) };
    },
  };
}

const Event = z.object({
  organizationId: Name,
  eventType: textOf(100),
  eventTime: z.string().nullish(),
  correlationId: z.string().nullish(),
  eventInfo: z.unknown().optional(),
});
const Events = listUpTo(1_000, Event);

/** Returns an event's id: a digest of its content, as events have none of their own. */
function digestOf({ organizationId, eventType, eventTime, correlationId, eventInfo }: z.output<typeof Event>): string {
  const said = [organizationId, eventType, eventTime, correlationId, eventInfo];
  try {
    return createHash("sha256").update(JSON.stringify(said)).digest("hex");
  } catch {
    // nested deeper than the stack
    throw new MalformedWebhook([{ path: "eventInfo", message: "is nested too deeply" }]);
  }
}

/** iiko's cloud: prices by size, a stop list beside the menu, events that carry a registered token and no signature. */
export const iiko = (baseUrl = config.POS_IIKO_URL): PosAdapter => ({
  name: "iiko",
  displayName: "iiko",
  address: baseUrl,
  credentials: Credentials,
  connect: (credentials) => connect(baseUrl, Credentials.parse(credentials)),
  webhook: {
    account: (call) => firstText(call, "organizationId"),

    verify(call, secrets) {
      const token = headerOf(call, "authorization")?.replace(/^Bearer /i, "");
      return token !== undefined && isSignedBy(token, secrets, (secret) => secret);
    },

    read(call) {
      return readCall(Events, jsonOf(call)).map((event) => ({
        id: digestOf(event),
        account: event.organizationId,
        change: ["NomenclatureUpdate", "StopListUpdate"].includes(event.eventType) ? { kind: "menu.updated" } : null,
      }));
    },
  },
});
