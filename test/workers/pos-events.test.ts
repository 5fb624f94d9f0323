import { randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { PermanentError } from "../../lib/process/errors.js";
import { sql, transaction } from "../../sql/db.js";
import {
  deleteOldPosEvents,
  lockPosEvents,
  receivePosEvents,
  rescheduleStalledInboxes,
} from "../../sql/queries/pos-events.js";
import { applyPosEvents } from "../../workers/pos-events.js";
import * as cast from "../support/cast.js";
import { task } from "../support/task.js";
import {
  admin,
  bakery,
  openBakery,
  tell,
  drain,
  events,
  orders,
  jobs,
  rolls,
  endsBefore,
} from "../support/pos-inbox.js";

describe("a mailbox", () => {
  /** Makes orders of this bakery fail, for a reason that is not theirs. */
  const breakOrders = async () => {
    await sql`alter table orders add constraint broken check (partner_id <> '00000000-0000-0000-0000-000000000000') not valid`;
    await sql`alter table orders drop constraint broken`;
    await sql`create or replace function refuse() returns trigger language plpgsql as 'begin raise exception ''customer "Anna" is not liked''; end'`;
    await sql`create trigger broken before insert on orders for each row execute function refuse()`;
    return () => sql`drop trigger broken on orders`;
  };

  test("is worked off in the order in which events came in, and waits with one that fails", async () => {
    const mend = await breakOrders();
    try {
      await tell([
        ["order-1", rolls()],
        ["a1", { kind: "item.availability", items: [{ externalId: "tea", available: false }] }],
      ]);
      await drain();
      expect(await events()).toMatchObject([
        { status: "QUEUED", attempts: 1, lastError: "DatabaseError P0001: customer … is not liked" },
        { status: "QUEUED", attempts: 0 },
      ]);
    } finally {
      await mend();
    }
    // the jobs of the first message, which is the one that ran, and of the next try
    expect((await jobs()).filter(({ due }) => !due)).toHaveLength(1);
    await drain();
    expect(await orders()).toEqual([]);
    await sql`update pos_events set next_try_at = now()`;
    await drain();
    expect((await events()).map(({ status }) => status)).toEqual(["PROCESSED", "PROCESSED"]);
  });

  test("does without an event that fails again and again, and an admin has it worked off later", async () => {
    const mend = await breakOrders();
    try {
      await tell([
        ["order-1", rolls()],
        ["m1", { kind: "menu.updated" }],
      ]);
      for (let n = 0; n < 5; n += 1) {
        await sql`update pos_events set next_try_at = now()`;
        await drain();
      }
      expect(await events()).toMatchObject([{ status: "PARKED", attempts: 5 }, { status: "PROCESSED" }]);
    } finally {
      await mend();
    }
    const [parked] = await events();
    const { list } = await admin.client.get("/api/v1/admin/pos/events?status=PARKED&limit=200");
    expect(list.find(({ id }) => id === parked!.id)).toMatchObject({
      partnerId: bakery.id,
      provider: "generic",
      eventId: "order-1",
      kind: "order.created",
      attempts: 5,
      reason: "DatabaseError P0001: customer … is not liked",
    });
    const replayed = await admin.client.post(`/api/v1/admin/pos/events/${parked!.id}/replay`);
    expect([replayed.status, replayed.body]).toEqual([200, { id: parked!.id, status: "QUEUED" }]);
    await drain();
    expect(await orders()).toHaveLength(1);
    const again = await admin.client.post(`/api/v1/admin/pos/events/${parked!.id}/replay`);
    expect([again.status, again.body["code"]]).toEqual([409, "CONFLICT"]);
    expect((await admin.client.post("/api/v1/admin/pos/events/999999999/replay")).status).toBe(404);
    expect(
      await sql`
        select actor_id as "actorId", details from audit_events
        where action = 'POS_EVENT_REPLAY' and subject_id = ${bakery.id}::uuid`,
    ).toEqual([{ actorId: admin.id, details: { event: parked!.id } }]);
  });

  test("shows a parked event as a job that failed, which can be run again, and ends with the event", async () => {
    await tell([["order-1", rolls({ items: [{ externalId: "caviar", qty: 1 }], totalMinor: 500 })]]);
    await drain();
    const [event] = await events();
    const tryAgain = () => applyPosEvents(task({ eventId: event!.id }));
    expect((await jobs()).filter(({ eventId }) => eventId !== null)).toMatchObject([{ eventId: String(event!.id) }]);
    await expect(tryAgain()).rejects.toThrow(
      new PermanentError(`POS event ${event!.id} is parked: the menu does not have some of the items`),
    );
    // whoever looks at the event sees that it was tried, and why it failed this time
    expect(await events()).toMatchObject([{ status: "PARKED", attempts: 2 }]);
    await sql`update partners set status = 'SUSPENDED' where id = ${bakery.id}::uuid`;
    await sql`update menu_items set external_id = 'caviar' where partner_id = ${bakery.id}::uuid and external_id = 'tea'`;
    await sql`update pos_events set settled_at = now() - interval '1 hour' where id = ${event!.id}::bigint`;
    await expect(tryAgain()).rejects.toThrow(PermanentError);
    const lastError = "the partner does not take orders at the moment";
    expect(await events()).toMatchObject([{ status: "PARKED", attempts: 3, lastError }]);
    expect(
      (await sql`select from pos_events where id = ${event!.id}::bigint and settled_at > now() - interval '1 minute'`)
        .count,
    ).toBe(1);
    await sql`update menu_items set external_id = 'tea' where partner_id = ${bakery.id}::uuid and external_id = 'caviar'`;
    await sql`update partners set status = 'ACTIVE' where id = ${bakery.id}::uuid`;
    await cast.addMenuItem(bakery, { externalId: "caviar", price: 5 });
    await tryAgain();
    expect(await orders()).toHaveLength(1);
    expect((await jobs()).filter(({ eventId }) => eventId !== null)).toEqual([]);
    // and once more, for nothing
    await tryAgain();
    expect(await orders()).toHaveLength(1);
  });

  test("tries a replayed event that fails again once more by itself, by the job that was given up", async () => {
    await tell([["order-1", rolls({ items: [{ externalId: "caviar", qty: 1 }], totalMinor: 500 })]]);
    await drain();
    const [event] = await events();
    const ofEvent = async () => (await jobs()).filter(({ eventId }) => eventId !== null);
    const [job] = await ofEvent();
    await sql`update staged_jobs set dead_at = now(), sends = 1, tries = 5, run_at = now() where id = ${job!.id}::bigint`;
    await admin.client.post(`/api/v1/admin/pos/events/${event!.id}/replay`);
    await drain();
    expect(await events()).toMatchObject([{ status: "PARKED", attempts: 1 }]);
    expect(await ofEvent()).toEqual([{ ...job, due: false, dead: false }]);
    expect(await sql`select generation, sends, tries from staged_jobs where id = ${job!.id}::bigint`).toEqual([
      { generation: 1, sends: 0, tries: 0 },
    ]);
    // one that still waits for its time is let alone
    await admin.client.post(`/api/v1/admin/pos/events/${event!.id}/replay`);
    await drain();
    expect(await ofEvent()).toEqual([{ ...job, due: false, dead: false }]);
    expect(await sql`select generation from staged_jobs where id = ${job!.id}::bigint`).toEqual([{ generation: 1 }]);
  });

  test("into which something is put while it is worked off is looked into exactly once more", async () => {
    await tell([["m1", { kind: "menu.updated" }]]);
    await drain();
    const before = (await jobs()).length;
    await Promise.all(Array.from({ length: 10 }, (_, n) => tell([[`m2-${n}`, { kind: "menu.updated" }]])));
    expect((await jobs()).length).toBe(before + 1);
  });

  test("is filled by one at a time: events have their numbers in the order in which they are there to be seen", async () => {
    await tell([["m0", { kind: "menu.updated" }]]);
    await drain();
    const before = (await jobs()).length;
    let second: Promise<void> | undefined;
    await transaction(async (tx) => {
      const first = {
        partnerId: bakery.id,
        account: bakery.id,
        eventId: "m1",
        change: { kind: "menu.updated" },
      } as const;
      await receivePosEvents(tx, "generic", [first], randomUUID());
      second = tell([["m2", { kind: "menu.updated" }]]);
      expect(await endsBefore(second)).toBe(false);
    });
    await second;
    expect((await events()).map(({ eventId }) => eventId)).toEqual(["m0", "m1", "m2"]);
    expect((await jobs()).length).toBe(before + 1);
  });

  test("is worked off by one at a time", async () => {
    await tell([["order-1", rolls()]]);
    let work: Promise<unknown> | undefined;
    await transaction(async (tx) => {
      await lockPosEvents(tx, bakery.id);
      work = drain();
      expect(await endsBefore(work)).toBe(false);
    });
    await work;
    expect(await events()).toMatchObject([{ status: "PROCESSED" }]);
  });

  test("is worked off once, in order, by many at the same time", async () => {
    await tell(Array.from({ length: 20 }, (_, n) => [`order-${n}`, rolls()] as const));
    await Promise.all(Array.from({ length: 6 }, () => drain()));
    expect(await orders()).toHaveLength(20);
    expect(
      await sql`
        select bool_and(o.order_id > o.before) as "inOrder"
        from (
          select p.order_id, lag(p.order_id) over (order by e.id) as before
          from pos_events e join pos_orders p on p.partner_id = e.partner_id and p.external_id = e.event_id
          where e.partner_id = ${bakery.id}::uuid
        ) o where o.before is not null`,
    ).toEqual([{ inOrder: true }]);
  });

  test("of one partner does not hold up another's", async () => {
    const other = await openBakery();
    const mend = await breakOrders();
    try {
      await tell([["order-1", rolls()]]);
      await drain();
    } finally {
      await mend();
    }
    await tell([["order-1", rolls()]], other);
    await drain(other);
    expect(await orders(other.id)).toHaveLength(1);
  });

  const endJobs = (how: "dead" | "purged") =>
    how === "dead"
      ? sql`update staged_jobs set dead_at = now() where payload ->> 'partnerId' = ${bakery.id} and done_at is null`
      : sql`delete from staged_jobs where payload ->> 'partnerId' = ${bakery.id}`;

  test.each(["dead", "purged"] as const)("whose job is %s is looked into when an event is told again", async (how) => {
    await tell([["order-1", rolls()]]);
    await endJobs(how);
    await tell([["order-1", rolls()]]);
    const found = (await jobs()).filter(({ dead }) => !dead);
    expect(found).toMatchObject([{ eventId: null, due: true }]);
    // once is enough, and what is settled needs nobody
    await tell([["order-1", rolls()]]);
    await drain();
    expect(await orders()).toHaveLength(1);
    await endJobs(how);
    await tell([["order-1", rolls()]]);
    expect((await jobs()).filter(({ dead }) => !dead)).toEqual([]);
  });

  test.each(["dead", "purged"] as const)("whose job is %s is looked into by itself, once", async (how) => {
    await tell([["order-1", rolls()]]);
    const alive = async () => (await jobs()).filter(({ dead }) => !dead);
    await sql`update pos_events set next_try_at = now() - interval '2 minutes' where partner_id = ${bakery.id}::uuid`;
    await rescheduleStalledInboxes(sql, 1_000);
    expect(await alive()).toHaveLength(1);
    await endJobs(how);
    // it may have been looked into when the job ended
    await sql`update pos_mailboxes set job_id = null where partner_id = ${bakery.id}::uuid and ${how === "dead"}`;
    await sql`update pos_events set next_try_at = now() where partner_id = ${bakery.id}::uuid`;
    await rescheduleStalledInboxes(sql, 1_000);
    expect(await alive()).toEqual([]);
    await sql`update pos_events set next_try_at = now() - interval '2 minutes' where partner_id = ${bakery.id}::uuid`;
    await Promise.all([rescheduleStalledInboxes(sql, 1_000), rescheduleStalledInboxes(sql, 1_000)]);
    expect(await alive()).toMatchObject([{ eventId: null, due: true }]);
    await drain();
    expect(await orders()).toHaveLength(1);
  });

  test("that waits with an event that fails is looked into at once when another one is replayed, and not when one comes in", async () => {
    const ofMailbox = async () => (await jobs()).filter(({ eventId }) => eventId === null);
    await tell([["order-0", rolls({ items: [] })]]);
    await drain();
    await sql`update staged_jobs set done_at = now() where payload ->> 'partnerId' = ${bakery.id}`;
    const mend = await breakOrders();
    try {
      await tell([["order-1", rolls()]]);
      await sql`update staged_jobs set done_at = now() where payload ->> 'partnerId' = ${bakery.id}`;
      await drain();
      await tell([["m1", { kind: "menu.updated" }]]);
      expect(await ofMailbox()).toMatchObject([{ due: false }]);
    } finally {
      await mend();
    }
    const [parked] = await events();
    await admin.client.post(`/api/v1/admin/pos/events/${parked!.id}/replay`);
    expect(await ofMailbox()).toMatchObject([{ due: true }]);
    expect(
      (
        await sql`
          select from staged_jobs
          where payload ->> 'partnerId' = ${bakery.id} and done_at is null and next_send_at <= now()`
      ).count,
    ).toBe(1);
  });

  test("has what it cannot read parked", async () => {
    await tell([["m1", { kind: "menu.updated" }]]);
    await sql`update pos_events set change = '{"kind": "order.teleported"}' where partner_id = ${bakery.id}::uuid`;
    await drain();
    expect(await events()).toMatchObject([{ status: "PARKED", lastError: "the event has an unknown form" }]);
  });

  test("forgets what came in 30 days ago, also when it was tried again since, and is not waiting", async () => {
    await tell([
      ["old", { kind: "menu.updated" }],
      ["new", { kind: "menu.updated" }],
    ]);
    await drain();
    await tell([["waiting", { kind: "menu.updated" }]]);
    await sql`update pos_events set received_at = now() - interval '31 days' where partner_id = ${bakery.id}::uuid and event_id <> 'new'`;
    expect(await deleteOldPosEvents(sql, 100)).toBe(1);
    expect(await events()).toMatchObject([{ eventId: "new" }, { eventId: "waiting" }]);
  });
});

test("the list of events goes page by page, by status, and says nothing of customers", async () => {
  const phone = cast.newPhone();
  await tell([
    ["order-1", rolls({ customerPhone: phone, address: "Тайная улица, 1" })],
    ["m1", { kind: "menu.updated" }],
    ["m2", { kind: "menu.updated" }],
  ]);
  const first = await admin.client.get("/api/v1/admin/pos/events?limit=2&status=QUEUED");
  expect(first.list.map(({ eventId }) => eventId)).toEqual(["m2", "m1"]);
  const [, next = ""] = /<([^>]+)>/.exec(first.headers.get("link") ?? "") ?? [];
  const second = await admin.client.get(next);
  expect(second.list[0]).toMatchObject({ eventId: "order-1", status: "QUEUED", settledAt: null });
  expect(first.text + second.text).not.toMatch(new RegExp(`${phone.slice(1)}|Тайная`));
  expect((await admin.client.get("/api/v1/admin/pos/events?status=LOST")).status).toBe(400);
});
