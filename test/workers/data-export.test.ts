import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { z } from "zod";
import { Snooze } from "../../lib/process/errors.js";
import { files, keysOf } from "../../lib/storage/file-store.js";
import { dataExport } from "../../queues/index.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { exportData } from "../../workers/data-export.js";
import { runUpkeep } from "../../workers/upkeep.js";
import { startApi, type Client } from "../support/api.js";
import { admin, bakery, bakeryProfile, join, listBox, user, type Character } from "../support/cast.js";
import { newKinds, newNotifications, runEvents, stagedEvents } from "../support/events.js";
import { fileForm, pdf } from "../support/pictures.js";
import { task } from "../support/task.js";

let client: Client;
let stop: () => Promise<void>;
let anna: Character;
/** What only other people may know. */
const secret = randomUUID().replaceAll("-", "");
let others: { boris: Character; vera: Character; borissOrder: string };

beforeAll(async () => {
  ({ client, stop } = await startApi());
  anna = await user(client);
  others = await fillAccount(anna);
});

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

const Export = z.object({ id: z.string(), name: z.string() });

/** Inserts an export of a user; returns its task and the key of its file. */
async function newExport({ id: userId }: Pick<Character, "id">) {
  const [row] = await sql<{ id: string; name: string }[]>`
    insert into data_exports (user_id, name, expires_at)
    values (${userId}::uuid, md5(gen_random_uuid()::text) || '00000000', now() + interval '1 day')
    returning id, name`;
  const { id, name } = Export.parse(row);
  return { id, key: keysOf(name).data, job: task({ exportId: id }) };
}

const stateOf = async (id: string) =>
  (
    await sql<{ status: string; days: number }[]>`
    select status::text, round(extract(epoch from expires_at - now()) / 86400)::integer as days
    from data_exports where id = ${id}::uuid`
  )[0];

const Written = z.record(z.string(), z.unknown());

async function written(of: Pick<Character, "id">): Promise<Record<string, unknown>> {
  const { key, job } = await newExport(of);
  await exportData(job);
  return Written.parse(JSON.parse(await text(await files.read(key))));
}

/** Gives a user rows of every kind, among those of other people; returns these. Boris is staff of the user's partner. */
async function fillAccount(who: Character): Promise<typeof others> {
  const as = who.client;
  const [boris, vera, boss] = [await user(client), await user(client), await admin(client)];
  for (const [n, other] of [boris, vera].entries())
    await other.client.put("/api/v1/users/me", { firstName: `Other${n}${secret}`, email: `${secret}${n}@example.com` });
  const shop = await bakery(client);
  await as.put("/api/v1/users/me", { firstName: "Анна", lastName: "Ким", email: "anna@example.com" });
  await as.put("/api/v1/users/me/notification-preferences", { marketing: true });
  const referral = (await vera.client.get("/api/v1/loyalty/score")).string("referralCode");
  await as.post("/api/v1/loyalty/referral", { referralCode: referral });
  await boss.client.post("/api/v1/admin/promo/create", { code: "ANNA10", discountPercent: 10, maxUsesPerUser: 5 });
  const apply = () => as.post("/api/v1/loyalty/promo/apply", { code: "ANNA10", orderAmount: 10 });
  await apply();
  const order = async (by: Character, address: string) => {
    const boxId = await listBox(shop, { price: 10 });
    const placed = await by.client.post("/api/v1/orders", {
      items: [{ boxId, qty: 1 }],
      totalAmount: 10,
      partnerId: shop.id,
      address,
    });
    return placed.string("orderId");
  };
  const orderId = await order(who, "улица Анны");
  await apply();
  const borissOrder = await order(boris, `улица ${secret}`);
  const declined = await order(boris, `улица ${secret}`);
  await shop.owner.client.put(`/api/v1/orders/${orderId}/status`, { status: "COMPLETED" });
  await as.post("/api/v1/reviews", { orderId, rating: 5, text: "Вкусно!" });
  await as.post("/api/v1/users/me/favorites", { targetType: "PARTNER", targetId: shop.id });
  await as.post("/api/v1/notifications/devices", { pushToken: `token-${secret}`, platform: "ios", locale: "ru-RU" });
  await as.post("/api/v1/files/upload", fileForm(pdf, "application/pdf"));
  await sql`insert into sessions (user_id) values (${who.id}::uuid)`;
  await sql`
    with sent as (
      insert into notifications (user_id, kind, order_id) values (${who.id}::uuid, 'ORDER_READY', ${orderId}::uuid) returning id
    )
    insert into notification_deliveries (notification_id, device_id, platform, address_digest, status)
    select id, gen_random_uuid(), 'ios', sha256('address'), 'SENT' from sent`;
  await sql`
    insert into loyalty_entries (user_id, kind, points, order_id)
    values (${who.id}::uuid, 'REFERRER', 50, ${borissOrder}::uuid)`;
  await sql`
    insert into pos_orders (partner_id, provider, account, external_id, order_id, refused_by)
    values (${shop.id}::uuid, 'generic', '-', 'declined', ${declined}::uuid, ${who.id}::uuid)`;
  await sql`
    insert into pos_events (partner_id, provider, account, event_id, change)
    values (
      ${shop.id}::uuid, 'generic', '-', 'reported',
      jsonb_build_object('kind', 'order.created', 'customerPhone', ${who.phone}::text, 'address', ${secret}::text)
    )`;
  await sql`insert into audit_events (actor_id, action, details) values (${who.id}::uuid, 'CITY_NAMED', jsonb_build_object('name', ${secret}::text))`;
  // a partner that she owns, whose staff Boris is, and one that somebody else registered with her phone
  const own = (
    await as.post("/api/v1/partners/register", { ...bakeryProfile, phone: who.phone, email: "shop@example.com" })
  ).string("id");
  await sql`update partners set status = 'ACTIVE', activated_at = now() where id = ${own}::uuid`;
  await join({ id: own, owner: who }, boris);
  await client.post("/api/v1/partners/register", {
    ...bakeryProfile,
    phone: who.phone,
    email: `${secret}@example.com`,
  });
  await shop.owner.client.post("/api/v1/partners/me/staff", { phone: who.phone });
  return { boris, vera, borissOrder };
}

test("the file has what is stored about its user", async () => {
  const data = await written(anna);
  const empty = Object.entries(data).filter(([, part]) => part === null || (Array.isArray(part) && part.length === 0));
  expect(empty).toEqual([]);
  expect(data).toMatchObject({
    profile: { id: anna.id, phone: anna.phone, firstName: "Анна", lastName: "Ким", email: "anna@example.com" },
    notificationPreferences: { marketing: true },
    loyalty: { wasReferred: true, referralCode: expect.any(String) },
    orders: [
      {
        address: "улица Анны",
        totalMinor: 1_000,
        discountMinor: 100,
        promoCode: "ANNA10",
        items: [{ name: "Вечерний набор", priceMinor: 1_000, qty: 1 }],
        events: [{ to: "ACCEPTED" }, { to: "COMPLETED", by: "PARTNER", at: expect.stringMatching(/^\d{4}-.*Z$/) }],
      },
    ],
    reviews: [{ rating: 5, text: "Вкусно!" }],
    reportsOfTills: [{ provider: "generic", kind: "order.created" }],
    partners: [
      { role: "OWNER", email: "shop@example.com" },
      { role: "NAMED", phone: anna.phone, email: null },
    ],
  });
});

test("the file has nothing about other people, and no secrets", async () => {
  const file = JSON.stringify(await written(anna));
  const { boris, vera, borissOrder } = others;
  for (const theirs of [secret, boris.id, boris.phone, vera.id, vera.phone, borissOrder])
    expect(file).not.toContain(theirs);
  expect(file).not.toMatch(/digest|p256dh|hash/i);
});

test("staff get the name of their partner, but not its owner's contacts", async () => {
  const { partners } = await written(others.boris);
  expect(partners).toMatchObject([{ role: "STAFF", name: bakeryProfile.name, phone: null, email: null }]);
});

test("the file of a new account is complete", async () => {
  const newcomer = await user(client);
  const { profile, madeAt, notificationPreferences, ...rest } = await written(newcomer);
  expect([profile, madeAt, notificationPreferences]).toMatchObject([{ phone: newcomer.phone }, expect.any(String), {}]);
  expect(Object.values(rest).filter((part) => part !== null && !(Array.isArray(part) && part.length === 0))).toEqual(
    [],
  );
});

test("lists of many pages have every row once, in order", async () => {
  const reader = await user(client);
  await sql`
    insert into favorites (user_id, box_id, partner_id)
    select ${reader.id}::uuid, b.id, null from boxes b limit 1`;
  await sql`
    insert into notifications (user_id, kind) select ${reader.id}::uuid, 'ORDER_READY' from generate_series(1, 601)`;
  const ids = await sql<{ id: string }[]>`select id from notifications where user_id = ${reader.id}::uuid order by id`;
  const { notifications } = await written(reader);
  expect(z.array(z.object({ id: z.string() })).parse(notifications)).toEqual(ids.map(({ id }) => ({ id })));
});

/**
 * Every column that names a person: the part of the file that has its rows, or why the file has none. A new column must be
 * decided here.
 */
const decisions: Readonly<Record<string, string>> = {
  "users.phone": "profile",
  "users.email": "profile",
  "users.phone_hash": "none: a deleted account's",
  "users.first_account_id": "none: may be of the phone's former holder",
  "audit_events.actor_id": "actions",
  "data_exports.user_id": "none: the file itself",
  "devices.user_id": "devices",
  "favorites.user_id": "favorites",
  "files.user_id": "files",
  "idempotency_keys.user_id": "none: chosen by the app, kept for 24 hours",
  "loyalty_accounts.user_id": "loyalty",
  "loyalty_accounts.referrer_id": "none: whom a user referred is about another person",
  "loyalty_entries.user_id": "points",
  "notification_preferences.user_id": "notificationPreferences",
  "notification_preferences.email": "notificationPreferences",
  "notifications.user_id": "notifications",
  "order_events.actor_id": "none: who of a partner's people moved an order is the partner's record",
  "orders.user_id": "orders",
  "otp.phone": "none: secrets, kept for a day",
  "partner_staff.user_id": "partners",
  "partners.owner_id": "partners",
  "partners.owner_phone": "partners",
  "partners.phone": "partners",
  "partners.email": "partners",
  "pos_events.change": "reportsOfTills",
  "pos_orders.refused_by": "declinedOrders",
  "promo_attachments.user_id": "promoCode",
  "promo_redemptions.user_id": "orders",
  "reviews.user_id": "reviews",
  "sessions.user_id": "logins",
  "staff_invitations.phone": "invitations",
};

test("every column that names a person is in the file, or has a reason not to be", async () => {
  const columns = await sql<{ name: string }[]>`
    select c.relname || '.' || a.attname as name
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
    where a.attnum > 0 and not a.attisdropped
      and (
        a.attname !~ '^max_' and a.attname ~ '(^|_)(user|users|actor|owner|author|customer|person|phone|email)(_id|_hash|_phone|_email)?$'
        or exists (
          select from pg_constraint f
          where f.contype = 'f' and f.conrelid = a.attrelid and a.attnum = any (f.conkey)
            and f.confrelid in ('users'::regclass, 'loyalty_accounts'::regclass)
        )
      )`;
  const decided = Object.keys(decisions).filter((name) => name !== "pos_events.change");
  expect(columns.map(({ name }) => name).sort()).toEqual(decided.sort());
  const parts = Object.values(decisions).filter((part) => !part.startsWith("none: "));
  const named = Object.keys(await written(anna)).filter((name) => name !== "madeAt");
  expect([...new Set(parts)].sort()).toEqual(named.sort());
});

test("every table that the erasure of an account changes is decided on", () => {
  const erasure = ["erase_accounts", "delete_account"].map((name) =>
    readFileSync(new URL(`../../sql/functions/${name}.sql`, import.meta.url), "utf8"),
  );
  const changed = erasure.flatMap((text) =>
    Array.from(text.matchAll(/^ *(?:delete from|update) (\w+)/gm), ([, name]) => name),
  );
  const decided = new Set(Object.keys(decisions).map((column) => column.split(".")[0]));
  expect(changed.length).toBeGreaterThan(10);
  expect(changed.filter((name) => !decided.has(name))).toEqual([]);
});

test("an export is READY for three days, and running its job again changes nothing", async () => {
  const { id, key, job } = await newExport(anna);
  await exportData(job);
  expect(await stateOf(id)).toEqual({ status: "READY", days: 3 });
  const [done, total] = job.reported.at(-1) ?? [];
  expect([done, job.reported.length]).toEqual([total, total]);
  const file = await text(await files.read(key));
  await exportData(job);
  expect(await text(await files.read(key))).toBe(file);
});

test("its user is notified of a file that is ready, once, and of none that is deleted by then", async () => {
  const newcomer = await user(client);
  const [first, second] = [await newExport(newcomer), await newExport(newcomer)];
  await exportData({ ...first.job, requestId: "export-1" });
  await exportData(first.job);
  expect(await stagedEvents(first.id)).toMatchObject([
    { payload: { event: "DATA_EXPORT_READY" }, requestId: "export-1" },
  ]);
  await runEvents(first.id);
  expect(await newNotifications(newcomer)).toMatchObject([{ kind: "DATA_EXPORT_READY", title: "Ваши данные готовы" }]);
  await exportData(second.job);
  await sql`delete from data_exports where id = ${second.id}::uuid`;
  await runEvents(second.id);
  expect(await newKinds(newcomer)).toEqual([]);
});

test("an export that is deleted while its file is made leaves no file", async () => {
  const { id, key, job } = await newExport(anna);
  const put = files.put.bind(files);
  const writing = jest.spyOn(files, "put").mockImplementationOnce(async (...given) => {
    await put(...given);
    await sql`delete from data_exports where id = ${id}::uuid`;
  });
  await exportData(job);
  expect(writing).toHaveBeenCalledTimes(1);
  expect(await files.size(key)).toBeNull();
});

test("the deletion of the account ends an export that waits, is being made or is ready", async () => {
  const former = await user(client);
  const [waiting, making, ready] = [await newExport(former), await newExport(former), await newExport(former)];
  await exportData(ready.job);
  const put = files.put.bind(files);
  jest.spyOn(files, "put").mockImplementationOnce(async (...given) => {
    await put(...given);
    await former.client.delete("/api/v1/users/me");
  });
  await exportData(making.job);
  await exportData(waiting.job);
  expect(await files.size(waiting.key)).toBeNull();
  await runUpkeep(task({ task: "clear-away-files" }));
  for (const { id, key } of [waiting, making, ready])
    expect([await stateOf(id), await files.size(key)]).toEqual([undefined, null]);
});

test("upkeep deletes an expired export with its file, and no other", async () => {
  const [old, young] = [await newExport(anna), await newExport(anna)];
  await exportData(old.job);
  await exportData(young.job);
  await sql`update data_exports set expires_at = now() - interval '1 second' where id = ${old.id}::uuid`;
  await runUpkeep(task({ task: "clear-away-files" }));
  expect([await stateOf(old.id), await files.size(old.key)]).toEqual([undefined, null]);
  expect([await stateOf(young.id), await files.size(young.key)]).toMatchObject([
    { status: "READY" },
    expect.any(Number),
  ]);
});

test("a process that stops leaves the export to another", async () => {
  const { id, key, job } = await newExport(anna);
  await expect(exportData({ ...job, signal: AbortSignal.abort() })).rejects.toThrow(Snooze);
  expect([await stateOf(id), await files.size(key)]).toMatchObject([{ status: "QUEUED" }, null]);
});

test("an export that could not be made at its last attempt has FAILED", async () => {
  const { id, job } = await newExport(anna);
  const failing = jest.spyOn(files, "put").mockRejectedValue(new Error("the storage is full"));
  await expect(exportData({ ...job, attempt: dataExport.attempts - 1 })).rejects.toThrow("full");
  expect(await stateOf(id)).toMatchObject({ status: "QUEUED" });
  await expect(exportData({ ...job, attempt: dataExport.attempts })).rejects.toThrow("full");
  expect(await stateOf(id)).toMatchObject({ status: "FAILED" });
  failing.mockRestore();
});
