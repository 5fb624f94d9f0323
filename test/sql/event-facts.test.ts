import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { eventTypes } from "../../lib/domain/event-types.js";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { expireBoxes, updateBoxHidden } from "../../sql/queries/boxes.js";
import { moveOrder, type OrderMover } from "../../sql/queries/orders.js";
import { upsertPosItems } from "../../sql/queries/pos-menu.js";
import { startApi } from "../support/api.js";
import * as cast from "../support/cast.js";
import { order as placeOrder } from "../support/orders.js";

const api = await startApi();
let shop: cast.Bakery;
let anna: cast.Character;

beforeAll(async () => {
  shop = await cast.bakery(api.client);
  anna = await cast.user(api.client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

interface Fact {
  type: string;
  version: number;
  partnerId: string | null;
  data: Record<string, unknown>;
}

/** All events that the tests have read, for the last test. */
const all: Fact[] = [];

/** Takes the new events, oldest first, and checks each against its strict declaration. */
async function facts(): Promise<Fact[]> {
  const rows = await sql<Fact[]>`
    with taken as (delete from new_events returning written, type, version, partner_id, data)
    select type, version, partner_id as "partnerId", data from taken order by written`;
  for (const { type, version, partnerId, data } of rows) {
    const declared = eventTypes.get(type);
    expect([type, declared?.version, declared?.ofPartner]).toEqual([type, version, partnerId !== null]);
    expect([type, z.strictObject(declared!.data.shape).safeParse(data).error?.issues]).toEqual([type, undefined]);
  }
  all.push(...rows);
  return rows;
}

/** The types of the new events, all of which must belong to the shop. */
async function typesOfShop(): Promise<string[]> {
  const found = await facts();
  expect(found.filter(({ partnerId }) => partnerId !== shop.id)).toEqual([]);
  return found.map(({ type }) => type);
}

const hour = 60 * 60_000;
/** A pickup window that begins late enough for customers to cancel. */
const later = () => ({
  pickupWindowStart: new Date(Date.now() + 5 * hour).toISOString(),
  pickupWindowEnd: new Date(Date.now() + 7 * hour).toISOString(),
});
const buy = async (boxId: string) => (await placeOrder(anna, shop, [{ boxId, qty: 1 }], 249.9)).string("orderId");
const asPartner = (): OrderMover => ({ actor: "PARTNER", userId: shop.owner.id, partnerId: shop.id });

test("a partner", async () => {
  await facts();
  const { id } = await cast.bakery(api.client, "SUSPENDED");
  await sql`update partners set status = 'REJECTED' where id = ${id}::uuid`;
  await sql`update partners set status = 'REJECTED', name = 'Другая' where id = ${id}::uuid`;
  const found = await facts();
  expect(found.map(({ type, partnerId, data }) => [type, partnerId, data["from"]])).toEqual([
    ["partner.registered", id, null],
    ["partner.suspended", id, "PENDING_REVIEW"],
    ["partner.rejected", id, "SUSPENDED"],
  ]);
  await sql`update partners set status = 'ACTIVE' where id = ${id}::uuid`;
  expect((await facts()).map(({ type }) => type)).toEqual(["partner.approved"]);
});

test("an order, and the box of which it takes the last", async () => {
  const boxId = await cast.listBox(shop, { quantity: 1, ...later() });
  expect(await typesOfShop()).toEqual(["box.listed"]);
  const cancelled = await buy(boxId);
  const found = await facts();
  expect(found.map(({ type }) => type).toSorted()).toEqual(["box.sold_out", "order.placed"]);
  expect(found.find(({ type }) => type === "order.placed")).toMatchObject({
    partnerId: shop.id,
    data: { orderId: cancelled, amountDueCents: 24_990, takenElsewhere: false },
  });
  await anna.client.post(`/api/v1/orders/${cancelled}/cancel`);
  const back = await facts();
  expect(back.map(({ type }) => type)).toEqual(["order.cancelled", "box.back"]);
  expect(back[0]?.data).toEqual({ orderId: cancelled, from: "ACCEPTED", by: "CUSTOMER" });

  const handedOver = await buy(boxId);
  await moveOrder(sql, handedOver, "READY", asPartner());
  await moveOrder(sql, handedOver, "COMPLETED", asPartner());
  // the second time has no effect
  await moveOrder(sql, handedOver, "COMPLETED", asPartner());
  const types = (await facts()).map(({ type }) => type);
  expect(types.filter((type) => type !== "box.sold_out")).toEqual([
    "order.placed",
    "order.ready",
    "order.completed",
    "points.earned",
  ]);
  const review = await anna.client.post("/api/v1/reviews", { orderId: handedOver, rating: 5, text: "Спасибо, Иван!" });
  await sql`update reviews set status = 'APPROVED' where id = ${review.string("id")}::uuid`;
  expect(await typesOfShop()).toEqual(["review.published", "review.moderated"]);
});

test("an order that is not placed or not moved writes nothing", async () => {
  const boxId = await cast.listBox(shop, { quantity: 1 });
  await facts();
  const refused = await placeOrder(anna, shop, [{ boxId, qty: 2 }], 499.8);
  expect(refused.status).toBe(409);
  expect(await facts()).toEqual([]);
  const missed = await buy(boxId);
  await facts();
  await moveOrder(sql, missed, "CANCELLED", { actor: "SERVICE" });
  expect(await facts()).toEqual([]);
  await moveOrder(sql, missed, "NO_SHOW", { actor: "SERVICE" });
  expect(await typesOfShop()).toEqual(["order.no_show"]);
});

test("a box: its changes, by hand and by time", async () => {
  const boxId = await cast.listBox(shop, { quantity: 3 });
  const owner = shop.owner.client;
  await facts();
  await owner.put(`/api/v1/boxes/${boxId}`, { price: 199.9 });
  expect((await facts()).map(({ type, data }) => [type, data["priceCents"]])).toEqual([["box.changed", 19_990]]);
  await owner.put(`/api/v1/boxes/${boxId}`, { price: 199.9 });
  expect(await facts()).toEqual([]);
  await owner.patch(`/api/v1/boxes/${boxId}/quantity`, { quantityAvailable: 0 });
  expect((await typesOfShop()).toSorted()).toEqual(["box.changed", "box.sold_out"]);
  await updateBoxHidden(sql, boxId, shop.id, true);
  expect((await facts()).map(({ type, data }) => [type, data["hidden"]])).toEqual([["box.changed", true]]);
  await sql`
    update boxes set pickup_window_start = now() - interval '3 hours', pickup_window_end = now() - interval '1 second'
    where id = ${boxId}::uuid`;
  await facts();
  await expireBoxes(sql, 100);
  expect(await typesOfShop()).toEqual(["box.expired"]);
  const repeated = await cast.listBox(shop, { quantity: 2 });
  await owner.post(`/api/v1/boxes/${repeated}/repeat`);
  expect(await typesOfShop()).toEqual(["box.listed", "box.listed"]);
});

test("a menu item, made by hand or by a POS", async () => {
  const id = await cast.addMenuItem(shop);
  await shop.owner.client.put(`/api/v1/menu/items/${id}`, { price: 130 });
  await shop.owner.client.put(`/api/v1/menu/items/${id}`, { price: 130 });
  await shop.owner.client.delete(`/api/v1/menu/items/${id}`);
  expect(await typesOfShop()).toEqual(["menu_item.created", "menu_item.changed", "menu_item.archived"]);
  const pulled = { externalId: "p-1", name: "Батон", category: "Хлеб", description: null, weightGrams: null };
  const pull = (priceMinor: number) =>
    transaction((tx) => upsertPosItems(tx, shop.id, [{ ...pulled, priceMinor, available: true }]));
  await pull(5_000);
  await pull(5_000);
  await pull(6_000);
  // new items of a sync have no event of their own
  expect(await typesOfShop()).toEqual(["menu_item.changed"]);
});

test("what ends: imports, syncs, campaigns, conversions, accounts", async () => {
  await sql`
    with import as (
      insert into menu_imports (partner_id, file_key, size, columns, delimiter, position, lines)
      values (${shop.id}::uuid, 'k', 1, '{name}', ',', 0, 0)
    ), sync as (
      insert into pos_syncs (partner_id) values (${shop.id}::uuid)
    ), campaign as (
      insert into ad_campaigns (name, placements, budget_minor, status) values ('Лето', '{home}', 1, 'ACTIVE')
    )
    insert into files (user_id, name, status, content_type, size) values (${anna.id}::uuid, 'f', 'STORED', 'image/webp', 1)`;
  await sql`update menu_imports set status = 'DONE', settled_at = now()`;
  await sql`update pos_syncs set status = 'FAILED', failure = 'UNAVAILABLE', settled_at = now()`;
  await sql`update ad_campaigns set status = 'COMPLETED'`;
  await sql`update files set status = 'READY', settled_at = now() where name = 'f'`;
  await anna.client.delete("/api/v1/users/me");
  expect((await facts()).map(({ type }) => type)).toEqual([
    "menu_import.finished",
    "pos_sync.finished",
    "campaign.completed",
    "file.ready",
    "account.deleted",
  ]);
});

test("every type that SQL writes is declared and tested, and every declared one written", async () => {
  const folders = ["sql/functions", "sql/queries"];
  const files = (
    await Promise.all(folders.map(async (folder) => (await readdir(folder)).map((name) => join(folder, name))))
  ).flat();
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  const written = texts.flatMap((text) => Array.from(text.matchAll(/'([a-z_]+\.[a-z_]+)'/g), ([, type = ""]) => type));
  const declared = [...eventTypes.keys()].toSorted();
  expect([...new Set(written)].toSorted()).toEqual(declared);
  expect([...new Set(all.map(({ type }) => type))].toSorted()).toEqual(declared);
});

test("no event holds a name, a phone or a text", () => {
  const text = JSON.stringify(all);
  for (const secret of [anna.phone, shop.owner.phone, "Иван", "Вечерний набор", "Багет", cast.bakeryProfile.name])
    expect(text).not.toContain(secret);
});
