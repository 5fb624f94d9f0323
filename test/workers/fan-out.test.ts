import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { announce } from "../../workers/fan-out.js";
import { startApi, type Client } from "../support/api.js";
import { bakery, listBox, user } from "../support/cast.js";
import { task } from "../support/task.js";

let client: Client;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ client, stop } = await startApi());
});

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

const announcement = (subjectId: string) => task({ announcement: "ORDER_PLACED" as const, subjectId });

const told = (orderId: string) =>
  sql<{ userId: string; kind: string; jobs: number }[]>`
    select n.user_id as "userId", n.kind, count(j.id)::integer as jobs
    from notifications n
    left join staged_jobs j on j.queue = 'push' and j.payload ->> 'notificationId' = n.id::text
    where n.order_id = ${orderId}::uuid
    group by n.id
    order by n.kind, n.user_id`;

test("an order is told to its customer and to everyone at the bakery, once each, however often and simultaneously the job runs", async () => {
  const shop = await bakery(client);
  const [anna, clerk, stranger] = await Promise.all([user(client), user(client), bakery(client)]);
  await sql`insert into partner_staff (user_id, partner_id) values (${clerk.id}::uuid, ${shop.id}::uuid)`;
  const placed = await anna.client.post("/api/v1/orders", {
    items: [{ menuItemId: await listBox(shop, { price: 10 }), qty: 1 }],
    totalAmount: 10,
    partnerId: shop.id,
  });
  const orderId = placed.string("orderId");

  await Promise.all([
    announce(announcement(orderId)),
    announce(announcement(orderId)),
    announce(announcement(orderId)),
  ]);
  await announce(announcement(orderId));

  const staff = [shop.owner.id, clerk.id].sort().map((userId) => ({ userId, kind: "NEW_ORDER", jobs: 1 }));
  expect(await told(orderId)).toEqual([...staff, { userId: anna.id, kind: "ORDER_ACCEPTED", jobs: 1 }]);
  expect((await stranger.owner.client.get("/api/v1/notifications")).list).toEqual([]);
  expect((await anna.client.get("/api/v1/notifications")).list).toMatchObject([
    { kind: "ORDER_ACCEPTED", status: "QUEUED", orderId, partnerId: shop.id },
  ]);
});

test("when the job cannot be settled, nobody is told: both happen or neither", async () => {
  const shop = await bakery(client);
  const anna = await user(client);
  const placed = await anna.client.post("/api/v1/orders", {
    items: [{ menuItemId: await listBox(shop, { price: 10 }), qty: 1 }],
    totalAmount: 10,
    partnerId: shop.id,
  });
  const orderId = placed.string("orderId");
  const settledElsewhere = {
    ...announcement(orderId),
    done: () => Promise.reject(new Error("settled by another run")),
  };
  await expect(announce(settledElsewhere)).rejects.toThrow("settled by another run");
  expect(await told(orderId)).toEqual([]);
});

test("an order that is gone is nothing to tell", async () => {
  await expect(announce(announcement("01890000-0000-7000-8000-000000000000"))).resolves.toBeUndefined();
});
