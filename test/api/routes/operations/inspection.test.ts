import { randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { sql } from "../../../../sql/db.js";
import { outcome } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { runEvents } from "../../../support/events.js";
import {
  admin,
  auditOf,
  client,
  deadPush,
  giveUp,
  list,
  ops,
  read,
  shop,
  why,
} from "../../../support/operator-scene.js";

/** A customer's order, whose events have been turned into notifications. */
async function placeOrder({ requestId = randomUUID(), ready = true } = {}) {
  const customer = await cast.user(client);
  const boxId = await cast.listBox(shop, { price: 100 });
  const order = await customer.client.post(
    "/api/v1/orders",
    { items: [{ menuItemId: boxId, qty: 1 }], totalAmount: 100, partnerId: shop.id },
    { headers: { "x-request-id": requestId } },
  );
  const orderId = order.string("orderId");
  if (ready) await runEvents(orderId);
  return { customer, orderId, requestId };
}

describe("an order is shown", () => {
  test("with its moves, its jobs and its notifications, in the order of time", async () => {
    const { customer, orderId } = await placeOrder();
    // another order, whose jobs are not shown
    await placeOrder();
    const shown = await read(`/orders/${orderId}`);
    expect(shown).toMatchObject({
      order: { id: orderId, status: "ACCEPTED", userId: customer.id, partnerId: shop.id },
    });
    expect(shown["timeline"]).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ what: "ACCEPTED, by CUSTOMER" }),
        expect.objectContaining({
          what: expect.stringMatching(/^fan-out job \d+ done after 0 attempts, \d+\.\d s after it was staged$/),
        }),
        expect.objectContaining({ what: `notification ORDER_ACCEPTED for user ${customer.id}` }),
      ]),
    );
    const jobs = await sql<{ id: number }[]>`
      select id
      from staged_jobs
      where payload ->> 'subjectId' = ${orderId}
        or payload ->> 'notificationId' in (select id::text from notifications where order_id = ${orderId}::uuid)
      order by id`;
    expect(jobs.length).toBeGreaterThan(2);
    expect(shown["jobs"]).toEqual(jobs.map(({ id }) => expect.objectContaining({ id })));
  });

  test("with its customer's phone and address masked, which an admin reads for a reason that is audited", async () => {
    const { customer, orderId } = await placeOrder({ ready: false });
    await sql`update orders set address = 'Тверская, 1' where id = ${orderId}::uuid`;
    const { order } = await read(`/orders/${orderId}`);
    const masked = `${customer.phone.slice(0, 2)}••••••••${customer.phone.slice(-2)}`;
    expect(order).toMatchObject({ phone: masked, address: "•••" });
    const shown = await admin.client.post(`${ops}/orders/${orderId}/contact`, { why });
    expect(shown.body).toEqual({ phone: customer.phone, address: "Тверская, 1" });
    expect(await auditOf("CONTACT_SHOWN")).toEqual([{ order: orderId, why }]);
  });

  test("to admins only as an order: another id is 404", async () => {
    expect(outcome(await admin.client.get(`${ops}/orders/${randomUUID()}`))).toBe("404 NOT_FOUND");
  });
});

test("a box is shown with the jobs that it caused when it was listed; an unknown id is 404", async () => {
  const boxId = await cast.listBox(shop, { price: 100 });
  await cast.listBox(shop, { price: 100 });
  const { found, jobs, timeline } = await read(`/things/${boxId}`);
  expect(found).toMatchObject({ kind: "BOX", id: boxId });
  expect(jobs).toEqual([
    expect.objectContaining({ queue: "fan-out", payload: expect.objectContaining({ subjectId: boxId }) }),
  ]);
  expect(timeline).toContainEqual(expect.objectContaining({ what: "BOX made" }));
  expect(outcome(await admin.client.get(`${ops}/things/${randomUUID()}`))).toBe("404 NOT_FOUND");
});

describe("why a notification was not sent is said in words:", () => {
  async function notified() {
    const { customer, orderId } = await placeOrder();
    const [row] = await sql<{ id: string; jobId: number }[]>`
      select n.id, job.id as "jobId"
      from notifications n
      join staged_jobs job on job.payload ->> 'notificationId' = n.id::text
      where n.order_id = ${orderId}::uuid and n.user_id = ${customer.id}::uuid`;
    return row!;
  }
  const whyOf = async (id: string) => (await read(`/notifications/${id}`))["notification"];

  test("its job is due", async () => {
    const { id, jobId } = await notified();
    expect(await whyOf(id)).toMatchObject({ why: `Not sent yet: job ${jobId} is due.` });
  });

  test("its job was given up", async () => {
    const { id, jobId } = await notified();
    await giveUp(String(jobId), "403 from the push service");
    expect(await whyOf(id)).toMatchObject({
      why: `Not sent: job ${jobId} was given up (403 from the push service). Replay it.`,
    });
  });

  test("it waits for the end of quiet hours", async () => {
    const { id, jobId } = await notified();
    await sql`update notifications set status = 'DEFERRED', reason = 'quiet hours' where id = ${id}::uuid`;
    await sql`update staged_jobs set run_at = '2100-01-01T09:00Z' where id = ${jobId}::bigint`;
    expect(await whyOf(id)).toMatchObject({ why: "Not sent before 2100-01-01T09:00:00.000Z: quiet hours." });
  });

  test("its user has turned pushes off", async () => {
    const { id } = await notified();
    await sql`
      update notifications set status = 'DROPPED', reason = 'push is off', settled_at = now() where id = ${id}::uuid`;
    expect(await whyOf(id)).toMatchObject({ why: "Not sent, and never will be: its user has turned pushes off." });
  });

  test("its job is gone", async () => {
    const { id, jobId } = await notified();
    await sql`delete from staged_jobs where id = ${jobId}::bigint`;
    expect(await whyOf(id)).toMatchObject({ why: "Not sent, and it has no open job." });
  });
});

describe("a search finds", () => {
  const find = async (q: string) => list(`/search?${new URLSearchParams({ q }).toString()}`);

  test("an order by its id, by its pickup code, and by its customer's phone, which is audited", async () => {
    const { customer, orderId } = await placeOrder();
    const order = expect.objectContaining({ kind: "ORDER", id: orderId, state: "ACCEPTED" });
    expect(await find(orderId)).toContainEqual(order);
    const [{ code } = { code: "" }] = await sql<{ code: string }[]>`
      select pickup_code as code from orders where id = ${orderId}::uuid`;
    expect(await find(code)).toContainEqual(order);
    expect(await find(customer.phone)).toEqual([expect.objectContaining({ kind: "USER", id: customer.id }), order]);
    const audited = await sql`
      select from audit_events
      where actor_id = ${admin.id}::uuid and action = 'PHONE_SEARCHED' and details = ${sql.json({ user: customer.id })}`;
    expect(audited.length).toBe(1);
  });

  test("nobody by phone with a service key, as the audit log could not say who looked", async () => {
    const { customer } = await placeOrder();
    const key = await admin.client.post("/api/v1/admin/api-keys", { name: "Screens", scopes: ["ops:read"] });
    const search = `${ops}/search?${new URLSearchParams({ q: customer.phone }).toString()}`;
    expect((await client.as(key.string("key")).get(search)).list).toEqual([]);
  });

  test("what a request caused, directly and through other jobs", async () => {
    const { requestId, orderId } = await placeOrder();
    const { jobs, notifications } = await read(`/orders/${orderId}`);
    const found = await find(requestId);
    expect(found.length).toBeGreaterThan(2);
    expect(found.map(({ kind }) => kind)).toEqual(found.map(() => "JOB"));
    const request = await read(`/requests/${requestId}`);
    expect(request).toMatchObject({ jobs, notifications });
    expect(request["timeline"]).toContainEqual(
      expect.objectContaining({ what: expect.stringMatching(/^notification ORDER_/) }),
    );
  });

  test("a request's jobs only near the time at which it was made", async () => {
    const { requestId } = await placeOrder();
    const at = new Date(Date.now() - 3_600_000).toISOString();
    expect(await list(`/search?${new URLSearchParams({ q: requestId, at }).toString()}`)).toEqual([]);
  });

  test("a job by its number, and by the id that the queue dashboard shows", async () => {
    const id = await deadPush("503");
    const job = expect.objectContaining({ kind: "JOB", id: String(id), state: "DEAD" });
    expect(await find(String(id))).toContainEqual(job);
    expect(await find(`${id}.0`)).toContainEqual(job);
  });

  test("nothing, for words that mean nothing", async () => {
    expect(await find("'; select")).toEqual([]);
  });
});
