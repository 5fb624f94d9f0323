import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { bakery, listBox, user } from "../../../support/cast.js";
import { countBlocked, lockRows } from "../../../support/locks.js";
import { order, statuses, stockOf } from "../../../support/orders.js";
import { prepareService } from "../../../support/programs.js";
import { until } from "../../../support/until.js";

const first = await prepareService();
const services = [first, await prepareService()];

beforeAll(async () => {
  for (const { api } of services) await api.start();
});

afterAll(async () => {
  for (const service of services) await service.stop();
  await closeDatabase();
});

test("requests with one key at two API processes at once: one order and duplicates of it", async () => {
  const [shop, anna] = [await bakery(first.client), await user(first.client)];
  const box = await listBox(shop, { price: 10, quantity: 20 });
  // the first request cannot write its key until one of each process waits
  const release = await lockRows((tx) => tx`select from boxes where id = ${box}::uuid for update`);
  const ordering = Promise.all(
    services.flatMap(({ client }) =>
      Array.from({ length: 5 }, () =>
        order({ ...anna, client: client.as(anna.client.token) }, shop, [{ menuItemId: box, qty: 1 }], 10, "at-both"),
      ),
    ),
  );
  await until(async () => (await countBlocked()) === services.length);
  await release();
  const replies = await ordering;
  expect(statuses(replies)).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
  expect(new Set(replies.map((reply) => reply.string("orderId"))).size).toBe(1);
  expect(await sql`select from orders`).toHaveLength(1);
  expect(await stockOf(box)).toMatchObject({ available: 19, reserved: 1 });
});
