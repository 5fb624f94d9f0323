import { sha256 } from "../../../lib/security/crypto.js";
import { sql } from "../../../sql/db.js";
import type { Client } from "../api.js";
import { addMenuItem, admin, bakery, listBox, user, type Character } from "../cast.js";
import { makeReachable } from "../notifications.js";
import { newSecret } from "../till.js";
import { unexpected } from "./journal.js";
import { SELLERS, type StandIns, type WebhookReceiver } from "./stand-ins.js";

const CUSTOMERS = 8;
const HOUR_MS = 3_600_000;

/** The external id of the menu item that tills sell. */
export const ALWAYS = "roll";

/** What the POS has on its menu, with prices in major units. */
export const posMenu = [60, 75, 90].map((price, n) => ({
  externalId: `tea-${n}`,
  name: `Tea ${n}`,
  category: "Tea",
  price,
}));

/** Promo codes with their limits, for all customers together and for each. */
export const promos = [
  { code: "STORM-ALL", maxUses: 25, maxUsesPerUser: 1_000 },
  { code: "STORM-EACH", maxUses: 1_000_000, maxUsesPerUser: 3 },
];

export interface Product {
  id: string;
  priceMinor: number;
  /** The initial stock; null for a menu item, which has none. */
  stock: number | null;
}

export interface Seller {
  id: string;
  owner: Character;
  /** The webhook secret of its till. */
  tillSecret: string;
  /** The recipients of its orders' notifications. */
  peopleIds: string[];
  products: Product[];
}

/** Where events are sent to. */
export interface Endpoint {
  id: string;
  /** Null: the platform's, for the events of all. */
  partnerId: string | null;
  receiver: WebhookReceiver;
}

export interface Market {
  client: Client;
  operator: Character;
  sellers: Seller[];
  customers: Character[];
  endpoints: Endpoint[];
  /** Events that happened later are for the endpoints. */
  endpointsSince: Date;
}

/** Connects a seller's till; returns its webhook secret. Syncs happen on request only. */
async function connectTill(partnerId: string, { client }: Character, { till }: StandIns): Promise<string> {
  const webhookSecret = newSecret();
  const sent = {
    partnerId,
    adapterName: "generic",
    credentialsJson: till.credentials(partnerId, { webhookSecret }),
  };
  const reply = await client.put("/api/v1/pos/credentials", sent);
  if (reply.status !== 200) throw unexpected("a till", reply);
  await sql`update pos_credentials set next_sync_at = now() + interval '1 day' where partner_id = ${partnerId}::uuid`;
  return webhookSecret;
}

/** Gives a user a browser, besides the phone of `makeReachable`. */
async function addBrowser(userId: string, { web, vapidKey }: StandIns): Promise<void> {
  const { address, keys } = web.subscribe(vapidKey);
  await sql`
    insert into devices (user_id, platform, address, address_digest, p256dh, auth, locale)
    values (${userId}::uuid, 'web', ${address}, ${sha256(address)}, ${keys.p256dh}, ${keys.auth}, 'ru-RU')`;
}

async function openSeller(client: Client, operator: Character, standIns: StandIns): Promise<Seller> {
  const opened = await bakery(client);
  const staff = await user(client);
  await sql`insert into partner_staff (user_id, partner_id) values (${staff.id}::uuid, ${opened.id}::uuid)`;
  await makeReachable([opened.owner.id, staff.id]);
  await addBrowser(opened.owner.id, standIns);
  // late enough that customers may cancel
  const window = {
    pickupWindowStart: new Date(Date.now() + 12 * HOUR_MS).toISOString(),
    pickupWindowEnd: new Date(Date.now() + 14 * HOUR_MS).toISOString(),
  };
  const products: Product[] = [
    { id: await addMenuItem(opened, { price: 120, externalId: ALWAYS }), priceMinor: 12_000, stock: null },
    // some sell out during the storm, others do not
    ...(await Promise.all(
      [30, 300, 10_000].map(async (stock) => ({
        id: await listBox(opened, { ...window, price: 249.9, quantity: stock, weightGrams: 500 }),
        priceMinor: 24_990,
        stock,
      })),
    )),
  ];
  const tillSecret = await connectTill(opened.id, operator, standIns);
  return { id: opened.id, owner: opened.owner, tillSecret, peopleIds: [opened.owner.id, staff.id], products };
}

/** Has a partner's events sent to a receiver, or with null those of all. */
async function subscribe(
  { client }: Character,
  partnerId: string | null,
  receiver: WebhookReceiver,
): Promise<Endpoint> {
  const reply = await client.post("/api/v1/webhook-endpoints", { url: receiver.url });
  if (reply.status !== 201) throw unexpected("a webhook endpoint", reply);
  receiver.trust(reply.string("secret"));
  return { id: reply.string("id"), partnerId, receiver };
}

/** Creates sellers, customers, promo codes and webhook endpoints. */
export async function openMarket(client: Client, standIns: StandIns): Promise<Market> {
  standIns.till.serve(posMenu);
  const operator = await admin(client);
  const sellers = await Promise.all(Array.from({ length: SELLERS }, () => openSeller(client, operator, standIns)));
  const customers = await Promise.all(Array.from({ length: CUSTOMERS }, () => user(client)));
  await makeReachable(customers.map(({ id }) => id));
  for (const promo of promos) {
    const reply = await operator.client.post("/api/v1/admin/promo/create", { ...promo, discountPercent: 10 });
    if (reply.status !== 201) throw unexpected("a promo code", reply);
  }
  const endpoints = await Promise.all([
    subscribe(operator, null, standIns.audit),
    ...standIns.receivers.flatMap((receiver, n) => {
      const seller = sellers[n];
      return seller ? [subscribe(seller.owner, seller.id, receiver)] : [];
    }),
  ]);
  const [clock] = await sql<{ now: Date }[]>`select now() as now`;
  return { client, operator, sellers, customers, endpoints, endpointsSince: clock?.now ?? new Date() };
}
