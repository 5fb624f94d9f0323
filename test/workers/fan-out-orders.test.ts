import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { runUpkeep } from "../../workers/upkeep.js";
import { startApi, type Client } from "../support/api.js";
import { addMenuItem, admin, bakery, join, listBox, user, type Bakery, type Character } from "../support/cast.js";
import { newKinds, newNotifications, runEvents, stagedEvents } from "../support/events.js";
import { task } from "../support/task.js";

let client: Client;
let stop: () => Promise<void>;
let shop: Bakery;
let clerk: Character;
let anna: Character;

beforeAll(async () => {
  ({ client, stop } = await startApi());
  shop = await bakery(client);
  [clerk, anna] = [await user(client), await user(client)];
  await join(shop, clerk);
});

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

interface Wish {
  id: string;
  price: number;
  qty?: number;
}

async function order(wish: Wish, who = anna): Promise<string> {
  const { id: menuItemId, price, qty = 1 } = wish;
  const placed = await who.client.post("/api/v1/orders", {
    items: [{ menuItemId, qty }],
    totalAmount: price * qty,
    partnerId: shop.id,
  });
  const orderId = placed.string("orderId");
  await runEvents(orderId);
  return orderId;
}

const roll = async (price = 60): Promise<Wish> => ({ id: await addMenuItem(shop, { price, name: "Булочка" }), price });
const move = (orderId: string, status: string) => shop.owner.client.put(`/api/v1/orders/${orderId}/status`, { status });

test("a new order notifies both sides, and each of its moves the customer", async () => {
  const orderId = await order(await roll());
  expect(await Promise.all([newKinds(anna), newKinds(shop.owner), newKinds(clerk)])).toEqual([
    ["ORDER_ACCEPTED"],
    ["NEW_ORDER"],
    ["NEW_ORDER"],
  ]);
  const moved = await move(orderId, "READY");
  expect((await stagedEvents(orderId)).map(({ requestId }) => requestId)).toEqual([moved.headers.get("x-request-id")]);
  await runEvents(orderId);
  expect(await newNotifications(anna)).toMatchObject([{ kind: "ORDER_READY", orderId, partnerId: shop.id }]);
  await move(orderId, "READY");
  expect(await stagedEvents(orderId)).toEqual([]);
  await move(orderId, "COMPLETED");
  await runEvents(orderId);
  expect(await newNotifications(anna)).toMatchObject([{ kind: "POINTS_EARNED", title: "+6 баллов", orderId }]);
  expect([await newKinds(shop.owner), await newKinds(clerk)]).toEqual([[], []]);
});

test("a refused move is not an event", async () => {
  const orderId = await order(await roll());
  await move(orderId, "COMPLETED");
  await runEvents(orderId);
  expect((await move(orderId, "CANCELLED")).status).toBe(409);
  expect(await stagedEvents(orderId)).toEqual([]);
  await newNotifications(anna);
});

test("cancelling an order notifies the other side", async () => {
  const [one, other] = [await order(await roll()), await order(await roll())];
  await Promise.all([newNotifications(anna), newNotifications(shop.owner), newNotifications(clerk)]);
  await anna.client.post(`/api/v1/orders/${one}/cancel`);
  await runEvents(one);
  expect([await newKinds(anna), await newKinds(shop.owner), await newKinds(clerk)]).toEqual([
    [],
    ["ORDER_CANCELLED_BY_CUSTOMER"],
    ["ORDER_CANCELLED_BY_CUSTOMER"],
  ]);
  await move(other, "CANCELLED");
  await runEvents(other);
  expect([await newKinds(anna), await newKinds(shop.owner)]).toEqual([["ORDER_CANCELLED"], []]);
});

test("the customer is reminded half an hour before the pickup window, unless they ordered later", async () => {
  const later = await order({ id: await listBox(shop, { price: 100 }), price: 100 });
  const [reminder] = await sql<{ early: number }[]>`
    select round(extract(epoch from o.pickup_window_start - j.run_at) / 60)::integer as early
    from staged_jobs j
    join orders o on o.id::text = j.payload ->> 'subjectId'
    where j.queue = 'fan-out' and j.payload ->> 'event' = 'PICKUP_SOON' and o.id = ${later}::uuid`;
  expect(reminder).toEqual({ early: 30 });
  await newNotifications(anna);
  await sql`update staged_jobs set run_at = now() where payload ->> 'subjectId' = ${later}`;
  await runEvents(later);
  expect(await newNotifications(anna)).toMatchObject([{ kind: "PICKUP_SOON", orderId: later }]);

  const pickupWindowStart = new Date(Date.now() + 29 * 60_000).toISOString();
  const soon = await order({ id: await listBox(shop, { price: 100, pickupWindowStart }), price: 100 });
  const [now] = [await order(await roll())];
  const left = await sql`
    select from staged_jobs
    where payload ->> 'event' = 'PICKUP_SOON' and payload ->> 'subjectId' in (${soon}, ${now})`;
  expect(left).toHaveLength(0);
  await newNotifications(anna);
});

test("the customer is notified of an order that was not picked up", async () => {
  const orderId = await order(await roll());
  await sql`update orders set no_show_at = now() - interval '1 minute' where id = ${orderId}::uuid`;
  await runUpkeep(task({ task: "no-shows" }));
  await newNotifications(anna);
  await runEvents(orderId);
  expect(await newKinds(anna)).toEqual(["ORDER_NO_SHOW"]);
});

test("customers are notified of points and new levels, and their referrers of points", async () => {
  const [friend, newcomer] = [await user(client), await user(client)];
  const { body: score } = await friend.client.get("/api/v1/loyalty/score");
  await newcomer.client.post("/api/v1/loyalty/referral", { referralCode: score["referralCode"] });
  for (const [price, kinds] of [
    [4_000, ["ORDER_ACCEPTED", "POINTS_EARNED", "LEVEL_REACHED"]],
    [60, ["ORDER_ACCEPTED", "POINTS_EARNED"]],
    [1, ["ORDER_ACCEPTED"]],
  ] as const) {
    const orderId = await order(await roll(price), newcomer);
    await move(orderId, "COMPLETED");
    await runEvents(orderId);
    expect(await newKinds(newcomer)).toEqual(kinds);
  }
  // a referrer learns nothing about the order except that there was one
  expect(await newNotifications(friend)).toMatchObject([
    { kind: "FRIEND_CAME", title: "+100 баллов", orderId: null, partnerId: null },
  ]);
});

test("the partner is notified of a review, and its author of the decision on it", async () => {
  const orderId = await order(await roll());
  await Promise.all([newNotifications(anna), newNotifications(shop.owner), newNotifications(clerk)]);
  const review = await anna.client.post("/api/v1/reviews", { orderId, rating: 4 });
  const id = review.string("id");
  await runEvents(id);
  expect(await newNotifications(shop.owner)).toMatchObject([
    { kind: "REVIEW_RECEIVED", body: "«Булочная на углу»: 4 звезды." },
  ]);
  expect([await newKinds(clerk), await newKinds(anna)]).toEqual([["REVIEW_RECEIVED"], []]);

  await anna.client.post("/api/v1/reviews", { orderId, rating: 4 });
  expect(await stagedEvents(id)).toEqual([]);
  const moderator = await admin(client);
  const decide = (decision: string) => moderator.client.put(`/api/v1/reviews/admin/${id}/moderate`, { decision });
  for (const [decision, kinds] of [
    ["APPROVE", ["REVIEW_APPROVED"]],
    ["APPROVE", []],
    ["REJECT", ["REVIEW_REJECTED"]],
  ] as const) {
    expect((await decide(decision)).status).toBe(200);
    await runEvents(id);
    expect(await newKinds(anna)).toEqual(kinds);
  }
});

test("a partner's people are notified of an admin's decision", async () => {
  const newcomer = await bakery(client, "PENDING_REVIEW");
  const moderator = await admin(client);
  for (const [path, kinds] of [
    ["approve", ["PARTNER_APPROVED"]],
    ["approve", []],
    ["suspend", ["PARTNER_SUSPENDED"]],
    ["approve", ["PARTNER_APPROVED"]],
  ] as const) {
    await moderator.client.put(`/api/v1/admin/partners/${newcomer.id}/${path}`);
    await runEvents(newcomer.id);
    expect(await newKinds(newcomer.owner)).toEqual(kinds);
  }
  const rejected = await bakery(client, "PENDING_REVIEW");
  await moderator.client.put(`/api/v1/admin/partners/${rejected.id}/reject`);
  await runEvents(rejected.id);
  expect(await newKinds(rejected.owner)).toEqual(["PARTNER_REJECTED"]);
});
