import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { fanOut } from "../../queues/index.js";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { insertFavoriteNotifications } from "../../sql/queries/fan-out.js";
import { closeSignals } from "../../sql/signals.js";
import { announce } from "../../workers/fan-out.js";
import { deliverPush } from "../../workers/push.js";
import { startApi, type Client } from "../support/api.js";
import {
  addMenuItem,
  admin,
  bakery,
  join,
  listBox,
  newBox,
  user,
  type Bakery,
  type Character,
} from "../support/cast.js";
import { countWaiting } from "../support/hold.js";
import { makeReachable } from "../support/notifications.js";
import { idAt } from "../support/past.js";
import { task } from "../support/task.js";
import { until } from "../support/until.js";

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

interface Staged {
  id: number;
  payload: unknown;
  requestId: string | null;
}

/** What is staged about a subject, due and not done. */
const staged = (subjectId: string) =>
  sql<Staged[]>`
    select id, payload, request_id as "requestId"
    from staged_jobs
    where queue = 'fan-out' and payload ->> 'subjectId' = ${subjectId} and done_at is null and run_at <= now()
    order by id`;

/** Does what is staged about a subject. */
async function tell(subjectId: string): Promise<void> {
  for (const { id, payload } of await staged(subjectId)) {
    await announce({
      ...task(fanOut.payload.parse(payload)),
      done: async (tx) => {
        await tx`update staged_jobs set done_at = now() where id = ${id}::bigint`;
      },
    });
  }
}

/** What somebody has been told that is new since the last look, oldest first. */
async function news({ client: as }: Character): Promise<Record<string, unknown>[]> {
  const { list } = await as.get("/api/v1/notifications?unread=true&limit=200");
  const [latest] = list;
  if (latest) await as.post("/api/v1/notifications/read", { upTo: latest["id"] });
  return list.toReversed();
}
const kinds = async (who: Character) => (await news(who)).map(({ kind }) => kind);

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
  await tell(orderId);
  return orderId;
}

const roll = async (price = 60): Promise<Wish> => ({ id: await addMenuItem(shop, { price, name: "Булочка" }), price });
const move = (orderId: string, status: string) => shop.owner.client.put(`/api/v1/orders/${orderId}/status`, { status });

describe("of an order", () => {
  test("both sides are told at first, then its customer, whenever it moves", async () => {
    const orderId = await order(await roll());
    expect(await Promise.all([kinds(anna), kinds(shop.owner), kinds(clerk)])).toEqual([
      ["ORDER_ACCEPTED"],
      ["NEW_ORDER"],
      ["NEW_ORDER"],
    ]);
    const moved = await move(orderId, "READY");
    expect((await staged(orderId)).map(({ requestId }) => requestId)).toEqual([moved.headers.get("x-request-id")]);
    await tell(orderId);
    expect(await news(anna)).toMatchObject([{ kind: "ORDER_READY", orderId, partnerId: shop.id }]);
    await move(orderId, "READY");
    expect(await staged(orderId)).toEqual([]);
    await move(orderId, "COMPLETED");
    await tell(orderId);
    expect(await news(anna)).toMatchObject([{ kind: "POINTS_EARNED", title: "+6 баллов", orderId }]);
    expect([await kinds(shop.owner), await kinds(clerk)]).toEqual([[], []]);
  });

  test("a move that is refused is told to nobody", async () => {
    const orderId = await order(await roll());
    await move(orderId, "COMPLETED");
    await tell(orderId);
    expect((await move(orderId, "CANCELLED")).status).toBe(409);
    expect(await staged(orderId)).toEqual([]);
    await news(anna);
  });

  test("whoever did not cancel it is told that the other did", async () => {
    const [one, other] = [await order(await roll()), await order(await roll())];
    await Promise.all([news(anna), news(shop.owner), news(clerk)]);
    await anna.client.post(`/api/v1/orders/${one}/cancel`);
    await tell(one);
    expect([await kinds(anna), await kinds(shop.owner), await kinds(clerk)]).toEqual([
      [],
      ["ORDER_CANCELLED_BY_CUSTOMER"],
      ["ORDER_CANCELLED_BY_CUSTOMER"],
    ]);
    await move(other, "CANCELLED");
    await tell(other);
    expect([await kinds(anna), await kinds(shop.owner)]).toEqual([["ORDER_CANCELLED"], []]);
  });

  test("its customer is reminded half an hour before they can pick it up, unless they ordered later", async () => {
    const later = await order({ id: await listBox(shop, { price: 100 }), price: 100 });
    const [reminder] = await sql<{ early: number }[]>`
      select round(extract(epoch from o.pickup_window_start - j.run_at) / 60)::integer as early
      from staged_jobs j
      join orders o on o.id::text = j.payload ->> 'subjectId'
      where j.queue = 'fan-out' and j.payload ->> 'announcement' = 'PICKUP_SOON' and o.id = ${later}::uuid`;
    expect(reminder).toEqual({ early: 30 });
    await news(anna);
    await sql`update staged_jobs set run_at = now() where payload ->> 'subjectId' = ${later}`;
    await tell(later);
    expect(await news(anna)).toMatchObject([{ kind: "PICKUP_SOON", orderId: later }]);

    const pickupWindowStart = new Date(Date.now() + 29 * 60_000).toISOString();
    const soon = await order({ id: await listBox(shop, { price: 100, pickupWindowStart }), price: 100 });
    const [now] = [await order(await roll())];
    const left = await sql`
      select from staged_jobs
      where payload ->> 'announcement' = 'PICKUP_SOON' and payload ->> 'subjectId' in (${soon}, ${now})`;
    expect(left).toHaveLength(0);
    await news(anna);
  });

  test("its customer is told when nobody came for it", async () => {
    const orderId = await order(await roll());
    await sql`update orders set no_show_at = now() - interval '1 minute' where id = ${orderId}::uuid`;
    const { runUpkeep } = await import("../../workers/upkeep.js");
    await runUpkeep(task({ task: "no-shows" }));
    await news(anna);
    await tell(orderId);
    expect(await kinds(anna)).toEqual(["ORDER_NO_SHOW"]);
  });

  test("levels are told when they are reached, and points to whoever brought the customer", async () => {
    const [friend, newcomer] = [await user(client), await user(client)];
    const { body: score } = await friend.client.get("/api/v1/loyalty/score");
    await newcomer.client.post("/api/v1/loyalty/referral", { referralCode: score["referralCode"] });
    for (const [price, told] of [
      [4_000, ["ORDER_ACCEPTED", "POINTS_EARNED", "LEVEL_REACHED"]],
      [60, ["ORDER_ACCEPTED", "POINTS_EARNED"]],
      [1, ["ORDER_ACCEPTED"]],
    ] as const) {
      const orderId = await order(await roll(price), newcomer);
      await move(orderId, "COMPLETED");
      await tell(orderId);
      expect(await kinds(newcomer)).toEqual(told);
    }
    // of somebody else's order they learn nothing but that there was one
    expect(await news(friend)).toMatchObject([
      { kind: "FRIEND_CAME", title: "+100 баллов", orderId: null, partnerId: null },
    ]);
  });
});

test("of a review its partner is told, and of what is decided on it its author", async () => {
  const orderId = await order(await roll());
  await Promise.all([news(anna), news(shop.owner), news(clerk)]);
  const review = await anna.client.post("/api/v1/reviews", { orderId, rating: 4 });
  const id = review.string("id");
  await tell(id);
  expect(await news(shop.owner)).toMatchObject([{ kind: "REVIEW_RECEIVED", body: "«Булочная на углу»: 4 звезды." }]);
  expect([await kinds(clerk), await kinds(anna)]).toEqual([["REVIEW_RECEIVED"], []]);

  await anna.client.post("/api/v1/reviews", { orderId, rating: 4 });
  expect(await staged(id)).toEqual([]);
  const moderator = await admin(client);
  const decide = (decision: string) => moderator.client.put(`/api/v1/reviews/admin/${id}/moderate`, { decision });
  for (const [decision, told] of [
    ["APPROVE", ["REVIEW_APPROVED"]],
    ["APPROVE", []],
    ["REJECT", ["REVIEW_REJECTED"]],
  ] as const) {
    expect((await decide(decision)).status).toBe(200);
    await tell(id);
    expect(await kinds(anna)).toEqual(told);
  }
});

test("of what an admin decides on a partner its people are told", async () => {
  const newcomer = await bakery(client, "PENDING_REVIEW");
  const moderator = await admin(client);
  for (const [path, told] of [
    ["approve", ["PARTNER_APPROVED"]],
    ["approve", []],
    ["suspend", ["PARTNER_SUSPENDED"]],
    ["approve", ["PARTNER_APPROVED"]],
  ] as const) {
    await moderator.client.put(`/api/v1/admin/partners/${newcomer.id}/${path}`);
    await tell(newcomer.id);
    expect(await kinds(newcomer.owner)).toEqual(told);
  }
  const rejected = await bakery(client, "PENDING_REVIEW");
  await moderator.client.put(`/api/v1/admin/partners/${rejected.id}/reject`);
  await tell(rejected.id);
  expect(await kinds(rejected.owner)).toEqual(["PARTNER_REJECTED"]);
});

describe("of a box", () => {
  /** Somebody who likes something, and has said whether they want to hear of it, or nothing. */
  async function fan(targetType: "BOX" | "PARTNER", targetId: string, marketing: boolean | null = true) {
    const who = await user(client);
    await who.client.post("/api/v1/users/me/favorites", { targetType, targetId });
    if (marketing !== null) await who.client.put("/api/v1/users/me/notification-preferences", { marketing });
    return who;
  }
  const setQuantity = (boxId: string, quantityAvailable: number) =>
    shop.owner.client.patch(`/api/v1/boxes/${boxId}/quantity`, { quantityAvailable });
  const change = (boxId: string, changes: Record<string, unknown>) =>
    shop.owner.client.put(`/api/v1/boxes/${boxId}`, changes);
  /** All that somebody was told by now was that many hours earlier. */
  const letPass = async (who: Character, hours: number) => {
    const told = await sql<{ id: string }[]>`select id from notifications where user_id = ${who.id}::uuid`;
    for (const { id } of told) {
      const at = parseInt(id.replaceAll("-", "").slice(0, 12), 16) - hours * 3_600_000;
      await sql`update notifications set id = ${idAt(at)}::uuid, created_at = ${new Date(at)} where id = ${id}::uuid`;
    }
  };

  test("those are told who like its partner, when it is listed, and when it is listed again", async () => {
    const [likes, quiet] = [await fan("PARTNER", shop.id), await fan("PARTNER", shop.id, false)];
    const silent = await fan("PARTNER", shop.id, null);
    const elsewhere = await fan("PARTNER", (await bakery(client)).id);
    const boxId = await listBox(shop);
    await tell(boxId);
    expect(await news(likes)).toMatchObject([{ kind: "FAVORITE_LISTED", boxId, partnerId: shop.id }]);
    expect(await Promise.all([quiet, silent, elsewhere].map(kinds))).toEqual([[], [], []]);
    const again = await shop.owner.client.post(`/api/v1/boxes/${boxId}/repeat`);
    const [{ requestId } = {}] = await staged(again.string("id"));
    expect(requestId).toBe(again.headers.get("x-request-id"));
    await tell(again.string("id"));
    expect(await kinds(likes)).toEqual(["FAVORITE_LISTED"]);
  });

  test("those who like its partner are told of three a day, however many it lists", async () => {
    const [likes, late] = [await fan("PARTNER", shop.id), await fan("PARTNER", shop.id)];
    for (let n = 0; n < 5; n += 1) await tell(await listBox(shop));
    expect(await kinds(likes)).toEqual(Array(3).fill("FAVORITE_LISTED"));
    const elsewhere = await bakery(client);
    await likes.client.post("/api/v1/users/me/favorites", { targetType: "PARTNER", targetId: elsewhere.id });
    await tell(await listBox(elsewhere));
    expect(await kinds(likes)).toEqual(["FAVORITE_LISTED"]);

    await letPass(likes, 23.5);
    await tell(await listBox(shop));
    expect(await kinds(likes)).toEqual([]);
    await letPass(likes, 1);
    await tell(await listBox(shop));
    expect(await kinds(likes)).toEqual(["FAVORITE_LISTED"]);
    expect(await kinds(late)).toEqual(Array(3).fill("FAVORITE_LISTED"));
  });

  test("those are told who like it, when there is some again, however it came about", async () => {
    const boxId = await listBox(shop, { quantity: 2, price: 100 });
    await tell(boxId);
    const likes = await fan("BOX", boxId);
    const [byPartner] = [await fan("PARTNER", shop.id)];
    const told = async () => {
      await tell(boxId);
      const heard = await kinds(likes);
      await letPass(likes, 7);
      return heard;
    };
    await setQuantity(boxId, 5);
    expect(await told()).toEqual([]);
    await setQuantity(boxId, 0);
    expect(await told()).toEqual([]);
    await setQuantity(boxId, 3);
    await setQuantity(boxId, 4);
    expect(await told()).toEqual(["BOX_BACK"]);

    await setQuantity(boxId, 0);
    await change(boxId, { quantity: 1, price: 50 });
    expect(await told()).toEqual(["BOX_BACK"]);

    const first = await order({ id: boxId, price: 50 });
    await move(first, "CANCELLED");
    expect(await told()).toEqual(["BOX_BACK"]);

    await setQuantity(boxId, 2);
    const second = await order({ id: boxId, price: 50 });
    await move(second, "CANCELLED");
    expect(await told()).toEqual([]);
    expect(await kinds(byPartner)).toEqual([]);
  });

  test("that there is some again is told once in six hours, each who likes it on their own", async () => {
    const [boxId, another] = [await listBox(shop), await listBox(shop)];
    await Promise.all([tell(boxId), tell(another)]);
    const likes = await fan("BOX", boxId);
    await likes.client.post("/api/v1/users/me/favorites", { targetType: "BOX", targetId: another });
    const bringBack = async (id: string) => {
      await setQuantity(id, 0);
      await setQuantity(id, 3);
      await tell(id);
    };
    for (let n = 0; n < 4; n += 1) await bringBack(boxId);
    expect(await kinds(likes)).toEqual(["BOX_BACK"]);
    const newcomer = await fan("BOX", boxId);
    await bringBack(boxId);
    expect([await kinds(likes), await kinds(newcomer)]).toEqual([[], ["BOX_BACK"]]);
    await bringBack(another);
    expect(await news(likes)).toMatchObject([{ kind: "BOX_BACK", boxId: another }]);

    await letPass(likes, 5.5);
    await bringBack(boxId);
    expect(await kinds(likes)).toEqual([]);
    await letPass(likes, 1);
    await bringBack(boxId);
    expect(await kinds(likes)).toEqual(["BOX_BACK"]);
  });

  /** Does the jobs that bring somebody their news; answers what became of it, oldest first. */
  async function deliver({ id }: Character) {
    const queued = await sql<{ id: string }[]>`
      select id from notifications where user_id = ${id}::uuid and status = 'QUEUED' order by id`;
    for (const { id: notificationId } of queued) await deliverPush(task({ notificationId }));
    const ended = await sql<{ reason: string | null }[]>`
      select coalesce(reason, status::text) as reason from notifications where user_id = ${id}::uuid order by id`;
    return ended.map(({ reason }) => reason);
  }

  test("boxes that nobody was told of, since their news was over in the quiet hours, do not keep the next from being told", async () => {
    const likes = await fan("PARTNER", shop.id, null);
    await makeReachable([likes.id]);
    const setQuietHours = (from: number, to: number) => sql`
      update notification_preferences p
      set quiet_hours_start = (now() at time zone 'Europe/Moscow' + interval '1 hour' * ${from}::integer)::time,
          quiet_hours_end = (now() at time zone 'Europe/Moscow' + interval '1 hour' * ${to}::integer)::time
      where user_id = ${likes.id}::uuid`;
    await setQuietHours(-1, 12);
    for (let n = 0; n < 3; n += 1) await tell(await listBox(shop));
    expect(await deliver(likes)).toEqual(Array(3).fill("expires in quiet hours"));
    await news(likes);
    await setQuietHours(12, 13);
    for (let n = 0; n < 4; n += 1) await tell(await listBox(shop));
    expect(await kinds(likes)).toEqual(Array(3).fill("FAVORITE_LISTED"));
  });

  test("one that was gone again before they were told of it is told of when it is back once more", async () => {
    const boxId = await listBox(shop, { quantity: 1 });
    await tell(boxId);
    const likes = await fan("BOX", boxId, null);
    await makeReachable([likes.id]);
    const bringBack = async () => {
      await setQuantity(boxId, 0);
      await setQuantity(boxId, 1);
      await tell(boxId);
    };
    await bringBack();
    await setQuantity(boxId, 0);
    expect(await deliver(likes)).toEqual(["the box is not on offer"]);
    await bringBack();
    expect(await deliver(likes)).toEqual(["the box is not on offer", "SENT"]);
    await bringBack();
    expect(await deliver(likes)).toHaveLength(2);
  });

  test.each(["no device", "push is off"])("who only reads what there is hears no more often: %s", async (why) => {
    const boxId = await listBox(shop);
    const likes = await fan("BOX", boxId, null);
    await makeReachable([likes.id]);
    if (why === "no device") await sql`delete from devices where user_id = ${likes.id}::uuid`;
    else await sql`update notification_preferences set push = false where user_id = ${likes.id}::uuid`;
    for (let n = 0; n < 2; n += 1) {
      await setQuantity(boxId, 0);
      await setQuantity(boxId, 3);
      await tell(boxId);
      expect(await deliver(likes)).toEqual([why]);
    }
  });

  test("what comes about twice at the same time is told once", async () => {
    const boxId = await listBox(shop);
    await tell(boxId);
    const likes = await Promise.all(Array.from({ length: 5 }, () => fan("BOX", boxId)));
    const back = task({ announcement: "BOX_BACK" as const, subjectId: boxId, after: null });
    let second: Promise<unknown> = Promise.resolve();
    await announce({
      ...back,
      done: async () => {
        let over = false;
        second = announce(back).finally(() => (over = true));
        await until(async () => over || (await countWaiting()) > 0);
      },
    });
    await second;
    expect(await Promise.all(likes.map(kinds))).toEqual(likes.map(() => ["BOX_BACK"]));
  });

  test("many setting its quantity at once have it told once", async () => {
    const boxId = await listBox(shop, { quantity: 1 });
    const likes = await fan("BOX", boxId);
    await setQuantity(boxId, 0);
    await Promise.all(Array.from({ length: 20 }, (_, index) => setQuantity(boxId, index + 1)));
    await tell(boxId);
    expect(await kinds(likes)).toEqual(["BOX_BACK"]);
  });

  test("one that was sold out a moment ago is there again only for whoever has brought it back", async () => {
    const boxId = await listBox(shop, { quantity: 1 });
    await tell(boxId);
    await sql`update boxes set quantity_available = 0, status = 'SOLD_OUT' where id = ${boxId}::uuid`;
    const waiting = await transaction(async (tx) => {
      await tx`update boxes set quantity_available = 5, status = 'ACTIVE' where id = ${boxId}::uuid`;
      const set = setQuantity(boxId, 7);
      await until(async () => (await countWaiting()) > 0);
      return { set };
    });
    expect((await waiting.set).status).toBe(200);
    expect(await staged(boxId)).toEqual([]);
  });

  test("those are told who like it, when it gets cheaper and can be had", async () => {
    const boxId = await listBox(shop, { price: 100 });
    await tell(boxId);
    const likes = await fan("BOX", boxId);
    const told = async () => {
      await tell(boxId);
      return kinds(likes);
    };
    await change(boxId, { price: 120 });
    await change(boxId, { title: "Другой набор" });
    expect(await told()).toEqual([]);
    await change(boxId, { price: 90 });
    expect(await told()).toEqual(["BOX_CHEAPER"]);
    await setQuantity(boxId, 0);
    await change(boxId, { price: 80 });
    expect(await told()).toEqual([]);
    await setQuantity(boxId, 1);
    await shop.owner.client.post(`/api/v1/boxes/${boxId}/hide`);
    await change(boxId, { price: 70 });
    expect(await told()).toEqual([]);
  });

  test("one that was raised before is told of as cheaper when it never was so cheap, and once in six hours", async () => {
    const boxId = await listBox(shop, { price: 100 });
    await tell(boxId);
    const likes = await fan("BOX", boxId);
    const cost = async (...prices: number[]) => {
      for (const price of prices) await change(boxId, { price });
      await tell(boxId);
      return kinds(likes);
    };
    expect(await cost(200, 100)).toEqual([]);
    expect(await cost(200, 150, 101)).toEqual([]);
    expect(await cost(90)).toEqual(["BOX_CHEAPER"]);
    expect(await cost(200, 80)).toEqual([]);
    await letPass(likes, 7);
    expect(await cost(200, 80)).toEqual([]);
    expect(await cost(79)).toEqual(["BOX_CHEAPER"]);

    // nor is one that costs as much again when its turn comes
    await letPass(likes, 7);
    expect(await cost(70, 200)).toEqual([]);
  });

  test("what it cost while nobody saw it, or was told, does not keep a lower price from being told", async () => {
    const boxId = await listBox(shop, { price: 500 });
    await tell(boxId);
    const likes = await fan("BOX", boxId);
    const told = async () => {
      await tell(boxId);
      return kinds(likes);
    };
    const set = (how: "hide" | "unhide") => shop.owner.client.post(`/api/v1/boxes/${boxId}/${how}`);
    await set("hide");
    await change(boxId, { price: 5 });
    expect(await told()).toEqual([]);
    await change(boxId, { price: 500 });
    await set("unhide");
    await setQuantity(boxId, 0);
    await change(boxId, { price: 6 });
    await change(boxId, { price: 500 });
    await setQuantity(boxId, 1);
    expect(await told()).toEqual(["BOX_BACK"]);
    await change(boxId, { price: 300 });
    expect(await told()).toEqual(["BOX_CHEAPER"]);

    await letPass(likes, 7);
    await change(boxId, { price: 200 });
    await change(boxId, { price: 250 });
    expect(await told()).toEqual(["BOX_CHEAPER"]);
  });

  test("all who like it are told that it is cheaper, however many batches they are", async () => {
    const boxId = await listBox(shop, { price: 100 });
    const [first, second, third] = [await fan("BOX", boxId), await fan("BOX", boxId), await fan("BOX", boxId)];
    await change(boxId, { price: 90 });
    const tellNext = (after: string | null) =>
      transaction((tx) => insertFavoriteNotifications(tx, boxId, "BOX_CHEAPER", after, 1));
    const { last } = await tellNext((await tellNext(null)).last);
    expect([await kinds(first), await kinds(second)]).toEqual([["BOX_CHEAPER"], ["BOX_CHEAPER"]]);
    await change(boxId, { price: 91 });
    await tellNext(last);
    expect(await kinds(third)).toEqual([]);
  });

  test("what is changed besides a lower price does not end its being told", async () => {
    const boxId = await listBox(shop, { price: 100 });
    await tell(boxId);
    const likes = await fan("BOX", boxId);
    await change(boxId, { price: 90 });
    await change(boxId, { title: "Другой набор", price: 90 });
    await tell(boxId);
    expect(await kinds(likes)).toEqual(["BOX_CHEAPER"]);
  });

  test("nobody is told of one that cannot be had any more", async () => {
    const boxId = await listBox(shop);
    const likes = await fan("PARTNER", shop.id);
    await setQuantity(boxId, 0);
    await tell(boxId);
    expect(await kinds(likes)).toEqual([]);
  });

  test("a box that is refused is told to nobody", async () => {
    const before = await sql`select from staged_jobs`;
    const items = [{ menuItemId: "01890000-0000-7000-8000-000000000000", qty: 1 }];
    expect((await shop.owner.client.post("/api/v1/boxes", newBox({ items }))).status).toBe(400);
    expect((await sql`select from staged_jobs`).count).toBe(before.count);
  });
});
