import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { Snooze } from "../../lib/process/errors.js";
import { closeDatabase } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { fanOutEvent } from "../../workers/fan-out.js";
import { outcome, startApi, type Client } from "../support/api.js";
import { bakery, listBox, user, type Bakery, type Character } from "../support/cast.js";
import { newKinds, runEvents, stagedEvents } from "../support/events.js";
import { countBlocked, lockRows } from "../support/locks.js";
import { order } from "../support/orders.js";
import { task } from "../support/task.js";
import { until } from "../support/until.js";

let client: Client;
let stop: () => Promise<void>;
let shop: Bakery;
let boxId: string;
let anna: Character;

beforeAll(async () => {
  ({ client, stop } = await startApi());
});

beforeEach(async () => {
  shop = await bakery(client);
  boxId = await listBox(shop, { price: 100 });
  await runEvents(boxId);
  anna = await follower();
});

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

async function follower(): Promise<Character> {
  const who = await user(client);
  await who.client.post("/api/v1/users/me/favorites", { targetType: "BOX", targetId: boxId });
  await who.client.put("/api/v1/users/me/notification-preferences", { marketing: true });
  return who;
}

const setPrice = (price: number) => shop.owner.client.put(`/api/v1/boxes/${boxId}`, { price });

/** Does something while the first batch about a lower price is at work; returns how the batch ends. */
async function duringBatch(work: () => Promise<void>): Promise<unknown> {
  const resume = await lockRows((tx) => tx`lock table notifications in share mode`);
  const ended = runEvents(boxId).catch((error: unknown) => error);
  try {
    await until(async () => (await countBlocked()) === 1);
    await work();
  } finally {
    await resume();
  }
  return ended;
}

test("an order of a box goes through while its followers are notified of a lower price, once", async () => {
  await setPrice(90);
  const ended = await duringBatch(async () => {
    expect(outcome(await order(await user(client), shop, [{ boxId, qty: 1 }], 90))).toBe("201");
  });
  expect([ended, await newKinds(anna)]).toEqual([undefined, ["BOX_CHEAPER"]]);

  const boris = await follower();
  await fanOutEvent(task({ event: "BOX_CHEAPER" as const, subjectId: boxId, after: null }));
  expect([await newKinds(anna), await newKinds(boris)]).toEqual([[], []]);
});

test("a price that is raised while the followers are notified of it undoes the batch, and the event ends", async () => {
  await setPrice(90);
  const ended = await duringBatch(async () => {
    expect(outcome(await setPrice(110))).toBe("200");
  });
  expect(ended).toBeInstanceOf(Snooze);
  expect(await stagedEvents(boxId)).toHaveLength(1);
  await runEvents(boxId);
  expect([await newKinds(anna), await stagedEvents(boxId)]).toEqual([[], []]);
  await setPrice(95);
  await runEvents(boxId);
  expect(await newKinds(anna)).toEqual(["BOX_CHEAPER"]);
});
