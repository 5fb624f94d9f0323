import { describe, expect, test } from "@jest/globals";
import { PermanentError } from "../../lib/process/errors.js";
import { sql, transaction } from "../../sql/db.js";
import {
  clearInboxJob,
  deleteOldPosEvents,
  receivePosEvents,
  rescheduleStalledInboxes,
} from "../../sql/queries/pos-events.js";
import { applyPosEvents } from "../../workers/pos-events.js";
import * as cast from "../support/cast.js";
import { lockRows } from "../support/locks.js";
import { task } from "../support/task.js";
import {
  admin,
  bakery,
  openBakery,
  receive,
  received,
  drain,
  events,
  orders,
  jobs,
  rolls,
  endsBefore,
} from "../support/pos-inbox.js";

describe("an inbox", () => {
  /** Makes orders of this bakery fail with an error of the service. */
  const breakOrders = async (sqlstate = "P0001") => {
    await sql`
      create or replace function refuse() returns trigger language plpgsql as $$
      begin
        raise exception 'customer "Anna" is not liked' using errcode = (select r.code from refusals r);
      end
      $$`;
    await sql`create table if not exists refusals (code text)`;
    await sql`delete from refusals`;
    await sql`insert into refusals values (${sqlstate}::text)`;
    await sql`create trigger broken before insert on orders for each row execute function refuse()`;
    return () => sql`drop trigger broken on orders`;
  };

  test("is processed in order, and waits for an event that fails", async () => {
    const restore = await breakOrders();
    try {
      await receive([
        ["order-1", rolls()],
        ["a1", { kind: "item.availability", items: [{ externalId: "tea", available: false }] }],
      ]);
      await drain();
      expect(await events()).toMatchObject([
        { status: "QUEUED", attempts: 1, lastError: "DatabaseError P0001: customer … is not liked" },
        { status: "QUEUED", attempts: 0 },
      ]);
    } finally {
      await restore();
    }
    // the job of the first event, which ran, and that of the next attempt
    expect((await jobs()).filter(({ due }) => !due)).toHaveLength(1);
    await drain();
    expect(await orders()).toEqual([]);
    await sql`update pos_events set next_attempt_at = now()`;
    await drain();
    expect((await events()).map(({ status }) => status)).toEqual(["PROCESSED", "PROCESSED"]);
  });

  test("skips an event that keeps failing, which an admin can replay later", async () => {
    const restore = await breakOrders();
    try {
      await receive([
        ["order-1", rolls()],
        ["m1", { kind: "menu.updated" }],
      ]);
      for (let n = 0; n < 5; n += 1) {
        await sql`update pos_events set next_attempt_at = now()`;
        await drain();
      }
      expect(await events()).toMatchObject([{ status: "PARKED", attempts: 5 }, { status: "PROCESSED" }]);
    } finally {
      await restore();
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

  test.each([
    ["is parked after five statement timeouts", "57014", "PARKED", 5],
    ["is parked after five deadlocks", "40P01", "PARKED", 5],
    ["waits without counting attempts while the server is unavailable", "57P03", "QUEUED", 0],
  ])("with an event that %s", async (_name, sqlstate, status, attempts) => {
    const restore = await breakOrders(sqlstate);
    try {
      await receive([["order-1", rolls()]]);
      for (let n = 0; n < 5; n += 1) {
        await sql`update pos_events set next_attempt_at = now()`;
        await drain().catch((error: unknown) => error);
      }
      expect(await events()).toMatchObject([{ status, attempts }]);
    } finally {
      await restore();
    }
  });

  test("has a failed job for a parked event, which can be retried, and is completed with the event", async () => {
    await receive([["order-1", rolls({ items: [{ externalId: "caviar", qty: 1 }], totalMinor: 500 })]]);
    await drain();
    const [event] = await events();
    const tryAgain = () => applyPosEvents(task({ eventId: event!.id }));
    expect((await jobs()).filter(({ eventId }) => eventId !== null)).toMatchObject([{ eventId: String(event!.id) }]);
    await expect(tryAgain()).rejects.toThrow(
      new PermanentError(`POS event ${event!.id} is parked: the menu does not have some of the items`),
    );
    // admins see the attempt and its error on the event
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
    // another run has no effect
    await tryAgain();
    expect(await orders()).toHaveLength(1);
  });

  test("retries a replayed event that fails again once more, by its dead job", async () => {
    await receive([["order-1", rolls({ items: [{ externalId: "caviar", qty: 1 }], totalMinor: 500 })]]);
    await drain();
    const [event] = await events();
    const ofEvent = async () => (await jobs()).filter(({ eventId }) => eventId !== null);
    const [job] = await ofEvent();
    const [dead] = await sql<{ generation: number }[]>`
      update staged_jobs set dead_at = now(), sends = 1, attempts = 5, run_at = now() where id = ${job!.id}::bigint
      returning generation`;
    const generation = dead!.generation + 1;
    await admin.client.post(`/api/v1/admin/pos/events/${event!.id}/replay`);
    await drain();
    expect(await events()).toMatchObject([{ status: "PARKED", attempts: 1 }]);
    expect(await ofEvent()).toEqual([{ ...job, due: false, dead: false }]);
    expect(await sql`select generation, sends, attempts from staged_jobs where id = ${job!.id}::bigint`).toEqual([
      { generation, sends: 0, attempts: 0 },
    ]);
    // a job that still waits for its time is not changed
    await admin.client.post(`/api/v1/admin/pos/events/${event!.id}/replay`);
    await drain();
    expect(await ofEvent()).toEqual([{ ...job, due: false, dead: false }]);
    expect(await sql`select generation from staged_jobs where id = ${job!.id}::bigint`).toEqual([{ generation }]);
  });

  test("gets exactly one more job for events that arrive while one is due", async () => {
    await receive([["m1", { kind: "menu.updated" }]]);
    await drain();
    const before = (await jobs()).length;
    await Promise.all(Array.from({ length: 10 }, (_, n) => receive([[`m2-${n}`, { kind: "menu.updated" }]])));
    expect((await jobs()).length).toBe(before + 1);
  });

  test("is written by one transaction at a time, so that ids are in the order of commits", async () => {
    await receive([["m0", { kind: "menu.updated" }]]);
    await drain();
    const before = (await jobs()).length;
    let second: Promise<void> | undefined;
    await transaction(async (tx) => {
      await receivePosEvents(tx, [received("m1", { kind: "menu.updated" }, bakery)], "WAIT");
      second = receive([["m2", { kind: "menu.updated" }]]);
      expect(await endsBefore(second)).toBe(false);
    });
    await second;
    expect((await events()).map(({ eventId }) => eventId)).toEqual(["m0", "m1", "m2"]);
    expect((await jobs()).length).toBe(before + 1);
  });

  test("that is locked, or does not exist yet, is left out by those who do not wait, and the others are not", async () => {
    const [locked, missing] = [await openBakery(), await openBakery()];
    const change = { kind: "menu.updated" } as const;
    for (const each of [bakery, locked]) await receive([["m1", change]], each);
    const unlock = await lockRows((tx) => receivePosEvents(tx, [received("m2", change, locked)], "WAIT"));
    const given = [locked, missing, bakery, bakery].map((of, n) => received(`m3-${n}`, change, of));
    expect(await receivePosEvents(sql, given, "SKIP")).toEqual([{ partnerId: bakery.id, added: 2 }]);
    expect(await receivePosEvents(sql, given.slice(2), "SKIP")).toEqual([{ partnerId: bakery.id, added: 0 }]);
    await unlock();
    expect((await events()).map(({ eventId }) => eventId)).toEqual(["m1", "m3-2", "m3-3"]);
    expect((await events(locked.id)).map(({ eventId }) => eventId)).toEqual(["m1", "m2"]);
    expect(await events(missing.id)).toEqual([]);
  });

  describe.each(["WAIT", "SKIP"] as const)("whose job starts while an event arrives (%s)", (waits) => {
    const change = { kind: "menu.updated" } as const;
    const undone = () => jobs().then((all) => all.length);

    test("before the event is stored: another job will apply it", async () => {
      await receive([["m1", change]]);
      const start = await lockRows((tx) => clearInboxJob(tx, bakery.id));
      const arrival = [received("m2", change, bakery)];
      const storing = receivePosEvents(sql, arrival, waits);
      if (waits === "SKIP") expect(await storing).toEqual([]);
      else expect(await endsBefore(storing)).toBe(false);
      await start();
      if (waits === "SKIP") await receivePosEvents(sql, arrival, waits);
      await storing;
      expect(await undone()).toBe(2);
    });

    test("after the event was stored and before its commit: it waits, and applies it", async () => {
      await receive([["m1", change]]);
      const commit = await lockRows((tx) => receivePosEvents(tx, [received("m2", change, bakery)], waits));
      const work = drain();
      expect(await endsBefore(work)).toBe(false);
      await commit();
      await work;
      expect((await events()).map(({ status }) => status)).toEqual(["PROCESSED", "PROCESSED"]);
      expect(await undone()).toBe(1);
    });

    test("after the event's commit: it applies it", async () => {
      await receive([["m1", change]]);
      await receivePosEvents(sql, [received("m2", change, bakery)], waits);
      await drain();
      expect((await events()).map(({ status }) => status)).toEqual(["PROCESSED", "PROCESSED"]);
      expect(await undone()).toBe(1);
    });

    test("and has found the inbox empty: another job will apply it", async () => {
      await receive([["m1", change]]);
      await drain();
      // the job has not been marked done yet
      await receivePosEvents(sql, [received("m2", change, bakery)], waits);
      expect(await undone()).toBe(2);
    });
  });

  test("of one partner does not block another's", async () => {
    const other = await openBakery();
    const restore = await breakOrders();
    try {
      await receive([["order-1", rolls()]]);
      await drain();
    } finally {
      await restore();
    }
    await receive([["order-1", rolls()]], other);
    await drain(other);
    expect(await orders(other.id)).toHaveLength(1);
  });

  const endJobs = (how: "dead" | "purged") =>
    how === "dead"
      ? sql`update staged_jobs set dead_at = now() where payload ->> 'partnerId' = ${bakery.id} and done_at is null`
      : sql`delete from staged_jobs where payload ->> 'partnerId' = ${bakery.id}`;

  test.each(["dead", "purged"] as const)(
    "whose job is %s gets a new one when an event is delivered again",
    async (how) => {
      await receive([["order-1", rolls()]]);
      await endJobs(how);
      await receive([["order-1", rolls()]]);
      const found = (await jobs()).filter(({ dead }) => !dead);
      expect(found).toMatchObject([{ eventId: null, due: true }]);
      // one job is enough, and processed events need none
      await receive([["order-1", rolls()]]);
      await drain();
      expect(await orders()).toHaveLength(1);
      await endJobs(how);
      await receive([["order-1", rolls()]]);
      expect((await jobs()).filter(({ dead }) => !dead)).toEqual([]);
    },
  );

  test.each(["dead", "purged"] as const)("whose job is %s gets a new one from upkeep, once", async (how) => {
    await receive([["order-1", rolls()]]);
    const alive = async () => (await jobs()).filter(({ dead }) => !dead);
    await sql`update pos_events set next_attempt_at = now() - interval '2 minutes' where partner_id = ${bakery.id}::uuid`;
    await rescheduleStalledInboxes(sql, 1_000);
    expect(await alive()).toHaveLength(1);
    await endJobs(how);
    // the inbox may have been processed when the job ended
    await sql`update pos_inboxes set job_id = null where partner_id = ${bakery.id}::uuid and ${how === "dead"}`;
    await sql`update pos_events set next_attempt_at = now() where partner_id = ${bakery.id}::uuid`;
    await rescheduleStalledInboxes(sql, 1_000);
    expect(await alive()).toEqual([]);
    await sql`update pos_events set next_attempt_at = now() - interval '2 minutes' where partner_id = ${bakery.id}::uuid`;
    await Promise.all([rescheduleStalledInboxes(sql, 1_000), rescheduleStalledInboxes(sql, 1_000)]);
    expect(await alive()).toMatchObject([{ eventId: null, due: true }]);
    await drain();
    expect(await orders()).toHaveLength(1);
  });

  test("that waits for a failing event is due at once when another is replayed, but not when one arrives", async () => {
    const ofInbox = async () => (await jobs()).filter(({ eventId }) => eventId === null);
    await receive([["order-0", rolls({ items: [] })]]);
    await drain();
    await sql`update staged_jobs set done_at = now() where payload ->> 'partnerId' = ${bakery.id}`;
    const restore = await breakOrders();
    try {
      await receive([["order-1", rolls()]]);
      await sql`update staged_jobs set done_at = now() where payload ->> 'partnerId' = ${bakery.id}`;
      await drain();
      await receive([["m1", { kind: "menu.updated" }]]);
      expect(await ofInbox()).toMatchObject([{ due: false }]);
    } finally {
      await restore();
    }
    const [parked] = await events();
    await admin.client.post(`/api/v1/admin/pos/events/${parked!.id}/replay`);
    expect(await ofInbox()).toMatchObject([{ due: true }]);
    expect(
      (
        await sql`
          select from staged_jobs
          where payload ->> 'partnerId' = ${bakery.id} and done_at is null and next_send_at <= now()`
      ).count,
    ).toBe(1);
  });

  test("parks events that it cannot read", async () => {
    await receive([["m1", { kind: "menu.updated" }]]);
    await sql`update pos_events set change = '{"kind": "order.teleported"}' where partner_id = ${bakery.id}::uuid`;
    await drain();
    expect(await events()).toMatchObject([{ status: "PARKED", lastError: "the event has an unknown form" }]);
  });

  test("deletes processed events after 30 days, also when they were replayed since", async () => {
    await receive([
      ["old", { kind: "menu.updated" }],
      ["new", { kind: "menu.updated" }],
    ]);
    await drain();
    await receive([["waiting", { kind: "menu.updated" }]]);
    await sql`update pos_events set received_at = now() - interval '31 days' where partner_id = ${bakery.id}::uuid and event_id <> 'new'`;
    expect(await deleteOldPosEvents(sql, 100)).toBe(1);
    expect(await events()).toMatchObject([{ eventId: "new" }, { eventId: "waiting" }]);
  });
});
