import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { closeDatabase, sql } from "../../sql/db.js";
import { deliverPush } from "../../workers/push.js";
import { runUpkeep } from "../../workers/upkeep.js";
import { startApi, type Client } from "../support/api.js";
import { addMenuItem, admin as newAdmin, bakery, bakeryProfile, newPhone, user } from "../support/cast.js";
import type { Bakery } from "../support/cast.js";
import { task } from "../support/task.js";

const database = new pg.Client({ connectionString: process.env["DATABASE_URL"] });
let client: Client;
let stop: () => Promise<void>;
let shop: Bakery;
let admin: Client;

beforeAll(async () => {
  ({ client, stop } = await startApi());
  await database.connect();
  shop = await bakery(client);
  ({ client: admin } = await newAdmin(client));
});

afterAll(async () => {
  await stop();
  await database.end();
  await closeDatabase();
});

/** The tables in which a text occurs. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await database.query<{ name: string }>(`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`);
  const looks = tables.rows.map(
    ({ name }) => `select '${name}' as name where exists (select from ${name} t where position($1 in t::text) > 0)`,
  );
  const found = await database.query<{ name: string }>(looks.join(" union all "), [text]);
  return found.rows.map(({ name }) => name).sort();
}

/** A user who has used every feature and deleted the account some days ago. */
async function formerCustomer(days: number) {
  const secret = randomUUID().replaceAll("-", "");
  const who = await user(client);
  const as = who.client;
  await as.put("/api/v1/users/me", {
    firstName: `Анна ${secret}`,
    lastName: secret,
    email: `${secret}@example.com`,
    timezone: "Asia/Omsk",
  });
  await as.post("/api/v1/users/me/avatar", { avatarUrl: `https://example.com/${secret}.webp` });
  await as.put("/api/v1/users/me/notification-preferences", { marketing: true });
  const order = await as.post("/api/v1/orders", {
    items: [{ menuItemId: await addMenuItem(shop, { price: 60, name: randomUUID() }), qty: 1 }],
    totalAmount: 60,
    partnerId: shop.id,
    address: `улица ${secret}`,
  });
  const orderId = order.string("orderId");
  const [, area, a, b, c] = /^\+7(...)(...)(..)(..)$/.exec(who.phone) ?? [];
  const text = `Вкусно! Анна ${secret}, 8 (${area}) ${a}-${b}-${c}. Или ${who.phone}, ${secret.toUpperCase()}`;
  const review = await as.post("/api/v1/reviews", { orderId, rating: 5, text });
  const [notification] = await sql<{ id: string }[]>`
    insert into notifications (user_id, kind, order_id) values (${who.id}::uuid, 'ORDER_READY', ${orderId}::uuid) returning id`;
  const rejected = await client.post("/api/v1/partners/register", {
    ...bakeryProfile,
    phone: who.phone,
    email: `rejected-${secret}@example.com`,
  });
  await admin.put(`/api/v1/admin/partners/${rejected.string("id")}/reject`, { reason: `Звонил ${secret}` });
  const given = await as.post("/api/v1/partners/register", { ...bakeryProfile, phone: who.phone });
  const { id: successor } = await user(client);
  await sql`
    update partners set owner_id = ${successor}::uuid, owner_phone = ${newPhone()} where id = ${given.string("id")}::uuid`;
  const partner = await as.post("/api/v1/partners/register", {
    ...bakeryProfile,
    phone: who.phone,
    email: `shop-${secret}@example.com`,
  });
  const partnerId = partner.string("id");
  await sql`update partners set status = 'ACTIVE', activated_at = now() where id = ${partnerId}::uuid`;
  await sql`
    insert into pos_events (partner_id, provider, account, event_id, change, status, settled_at)
    select ${shop.id}::uuid, 'generic', '-', gen_random_uuid()::text,
           jsonb_build_object(
             'kind', 'order.created', 'items', '[]'::jsonb, 'totalMinor', 100, 'customerPhone', ${who.phone}::text,
             'address', ${secret}::text
           ),
           status, case when status = 'PARKED' then now() end
    from unnest('{QUEUED,PARKED}'::pos_event_status[]) as status`;
  await as.delete("/api/v1/users/me");
  // what a concurrent request may have left behind
  const pushToken = `fcm:${secret}`;
  await sql`
    insert into devices (user_id, platform, address, address_digest, locale)
    values (${who.id}::uuid, 'ios', ${pushToken}, sha256(convert_to(${pushToken}::text, 'UTF8')), 'ru-RU')`;
  await sql`
    insert into notification_deliveries (notification_id, device_id, platform, address_digest, status)
    select ${notification!.id}::uuid, id, platform, address_digest, 'SENT' from devices where user_id = ${who.id}::uuid`;
  await sql`
    update users set deleted_at = now() - interval '1 day' * ${days}::integer where id = ${who.id}::uuid`;
  await sql`
    update partners set owner_left_at = owner_left_at - interval '1 day' * ${days}::integer
    where id in (${partnerId}::uuid, ${rejected.string("id")}::uuid)`;
  return { ...who, secret, partnerId, orderId, reviewId: review.string("id"), notificationId: notification!.id };
}

test("an account deleted 30 days ago keeps no personal data, but its orders and reviews", async () => {
  const [old, young] = [await formerCustomer(31), await formerCustomer(29)];
  const run = task({ task: "erase-accounts" });
  await runUpkeep(run);
  expect(run.lines).toMatchObject([{ rows: 1 }]);
  // after the batch, and after the one that found nothing
  expect(run.reported).toEqual(Array(2).fill([1, 1]));

  expect(await tablesWith(old.secret)).toEqual([]);
  expect(await tablesWith(old.phone)).toEqual([]);
  expect(await tablesWith(old.notificationId)).toEqual([]);
  // the event log names an account by its id only, and forgets it after some weeks
  expect(await tablesWith(old.id)).toEqual([
    "audit_events",
    "new_events",
    "order_events",
    "orders",
    "reviews",
    "users",
  ]);

  expect(await tablesWith(young.secret)).toEqual([
    ...["audit_events", "devices", "orders", "partners", "pos_events", "reviews", "users"],
  ]);
  expect(await tablesWith(young.phone)).toEqual(["partners", "pos_events", "reviews", "users"]);
  expect(await tablesWith(young.notificationId)).toEqual(["notification_deliveries", "notifications"]);

  const seen = await shop.owner.client.get(`/api/v1/orders/${old.orderId}`);
  expect([seen.status, seen.body["address"] ?? null]).toEqual([200, null]);
  const shown = (await client.get(`/api/v1/reviews/partners/${shop.id}`)).list;
  expect(shown.find(({ id }) => id === old.reviewId)).toMatchObject({ rating: 5, text: "Вкусно! …, …. Или …, …" });
});

test("a partner's contact is erased once no owner, expected owner or staff is left", async () => {
  const [left, taken, promised, staffed] = await Promise.all([31, 32, 33, 34].map(formerCustomer));
  const [owner, clerk] = [await user(client), await user(client)];
  await sql`update partners set owner_id = ${owner.id}::uuid where id = ${taken!.partnerId}::uuid`;
  await sql`update partners set owner_phone = ${newPhone()} where id = ${promised!.partnerId}::uuid`;
  await sql`insert into partner_staff (user_id, partner_id) values (${clerk.id}::uuid, ${staffed!.partnerId}::uuid)`;
  const contact = async (of: typeof left) => {
    const [row] = await sql<{ phone: string | null; email: string | null }[]>`
      select phone, email from partners where id = ${of!.partnerId}::uuid`;
    return [row!.phone, row!.email].filter((each) => each !== null).length;
  };
  await runUpkeep(task({ task: "erase-accounts" }));
  expect(await Promise.all([left, taken, promised, staffed].map(contact))).toEqual([0, 1, 1, 1]);
  await clerk.client.delete("/api/v1/users/me");
  await sql`delete from partner_staff where user_id = ${clerk.id}::uuid`;
  await runUpkeep(task({ task: "erase-accounts" }));
  expect(await Promise.all([left, taken, promised, staffed].map(contact))).toEqual([0, 1, 1, 0]);
});

test("POS events with a phone that has an account again are kept", async () => {
  const [old, heir] = [await formerCustomer(31), await user(client)];
  await sql`update users set phone = ${old.phone} where id = ${heir.id}::uuid`;
  await runUpkeep(task({ task: "erase-accounts" }));
  expect(await tablesWith(old.phone)).toEqual(["partners", "pos_events", "users"]);
});

test("the contact of a registration that waits for its phone is kept, that of a rejected one is erased", async () => {
  const old = await formerCustomer(31);
  const register = async (email: string) =>
    (await client.post("/api/v1/partners/register", { ...bakeryProfile, phone: old.phone, email })).string("id");
  const contact = (id: string) => sql`select phone, email, owner_phone from partners where id = ${id}::uuid`;
  const rejected = await register("rejected@example.com");
  await sql`update partners set status = 'REJECTED' where id = ${rejected}::uuid`;
  const waiting = await register("waiting@example.com");
  await runUpkeep(task({ task: "erase-accounts" }));
  expect(await contact(rejected)).toMatchObject([{ phone: null, email: null, ownerPhone: null }]);
  expect(await contact(waiting)).toMatchObject([
    { phone: old.phone, email: "waiting@example.com", ownerPhone: old.phone },
  ]);
});

test("the files of an erased account are deleted, also those that were shown", async () => {
  const old = await formerCustomer(31);
  await sql`
    insert into files (user_id, name, status, content_type, size, settled_at)
    select ${old.id}::uuid, gen_random_uuid()::text, 'READY', type, 1, now()
    from unnest(${["image/webp", "application/pdf"]}::text[]) as type`;
  await sql`
    update users set avatar = (select name from files where user_id = ${old.id}::uuid limit 1) where id = ${old.id}::uuid`;
  await runUpkeep(task({ task: "erase-accounts" }));
  await sql`update files set unused_since = unused_since - interval '2 days' where user_id = ${old.id}::uuid`;
  await runUpkeep(task({ task: "clear-away-files" }));
  expect((await sql`select from files where user_id = ${old.id}::uuid`).count).toBe(0);
});

test("the data exports of an erased account are deleted, also one that began during the deletion", async () => {
  const old = await formerCustomer(31);
  await sql`
    insert into data_exports (user_id, name, expires_at) values (${old.id}::uuid, 'late', now() + interval '1 day')`;
  await runUpkeep(task({ task: "erase-accounts" }));
  await runUpkeep(task({ task: "clear-away-files" }));
  expect((await sql`select from data_exports where user_id = ${old.id}::uuid`).count).toBe(0);
});

test("the pending pushes of an erased account find nothing to do", async () => {
  const old = await formerCustomer(31);
  await runUpkeep(task({ task: "erase-accounts" }));
  await expect(deliverPush(task({ notificationId: old.notificationId }))).resolves.toBeUndefined();
});

test("an account is erased once by concurrent runs", async () => {
  await Promise.all([formerCustomer(31), formerCustomer(32)]);
  const runs = Array.from({ length: 4 }, () => task({ task: "erase-accounts" }));
  await Promise.all(runs.map(runUpkeep));
  const rows = runs.flatMap(({ lines }) => lines.map((line) => Number(line["rows"])));
  expect(rows.reduce((sum, count) => sum + count, 0)).toBe(2);
  const again = task({ task: "erase-accounts" });
  await runUpkeep(again);
  expect(again.lines).toEqual([]);
});

test("accounts that are not deleted are not changed", async () => {
  const anna = await user(client);
  const before = await sql`select users::text as row from users where id = ${anna.id}::uuid`;
  await runUpkeep(task({ task: "erase-accounts" }));
  expect(await sql`select users::text as row from users where id = ${anna.id}::uuid`).toEqual(before);
});
