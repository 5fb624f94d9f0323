import { randomUUID } from "node:crypto";
import { deliver, ok, refusal, startVendor, type SignedCall, type StandInItem } from "./vendor.js";

const problem = (errorDescription: string) => ({ correlationId: randomUUID(), errorDescription, error: null });

export interface Nomenclature {
  groups: Record<string, unknown>[];
  productCategories: Record<string, unknown>[];
  products: Record<string, unknown>[];
  sizes: Record<string, unknown>[];
}

/** A product of the nomenclature; `price` is in major units. */
export const product = (id: string, name: string, price: unknown, fields: Record<string, unknown> = {}) => ({
  id,
  code: "00001",
  name,
  description: "",
  weight: 0.25,
  isDeleted: false,
  type: "Dish",
  parentGroup: null,
  productCategoryId: null,
  sizePrices: [{ sizeId: null, price: { currentPrice: price, isIncludedInMenu: true, nextPrice: null } }],
  ...fields,
});

const property = (body: unknown, name: string): unknown =>
  typeof body === "object" && body !== null ? Reflect.get(body, name) : undefined;

/** iiko's cloud: tokens, organisations, nomenclature, stop lists, webhooks. */
export async function startIiko() {
  const account = randomUUID();
  const terminalGroup = randomUUID();
  const apiLogin = randomUUID();
  const keys = { appId: randomUUID(), clientSecret: randomUUID(), apiKey: randomUUID() };
  const secret = `auth-${randomUUID()}`;
  const tokens = new Set<string>();
  let revision = 1_000;
  let nomenclature: Nomenclature = { groups: [], productCategories: [], products: [], sizes: [] };
  let stopped: Record<string, unknown>[] = [];

  const issue = () => {
    const token = randomUUID();
    tokens.add(token);
    return ok({ correlationId: randomUUID(), token });
  };

  const vendor = await startVendor(({ method, path, headers, body }) => {
    if (method !== "POST") return refusal(405, problem("POST it"));
    if (path === "/api/1/access_token")
      return property(body, "apiLogin") === apiLogin ? issue() : refusal(401, problem("Login is not authorized."));
    if (path === "/api/v2/access_token")
      return Object.entries(keys).every(([name, value]) => property(body, name) === value)
        ? issue()
        : refusal(401, problem("Credentials are not authorized."));
    if (!tokens.has((headers.authorization ?? "").replace(/^Bearer /, "")))
      return refusal(401, problem("Token is expired."));
    if (path === "/api/1/organizations")
      return ok({ correlationId: randomUUID(), organizations: [{ id: account, name: "Café" }] });
    if (path === "/api/1/nomenclature") {
      if (property(body, "organizationId") !== account) return refusal(400, problem("Organization is not found."));
      const known = property(body, "startRevision");
      const same = typeof known === "number" && known >= revision;
      const empty: Nomenclature = { groups: [], productCategories: [], products: [], sizes: [] };
      return ok({ correlationId: randomUUID(), ...(same ? empty : nomenclature), revision });
    }
    if (path === "/api/1/stop_lists")
      return ok({
        correlationId: randomUUID(),
        terminalGroupStopLists:
          stopped.length === 0
            ? []
            : [{ organizationId: account, items: [{ terminalGroupId: terminalGroup, items: stopped }] }],
      });
    return refusal(404, problem("Not found."));
  });

  const event = (fields: Record<string, unknown> = {}) => ({
    eventType: "NomenclatureUpdate",
    eventTime: new Date().toISOString().replace("T", " ").replace("Z", ""),
    organizationId: account,
    correlationId: randomUUID(),
    eventInfo: { revision },
    ...fields,
  });

  /** A call with the token that was registered for the webhook. */
  const sign = (events: unknown = [event()], authToken = secret): SignedCall => ({
    headers: { "content-type": "application/json", authorization: `Bearer ${authToken}` },
    body: typeof events === "string" ? events : JSON.stringify(events),
  });

  return {
    ...vendor,
    account,
    terminalGroup,
    secret,
    credentials: { apiLogin, organizationId: account },
    keyCredentials: { ...keys, organizationId: account },
    event,
    sign,
    /** The events that request a menu sync. */
    send: (to: string, events: unknown = [event()]) => deliver(to, sign(events)),
    /** Expires every issued token. */
    expireTokens: () => tokens.clear(),
    /** Sets the nomenclature, with a new revision. */
    setNomenclature(next: Partial<Nomenclature>): void {
      nomenclature = { groups: [], productCategories: [], products: [], sizes: [], ...next };
      revision += 1;
    },
    /** Sets the stop list, which does not change the revision. */
    setStopList: (entries: { productId: string; sizeId?: string | null; balance: number }[]) =>
      void (stopped = entries),
    serve(items: readonly StandInItem[]): void {
      const names = [...new Set(items.map(({ category }) => category))];
      const idOf = (name: string) => `group-${names.indexOf(name)}`;
      this.setNomenclature({
        groups: names.map((name) => ({ id: idOf(name), name, isDeleted: false })),
        products: items.map(({ id, name, category, price, description, weightGrams = 0 }) =>
          product(id, name, price / 100, {
            description: description ?? null,
            weight: weightGrams / 1_000,
            parentGroup: idOf(category),
          }),
        ),
      });
      stopped = items
        .filter(({ available = true }) => !available)
        .map(({ id }) => ({ productId: id, sizeId: null, balance: 0 }));
    },
  };
}
