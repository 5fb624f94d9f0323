import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { z } from "zod";
import { Snooze } from "../../lib/process/errors.js";
import { fanOut, push } from "../../queues/index.js";
import { closeDatabase, sql, type Db } from "../../sql/db.js";
import { stageJob, stageJobs } from "../../sql/outbox.js";
import { closeSignals } from "../../sql/signals.js";
import type { Task } from "../../workers/consume.js";
import { fanOutEvent } from "../../workers/fan-out.js";
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

type EventPayload = z.output<(typeof fanOut)["payload"]>;

const orderPlaced = (subjectId: string) => task({ event: "ORDER_PLACED" as const, subjectId, after: null });

const inserted = (orderId: string) =>
  sql<{ userId: string; kind: string; jobs: number }[]>`
    select n.user_id as "userId", n.kind, count(j.id)::integer as jobs
    from notifications n
    left join staged_jobs j on j.queue = 'push' and j.payload ->> 'notificationId' = n.id::text
    where n.order_id = ${orderId}::uuid
    group by n.id
    order by n.kind, n.user_id`;

test("an order creates one notification for its customer and each of the bakery's people, however often and concurrently the job runs", async () => {
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
    fanOutEvent(orderPlaced(orderId)),
    fanOutEvent(orderPlaced(orderId)),
    fanOutEvent(orderPlaced(orderId)),
  ]);
  await fanOutEvent(orderPlaced(orderId));

  const staff = [shop.owner.id, clerk.id].sort().map((userId) => ({ userId, kind: "NEW_ORDER", jobs: 1 }));
  expect(await inserted(orderId)).toEqual([...staff, { userId: anna.id, kind: "ORDER_ACCEPTED", jobs: 1 }]);
  expect((await stranger.owner.client.get("/api/v1/notifications")).list).toEqual([]);
  expect((await anna.client.get("/api/v1/notifications")).list).toMatchObject([
    { kind: "ORDER_ACCEPTED", status: "QUEUED", orderId, partnerId: shop.id },
  ]);
});

test("a job that cannot be completed leaves no notifications", async () => {
  const shop = await bakery(client);
  const anna = await user(client);
  const placed = await anna.client.post("/api/v1/orders", {
    items: [{ menuItemId: await listBox(shop, { price: 10 }), qty: 1 }],
    totalAmount: 10,
    partnerId: shop.id,
  });
  const orderId = placed.string("orderId");
  const settledElsewhere = {
    ...orderPlaced(orderId),
    done: () => Promise.reject(new Error("settled by another run")),
  };
  await expect(fanOutEvent(settledElsewhere)).rejects.toThrow("settled by another run");
  expect(await inserted(orderId)).toEqual([]);
});

test("events that run at once each have their own recipients, cause and reminder", async () => {
  const place = async () => {
    const [shop, buyer] = await Promise.all([bakery(client), user(client)]);
    const placed = await buyer.client.post("/api/v1/orders", {
      items: [{ menuItemId: await listBox(shop, { price: 10 }), qty: 1 }],
      totalAmount: 10,
      partnerId: shop.id,
    });
    return { orderId: placed.string("orderId"), buyerId: buyer.id, ownerId: shop.owner.id };
  };
  const [one, other, ready] = await Promise.all([place(), place(), place()]);
  await sql`truncate staged_jobs`;
  await Promise.all([
    fanOutEvent({ ...orderPlaced(one.orderId), requestId: "request-one" }),
    fanOutEvent({ ...orderPlaced(other.orderId), requestId: "request-other" }),
    fanOutEvent(task({ event: "ORDER_READY" as const, subjectId: ready.orderId, after: null })),
  ]);

  const ofPlaced = ({ buyerId, ownerId }: typeof one) => [
    { userId: ownerId, kind: "NEW_ORDER", jobs: 1 },
    { userId: buyerId, kind: "ORDER_ACCEPTED", jobs: 1 },
  ];
  expect(await inserted(one.orderId)).toEqual(ofPlaced(one));
  expect(await inserted(other.orderId)).toEqual(ofPlaced(other));
  expect(await inserted(ready.orderId)).toEqual([{ userId: ready.buyerId, kind: "ORDER_READY", jobs: 1 }]);
  const staged = await sql<{ requestId: string | null; orderId: string | null; isReminder: boolean }[]>`
    select j.request_id, coalesce(n.order_id::text, j.payload ->> 'subjectId') as order_id,
           coalesce(j.payload ->> 'event' = 'PICKUP_SOON' and j.run_at = o.pickup_window_start - interval '30 minutes', false)
             as is_reminder
    from staged_jobs j
    left join notifications n on n.id::text = j.payload ->> 'notificationId'
    left join orders o on o.id::text = j.payload ->> 'subjectId'
    where n.order_id is null or n.order_id <> ${ready.orderId}::uuid
    order by j.request_id, is_reminder`;
  const jobsOf = (requestId: string, orderId: string) =>
    [false, false, true].map((isReminder) => ({ requestId, orderId, isReminder }));
  expect(staged).toEqual([...jobsOf("request-one", one.orderId), ...jobsOf("request-other", other.orderId)]);
});

test("an unknown order has no recipients", async () => {
  await expect(fanOutEvent(orderPlaced("01890000-0000-7000-8000-000000000000"))).resolves.toBeUndefined();
});

describe("a large audience", () => {
  const FANS = 2_500;
  let boxId: string;

  beforeEach(async () => {
    const shop = await bakery(client);
    boxId = await listBox(shop);
    await sql`truncate staged_jobs`;
    await sql`
      with fan as (
        insert into users (service_id, phone)
        select 'SF-' || ${shop.id} || n, '+7' || ${shop.id} || n from generate_series(1, ${FANS}) as n
        returning id
      ), willing as (
        insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
        select id, true, true, true, true, '00:00', '00:00' from fan
      )
      insert into favorites (user_id, partner_id) select id, ${shop.id}::uuid from fan`;
    await stageJob(sql, fanOut, { event: "BOX_LISTED", subjectId: boxId, after: null });
  });

  /** Runs the open fan-out jobs as workers do, with each job's pushes completed before the next. Returns their number. */
  async function runFanOut(run: (id: number) => Partial<Task<EventPayload>> = () => ({})): Promise<number> {
    for (let jobs = 0; ;) {
      const open = await sql<{ id: number; payload: unknown }[]>`
        select id, payload from staged_jobs where queue = 'fan-out' and done_at is null order by id`;
      if (open.length === 0) return jobs;
      for (const { id, payload } of open) {
        jobs += 1;
        const settled = { ...task(fanOut.payload.parse(payload)), done: settle(id), ...run(id) };
        await fanOutEvent(settled).catch((error: unknown) => {
          if (!(error instanceof Interrupted)) throw error;
        });
        await sql`update staged_jobs set done_at = now() where queue = 'push'`;
      }
    }
  }

  class Interrupted extends Error {}
  const settle = (id: number) => async (tx: Db) => {
    const { count } = await tx`update staged_jobs set done_at = now() where id = ${id}::bigint and done_at is null`;
    if (count === 0) throw new Interrupted("settled by another run");
  };

  const expectOneEach = async () => {
    const [row] = await sql<{ people: number; notifications: number; jobs: number }[]>`
      select count(distinct n.user_id)::integer as people, count(distinct n.id)::integer as notifications, count(j.id)::integer as jobs
      from notifications n
      left join staged_jobs j on j.queue = 'push' and j.payload ->> 'notificationId' = n.id::text
      where n.box_id = ${boxId}::uuid`;
    expect(row).toEqual({ people: FANS, notifications: FANS, jobs: FANS });
  };

  test("is notified in batches, each recipient once, one job after the other", async () => {
    expect(await runFanOut()).toBe(3);
    await expectOneEach();
  });

  test("is notified once each, wherever the jobs are interrupted and however often they run", async () => {
    const cutShort = new Set<number>();
    const jobs = await runFanOut((id) => ({
      done: async (tx) => {
        await settle(id)(tx);
        if (cutShort.has(id)) return;
        cutShort.add(id);
        throw new Interrupted("the process is gone");
      },
    }));
    expect([jobs, cutShort.size]).toEqual([6, 3]);
    await expectOneEach();
  });

  test("is notified once each when every job runs twice concurrently", async () => {
    const both = (payload: EventPayload, id: number) =>
      Promise.allSettled([1, 2].map(() => fanOutEvent({ ...task(payload), done: settle(id) })));
    for (;;) {
      const [open] = await sql<{ id: number; payload: unknown }[]>`
        select id, payload from staged_jobs where queue = 'fan-out' and done_at is null`;
      if (!open) break;
      const outcomes = await both(fanOut.payload.parse(open.payload), open.id);
      expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      await sql`update staged_jobs set done_at = now() where queue = 'push'`;
    }
    await expectOneEach();
  });

  test("waits while many pushes are open, but the recipients of an order do not", async () => {
    await stageJobs(
      sql,
      push,
      Array.from({ length: 1_000 }, () => ({ payload: { notificationId: randomUUID() } })),
    );
    const listed = task({ event: "BOX_LISTED" as const, subjectId: boxId, after: null });
    await expect(fanOutEvent(listed)).rejects.toThrow(Snooze);
    await expect(fanOutEvent(orderPlaced(randomUUID()))).resolves.toBeUndefined();
    // pushes that wait for the end of quiet hours do not count
    await sql`
      update staged_jobs set run_at = now() + interval '5 minutes', next_send_at = now() + interval '5 minutes'
      where queue = 'push'`;
    await expect(fanOutEvent(listed)).resolves.toBeUndefined();
  });

  test("is not notified further once the box is sold out", async () => {
    const [first] = await sql<{ id: number; payload: unknown }[]>`select id, payload from staged_jobs`;
    await fanOutEvent({ ...task(fanOut.payload.parse(first!.payload)), done: settle(first!.id) });
    await sql`update staged_jobs set done_at = now() where queue = 'push'`;
    await sql`update boxes set status = 'SOLD_OUT', quantity_available = 0 where id = ${boxId}::uuid`;
    expect(await runFanOut()).toBe(1);
    expect((await sql`select from notifications where box_id = ${boxId}::uuid`).count).toBe(1_000);
  });
});
