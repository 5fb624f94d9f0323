import { randomInt } from "node:crypto";
import { newServiceId } from "../../lib/domain/service-id.js";
import { signAccessToken } from "../../lib/security/tokens.js";
import { sql } from "../../sql/db.js";
import type { Client, Reply } from "./api.js";

/** A phone that is new in this test file. */
export const newPhone = () => `+79${String(randomInt(1_000_000_000)).padStart(9, "0")}`;

/** A signed-in user with their client. */
export interface Character {
  id: string;
  phone: string;
  client: Client;
}

/** Creates a signed-in user, an admin with `isAdmin`. */
export async function user(client: Client, isAdmin = false): Promise<Character> {
  const phone = newPhone();
  const [row] = await sql<{ id: string }[]>`
    insert into users (service_id, phone, is_admin) values (${newServiceId()}, ${phone}, ${isAdmin}) returning id`;
  if (!row) throw new Error("no user was inserted");
  const character = { id: row.id, phone, client: client.as(null) };
  await signIn(character);
  return character;
}

/** Gives a user a new token, as one lasts a quarter of an hour. */
export async function signIn({ id, client }: Character): Promise<void> {
  client.token = await signAccessToken({ userId: id, scope: "USER" });
}

export const admin = (client: Client) => user(client, true);

export interface Bakery {
  id: string;
  owner: Character;
}

export const bakeryProfile = {
  name: "Булочная на углу",
  cityId: "moscow",
  address: "Тверская улица, 1",
  latitude: 55.7575,
  longitude: 37.6135,
};

/** Creates a partner in this status, with its owner. */
export async function bakery(
  client: Client,
  status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED" = "ACTIVE",
): Promise<Bakery> {
  const owner = await user(client);
  const registered = await owner.client.post("/api/v1/partners/register", bakeryProfile);
  const id = registered.string("id");
  await sql`
    update partners
    set status = ${status}::partner_status, activated_at = case when ${status} in ('ACTIVE', 'SUSPENDED') then now() end
    where id = ${id}::uuid`;
  return { id, owner };
}

/** Makes a user staff of the bakery, who accepts the owner's invitation. */
export async function join({ owner }: Bakery, { phone, client }: Character): Promise<Reply> {
  const invited = await owner.client.post("/api/v1/partners/me/staff", { phone });
  return client.post(`/api/v1/users/me/invitations/${invited.string("id")}/accept`);
}

const hour = 60 * 60 * 1_000;

/** The body of a box that can be picked up from an hour from now for two hours. */
export const newBox = (fields: Record<string, unknown> = {}) => ({
  title: "Вечерний набор",
  price: 249.9,
  quantity: 10,
  pickupWindowStart: new Date(Date.now() + hour).toISOString(),
  pickupWindowEnd: new Date(Date.now() + 3 * hour).toISOString(),
  ...fields,
});

/** Lists a box of the bakery; returns its id. */
export const listBox = async ({ owner }: Bakery, fields: Record<string, unknown> = {}) =>
  (await owner.client.post("/api/v1/boxes", newBox(fields))).string("id");

/** Adds a menu item of the bakery; returns its id. */
export const addMenuItem = async ({ owner }: Bakery, fields: Record<string, unknown> = {}) =>
  (await owner.client.post("/api/v1/menu/items", { name: "Багет", category: "Хлеб", price: 120, ...fields })).string(
    "id",
  );

const day = 24 * hour;

/** The body of a campaign for the placement at the top of the home screen. */
export const newCampaign = (fields: Record<string, unknown> = {}) => ({
  name: "Лето без отходов",
  placements: ["home-top"],
  budget: 50_000,
  ...fields,
});

/** Creates a campaign with an admin's client; returns its id. */
export const campaign = async (admin: Client, fields: Record<string, unknown> = {}) =>
  (await admin.post("/api/v1/admin/ads/campaigns", newCampaign(fields))).string("id");

/** The body of a banner that is shown from yesterday until tomorrow. */
export const newBanner = (fields: Record<string, unknown> = {}) => ({
  imageUrl: "https://cdn.example.com/summer.webp",
  link: "https://example.com/summer",
  placement: "home-top",
  startsAt: new Date(Date.now() - day).toISOString(),
  endsAt: new Date(Date.now() + day).toISOString(),
  ...fields,
});

/** Creates an active campaign with an admin's client; returns its id. */
export async function activeCampaign(admin: Client, fields: Record<string, unknown> = {}): Promise<string> {
  const id = await campaign(admin, fields);
  await admin.post(`/api/v1/admin/ads/campaigns/${id}/activate`);
  return id;
}

/** Adds a banner to a campaign with an admin's client; returns its id. */
export const banner = async (admin: Client, campaignId: string, fields: Record<string, unknown> = {}) =>
  (await admin.post(`/api/v1/admin/ads/campaigns/${campaignId}/banners`, newBanner(fields))).string("id");
