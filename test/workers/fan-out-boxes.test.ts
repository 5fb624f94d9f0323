import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { tryLockBoxNotifications } from "../../sql/queries/followers.js";
import { closeSignals } from "../../sql/signals.js";
import { Snooze } from "../../lib/process/errors.js";
import { fanOutEvent } from "../../workers/fan-out.js";
import { deliverPush } from "../../workers/push.js";
import { startApi, type Client } from "../support/api.js";
import { bakery, listBox, newBox, user, type Bakery, type Character } from "../support/cast.js";
import { newKinds, newNotifications, runEvents, stagedEvents } from "../support/events.js";
import { countBlocked } from "../support/locks.js";
import { makeReachable } from "../support/notifications.js";
import { order } from "../support/orders.js";
import { idAt } from "../support/past.js";
import { task } from "../support/task.js";
import { until } from "../support/until.js";

let client: Client;
let stop: () => Promise<void>;
let shop: Bakery;
let anna: Character;

beforeAll(async () => {
  ({ client, stop } = await startApi());
  shop = await bakery(client);
  anna = await user(client);
});

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

/** A follower of a box or a partner; `marketing` is that preference, or null to leave it unset. */
async function follower(targetType: "BOX" | "PARTNER", targetId: string, marketing: boolean | null = true) {
  const who = await user(client);
  await who.client.post("/api/v1/users/me/favorites", { targetType, targetId });
  if (marketing !== null) await who.client.put("/api/v1/users/me/notification-preferences", { marketing });
  return who;
}
const setQuantity = (boxId: string, quantityAvailable: number) =>
  shop.owner.client.patch(`/api/v1/boxes/${boxId}/quantity`, { quantityAvailable });
const change = (boxId: string, changes: Record<string, unknown>) =>
  shop.owner.client.put(`/api/v1/boxes/${boxId}`, changes);
async function orderAndCancel(boxId: string, price: number): Promise<void> {
  const items = [{ menuItemId: boxId, qty: 1 }];
  const placed = await anna.client.post("/api/v1/orders", { items, totalAmount: price, partnerId: shop.id });
  await shop.owner.client.put(`/api/v1/orders/${placed.string("orderId")}/status`, { status: "CANCELLED" });
}
/** Makes all of a user's notifications this many hours older. */
const makeOlder = async (who: Character, hours: number) => {
  const rows = await sql<{ id: string }[]>`select id from notifications where user_id = ${who.id}::uuid`;
  for (const { id } of rows) {
    const at = parseInt(id.replaceAll("-", "").slice(0, 12), 16) - hours * 3_600_000;
    await sql`update notifications set id = ${idAt(at)}::uuid, created_at = ${new Date(at)} where id = ${id}::uuid`;
  }
};

test("followers of a partner are notified of a box when it is listed, and when it is repeated", async () => {
  const [likes, quiet] = [await follower("PARTNER", shop.id), await follower("PARTNER", shop.id, false)];
  const silent = await follower("PARTNER", shop.id, null);
  const elsewhere = await follower("PARTNER", (await bakery(client)).id);
  const boxId = await listBox(shop);
  await runEvents(boxId);
  expect(await newNotifications(likes)).toMatchObject([{ kind: "FAVORITE_LISTED", boxId, partnerId: shop.id }]);
  expect(await Promise.all([quiet, silent, elsewhere].map(newKinds))).toEqual([[], [], []]);
  const again = await shop.owner.client.post(`/api/v1/boxes/${boxId}/repeat`);
  const [{ requestId } = {}] = await stagedEvents(again.string("id"));
  expect(requestId).toBe(again.headers.get("x-request-id"));
  await runEvents(again.string("id"));
  expect(await newKinds(likes)).toEqual(["FAVORITE_LISTED"]);
});

test("followers of a partner are notified of three boxes a day at most", async () => {
  const [likes, late] = [await follower("PARTNER", shop.id), await follower("PARTNER", shop.id)];
  for (let n = 0; n < 5; n += 1) await runEvents(await listBox(shop));
  expect(await newKinds(likes)).toEqual(Array(3).fill("FAVORITE_LISTED"));
  const elsewhere = await bakery(client);
  await likes.client.post("/api/v1/users/me/favorites", { targetType: "PARTNER", targetId: elsewhere.id });
  await runEvents(await listBox(elsewhere));
  expect(await newKinds(likes)).toEqual(["FAVORITE_LISTED"]);

  await makeOlder(likes, 23.5);
  await runEvents(await listBox(shop));
  expect(await newKinds(likes)).toEqual([]);
  await makeOlder(likes, 1);
  await runEvents(await listBox(shop));
  expect(await newKinds(likes)).toEqual(["FAVORITE_LISTED"]);
  expect(await newKinds(late)).toEqual(Array(3).fill("FAVORITE_LISTED"));
});

test("followers of a box are notified that it is back, whatever brought it back", async () => {
  const boxId = await listBox(shop, { quantity: 2, price: 100 });
  await runEvents(boxId);
  const likes = await follower("BOX", boxId);
  const [byPartner] = [await follower("PARTNER", shop.id)];
  const newEventKinds = async () => {
    await runEvents(boxId);
    const kinds = await newKinds(likes);
    await makeOlder(likes, 7);
    return kinds;
  };
  await setQuantity(boxId, 5);
  expect(await newEventKinds()).toEqual([]);
  await setQuantity(boxId, 0);
  expect(await newEventKinds()).toEqual([]);
  await setQuantity(boxId, 3);
  await setQuantity(boxId, 4);
  expect(await newEventKinds()).toEqual(["BOX_BACK"]);

  await setQuantity(boxId, 0);
  await change(boxId, { quantity: 1, price: 50 });
  expect(await newEventKinds()).toEqual(["BOX_BACK"]);

  await orderAndCancel(boxId, 50);
  expect(await newEventKinds()).toEqual(["BOX_BACK"]);

  await setQuantity(boxId, 2);
  await orderAndCancel(boxId, 50);
  expect(await newEventKinds()).toEqual([]);
  expect(await newKinds(byPartner)).toEqual([]);
});

test("each follower is notified at most once in six hours that a box is back", async () => {
  const [boxId, another] = [await listBox(shop), await listBox(shop)];
  await Promise.all([runEvents(boxId), runEvents(another)]);
  const likes = await follower("BOX", boxId);
  await likes.client.post("/api/v1/users/me/favorites", { targetType: "BOX", targetId: another });
  const bringBack = async (id: string) => {
    await setQuantity(id, 0);
    await setQuantity(id, 3);
    await runEvents(id);
  };
  for (let n = 0; n < 4; n += 1) await bringBack(boxId);
  expect(await newKinds(likes)).toEqual(["BOX_BACK"]);
  const newcomer = await follower("BOX", boxId);
  await bringBack(boxId);
  expect([await newKinds(likes), await newKinds(newcomer)]).toEqual([[], ["BOX_BACK"]]);
  await bringBack(another);
  expect(await newNotifications(likes)).toMatchObject([{ kind: "BOX_BACK", boxId: another }]);

  await makeOlder(likes, 5.5);
  await bringBack(boxId);
  expect(await newKinds(likes)).toEqual([]);
  await makeOlder(likes, 1);
  await bringBack(boxId);
  expect(await newKinds(likes)).toEqual(["BOX_BACK"]);
});

/** Runs a user's pushes; returns the reason or status of each notification, oldest first. */
async function deliver({ id }: Character) {
  const queued = await sql<{ id: string }[]>`
    select id from notifications where user_id = ${id}::uuid and status = 'QUEUED' order by id`;
  for (const { id: notificationId } of queued) await deliverPush(task({ notificationId }));
  const ended = await sql<{ reason: string | null }[]>`
    select coalesce(reason, status::text) as reason from notifications where user_id = ${id}::uuid order by id`;
  return ended.map(({ reason }) => reason);
}

test("notifications that expired in quiet hours do not count towards the three a day", async () => {
  const likes = await follower("PARTNER", shop.id, null);
  await makeReachable([likes.id]);
  const setQuietHours = (from: number, to: number) => sql`
    update notification_preferences p
    set quiet_hours_start = (now() at time zone 'Europe/Moscow' + interval '1 hour' * ${from}::integer)::time,
        quiet_hours_end = (now() at time zone 'Europe/Moscow' + interval '1 hour' * ${to}::integer)::time
    where user_id = ${likes.id}::uuid`;
  await setQuietHours(-1, 12);
  for (let n = 0; n < 3; n += 1) await runEvents(await listBox(shop));
  expect(await deliver(likes)).toEqual(Array(3).fill("expires in quiet hours"));
  await newNotifications(likes);
  await setQuietHours(12, 13);
  for (let n = 0; n < 4; n += 1) await runEvents(await listBox(shop));
  expect(await newKinds(likes)).toEqual(Array(3).fill("FAVORITE_LISTED"));
});

test("a notification dropped because the box sold out does not count against the next one", async () => {
  const boxId = await listBox(shop, { quantity: 1 });
  await runEvents(boxId);
  const likes = await follower("BOX", boxId, null);
  await makeReachable([likes.id]);
  const bringBack = async () => {
    await setQuantity(boxId, 0);
    await setQuantity(boxId, 1);
    await runEvents(boxId);
  };
  await bringBack();
  await setQuantity(boxId, 0);
  expect(await deliver(likes)).toEqual(["the box is not on offer"]);
  await bringBack();
  expect(await deliver(likes)).toEqual(["the box is not on offer", "SENT"]);
  await bringBack();
  expect(await deliver(likes)).toHaveLength(2);
});

test.each(["no device", "push is off"])(
  "a follower without pushes does not get notifications more often: %s",
  async (why) => {
    const boxId = await listBox(shop);
    const likes = await follower("BOX", boxId, null);
    await makeReachable([likes.id]);
    if (why === "no device") await sql`delete from devices where user_id = ${likes.id}::uuid`;
    else await sql`update notification_preferences set push = false where user_id = ${likes.id}::uuid`;
    for (let n = 0; n < 2; n += 1) {
      await setQuantity(boxId, 0);
      await setQuantity(boxId, 3);
      await runEvents(boxId);
      expect(await deliver(likes)).toEqual([why]);
    }
  },
);

test("an event that runs twice concurrently creates one notification per recipient", async () => {
  const boxId = await listBox(shop);
  await runEvents(boxId);
  const likes = await Promise.all(Array.from({ length: 5 }, () => follower("BOX", boxId)));
  const back = task({ event: "BOX_BACK" as const, subjectId: boxId, after: null });
  await fanOutEvent({ ...back, done: () => expect(fanOutEvent(back)).rejects.toThrow(Snooze) });
  await fanOutEvent(back);
  expect(await Promise.all(likes.map(newKinds))).toEqual(likes.map(() => ["BOX_BACK"]));
});

test("events about a partner's boxes wait for each other without a transaction, and hold up no one's order", async () => {
  const boxId = await listBox(shop, { price: 100 });
  const orderId = (await order(anna, shop, [{ boxId, qty: 1 }], 100)).string("orderId");
  await transaction(async (tx) => {
    expect(await tryLockBoxNotifications(tx, boxId)).toBe(true);
    const listed = task({ event: "BOX_LISTED" as const, subjectId: boxId, after: null });
    const waiting = Array.from({ length: 12 }, () => fanOutEvent(listed));
    expect(await Promise.allSettled(waiting)).toEqual(
      waiting.map(() => ({ status: "rejected", reason: expect.any(Snooze) })),
    );
    await fanOutEvent(task({ event: "ORDER_PLACED" as const, subjectId: orderId, after: null }));
  });
  expect(await newKinds(anna)).toContain("ORDER_ACCEPTED");
});

test("many concurrent changes of the quantity are one event", async () => {
  const boxId = await listBox(shop, { quantity: 1 });
  const likes = await follower("BOX", boxId);
  await setQuantity(boxId, 0);
  await Promise.all(Array.from({ length: 20 }, (_, index) => setQuantity(boxId, index + 1)));
  await runEvents(boxId);
  expect(await newKinds(likes)).toEqual(["BOX_BACK"]);
});

test("only the change that brings a box back is an event", async () => {
  const boxId = await listBox(shop, { quantity: 1 });
  await runEvents(boxId);
  await sql`update boxes set quantity_available = 0, status = 'SOLD_OUT' where id = ${boxId}::uuid`;
  const waiting = await transaction(async (tx) => {
    await tx`update boxes set quantity_available = 5, status = 'ACTIVE' where id = ${boxId}::uuid`;
    const set = setQuantity(boxId, 7);
    await until(async () => (await countBlocked()) > 0);
    return { set };
  });
  expect((await waiting.set).status).toBe(200);
  expect(await stagedEvents(boxId)).toEqual([]);
});

test("followers of a box on offer are notified of a lower price", async () => {
  const boxId = await listBox(shop, { price: 100 });
  await runEvents(boxId);
  const likes = await follower("BOX", boxId);
  const newEventKinds = async () => {
    await runEvents(boxId);
    return newKinds(likes);
  };
  await change(boxId, { price: 120 });
  await change(boxId, { title: "Другой набор" });
  expect(await newEventKinds()).toEqual([]);
  await change(boxId, { price: 90 });
  expect(await newEventKinds()).toEqual(["BOX_CHEAPER"]);
  await setQuantity(boxId, 0);
  await change(boxId, { price: 80 });
  expect(await newEventKinds()).toEqual([]);
  await setQuantity(boxId, 1);
  await shop.owner.client.post(`/api/v1/boxes/${boxId}/hide`);
  await change(boxId, { price: 70 });
  expect(await newEventKinds()).toEqual([]);
});

test("a box counts as cheaper only below its lowest price so far, at most once in six hours", async () => {
  const boxId = await listBox(shop, { price: 100 });
  await runEvents(boxId);
  const likes = await follower("BOX", boxId);
  const cost = async (...prices: number[]) => {
    for (const price of prices) await change(boxId, { price });
    await runEvents(boxId);
    return newKinds(likes);
  };
  expect(await cost(200, 100)).toEqual([]);
  expect(await cost(200, 150, 101)).toEqual([]);
  expect(await cost(90)).toEqual(["BOX_CHEAPER"]);
  expect(await cost(200, 80)).toEqual([]);
  await makeOlder(likes, 7);
  expect(await cost(200, 80)).toEqual([]);
  expect(await cost(79)).toEqual(["BOX_CHEAPER"]);

  // a price that is raised again before the event runs does not count
  await makeOlder(likes, 7);
  expect(await cost(70, 200)).toEqual([]);
});

test("a price that no follower could see does not count as the lowest", async () => {
  const boxId = await listBox(shop, { price: 500 });
  await runEvents(boxId);
  const likes = await follower("BOX", boxId);
  const newEventKinds = async () => {
    await runEvents(boxId);
    return newKinds(likes);
  };
  const set = (how: "hide" | "unhide") => shop.owner.client.post(`/api/v1/boxes/${boxId}/${how}`);
  await set("hide");
  await change(boxId, { price: 5 });
  expect(await newEventKinds()).toEqual([]);
  await change(boxId, { price: 500 });
  await set("unhide");
  await setQuantity(boxId, 0);
  await change(boxId, { price: 6 });
  await change(boxId, { price: 500 });
  await setQuantity(boxId, 1);
  expect(await newEventKinds()).toEqual(["BOX_BACK"]);
  await change(boxId, { price: 300 });
  expect(await newEventKinds()).toEqual(["BOX_CHEAPER"]);

  await makeOlder(likes, 7);
  await change(boxId, { price: 200 });
  await change(boxId, { price: 250 });
  expect(await newEventKinds()).toEqual(["BOX_CHEAPER"]);
});

test("a lower price reaches the followers of later batches unless it was raised meanwhile", async () => {
  const boxId = await listBox(shop, { price: 100 });
  const continueAfter = async (after: Character) => {
    const [favorite] = await sql<{ id: string }[]>`
      select id from favorites where user_id = ${after.id}::uuid and box_id = ${boxId}::uuid`;
    await fanOutEvent(task({ event: "BOX_CHEAPER" as const, subjectId: boxId, after: favorite!.id }));
  };
  const first = await follower("BOX", boxId);
  await change(boxId, { price: 90 });
  await runEvents(boxId);
  expect(await newKinds(first)).toEqual(["BOX_CHEAPER"]);
  const second = await follower("BOX", boxId);
  await continueAfter(first);
  expect([await newKinds(first), await newKinds(second)]).toEqual([[], ["BOX_CHEAPER"]]);
  await change(boxId, { price: 91 });
  const third = await follower("BOX", boxId);
  await continueAfter(second);
  expect(await newKinds(third)).toEqual([]);
});

test("a later change with the same lower price does not suppress the notifications", async () => {
  const boxId = await listBox(shop, { price: 100 });
  await runEvents(boxId);
  const likes = await follower("BOX", boxId);
  await change(boxId, { price: 90 });
  await change(boxId, { title: "Другой набор", price: 90 });
  await runEvents(boxId);
  expect(await newKinds(likes)).toEqual(["BOX_CHEAPER"]);
});

test.each(["sold out", "hidden"])(
  "a box that is %s when the event runs has no recipients, and the reason is logged",
  async (state) => {
    const boxId = await listBox(shop);
    const likes = await follower("PARTNER", shop.id);
    if (state === "sold out") await setQuantity(boxId, 0);
    else await shop.owner.client.post(`/api/v1/boxes/${boxId}/hide`);
    const listed = task({ event: "BOX_LISTED" as const, subjectId: boxId, after: null });
    await fanOutEvent(listed);
    expect(await newKinds(likes)).toEqual([]);
    expect(listed.lines).toMatchObject([{ event: "BOX_LISTED", subjectId: boxId, reason: "the box is not on offer" }]);
  },
);

test("a refused box is not an event", async () => {
  const before = await sql`select from staged_jobs`;
  const items = [{ menuItemId: "01890000-0000-7000-8000-000000000000", qty: 1 }];
  expect((await shop.owner.client.post("/api/v1/boxes", newBox({ items }))).status).toBe(400);
  expect((await sql`select from staged_jobs`).count).toBe(before.count);
});
