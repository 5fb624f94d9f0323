import type { ApiKeyScope } from "../../../lib/security/api-key.js";
import { signAccessToken } from "../../../lib/security/tokens.js";
import { sql } from "../../../sql/db.js";
import type { Client, Reply } from "../../support/api.js";
import * as cast from "../../support/cast.js";

/** All kinds of callers. The requests are about the bakery; the customer has ordered from it. */
export const callers = [
  "anonymous",
  "forged token",
  "false claims",
  "former customer",
  "banner key",
  "location key",
  "observer key",
  "event key",
  "webhook key",
  "customer",
  "stranger",
  "bakery",
  "other partner",
  "pending partner",
  "rejected partner",
  "suspended partner",
  "observer",
  "admin",
] as const;
export type CallerName = (typeof callers)[number];

export const everyPartner: CallerName[] = [
  "bakery",
  "other partner",
  "pending partner",
  "rejected partner",
  "suspended partner",
];
export const serviceKeys: CallerName[] = ["banner key", "location key", "observer key", "event key", "webhook key"];
export const everyUser: CallerName[] = ["false claims", "customer", "stranger", ...everyPartner, "observer", "admin"];

export interface Scene {
  callers: Record<CallerName, Client>;
  bakeryId: string;
  itemId: string;
  boxId: string;
  orderId: string;
  /** A partner that waits for review. */
  newcomerId: string;
}

/** Creates all callers and the rows that their requests name. */
export async function setScene(client: Client): Promise<Scene> {
  const [customer, stranger, claimant, admin] = [
    await cast.user(client),
    await cast.user(client),
    await cast.user(client),
    await cast.admin(client),
  ];
  const bakery = await cast.bakery(client);
  const itemId = await cast.addMenuItem(bakery, { price: 120 });
  const boxId = await cast.listBox(bakery);
  const order = await customer.client.post("/api/v1/orders", {
    items: [{ menuItemId: itemId, qty: 1 }],
    totalAmount: 120,
    partnerId: bakery.id,
  });
  const observer = await cast.user(client);
  await sql`update users set is_observer = true where id = ${observer.id}::uuid`;
  const former = await cast.user(client);
  await former.client.delete("/api/v1/users/me");
  const key = async (scope: ApiKeyScope) => {
    const made = await admin.client.post("/api/v1/admin/api-keys", { name: "Робот", scopes: [scope] });
    return client.as(made.string("key"));
  };
  const falseClaims = { userId: claimant.id, scope: "USER PARTNER ADMIN", partnerId: bakery.id };
  const partner = async (status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED") =>
    (await cast.bakery(client, status)).owner.client;
  return {
    callers: {
      anonymous: client,
      "forged token": client.as("eyJhbGciOiJub25lIn0.e30."),
      "false claims": client.as(await signAccessToken(falseClaims)),
      "former customer": former.client,
      "banner key": await key("ads:read"),
      "location key": await key("geo:write"),
      "observer key": await key("ops:read"),
      "event key": await key("events:read"),
      "webhook key": await key("webhooks:write"),
      customer: customer.client,
      stranger: stranger.client,
      bakery: bakery.owner.client,
      "other partner": await partner("ACTIVE"),
      "pending partner": await partner("PENDING_REVIEW"),
      "rejected partner": await partner("REJECTED"),
      "suspended partner": await partner("SUSPENDED"),
      observer: observer.client,
      admin: admin.client,
    },
    bakeryId: bakery.id,
    itemId,
    boxId,
    orderId: order.string("orderId"),
    newcomerId: (await cast.bakery(client, "PENDING_REVIEW")).id,
  };
}

export interface Expectation {
  /** Creates what the endpoint needs beyond the scene; returns its id. */
  prepare?: (scene: Scene) => Promise<string>;
  ask: (as: Client, scene: Scene, preparedId: string) => Promise<Reply>;
  /** The answer to callers that the endpoint admits. */
  answer: string;
  /** Admitted callers that still get another answer. */
  except?: Partial<Record<CallerName, string>>;
}

/** By method and path. */
export type Expectations = Readonly<Record<string, Expectation>>;

export const among = (names: readonly CallerName[], answer: string) =>
  Object.fromEntries(names.map((name) => [name, answer]));

/** Answers 404 to all but these callers: resources of others are not visible. */
export const foreign = (...own: CallerName[]) =>
  among(
    callers.filter((name) => !own.includes(name)),
    "404 NOT_FOUND",
  );
