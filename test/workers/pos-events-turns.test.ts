import { describe, expect, test } from "@jest/globals";
import { Snooze } from "../../lib/process/errors.js";
import { sql, transaction } from "../../sql/db.js";
import { tryLockPosEvents } from "../../sql/queries/pos-events.js";
import { applyPosEvents } from "../../workers/pos-events.js";
import { bakery, drain, events, jobs, orders, receive, rolls } from "../support/pos-inbox.js";
import { task } from "../support/task.js";
import { until } from "../support/until.js";

describe("an inbox", () => {
  test("is processed by one worker at a time; others wait without a transaction, and no further job is staged", async () => {
    await receive([["order-1", rolls()]]);
    const before = (await jobs()).length;
    await transaction(async (tx) => {
      expect(await tryLockPosEvents(tx, bakery.id)).toBe(true);
      const others = Array.from({ length: 12 }, () => drain());
      const snoozed = others.map(() => ({ status: "rejected", reason: expect.any(Snooze) }));
      expect(await Promise.allSettled(others)).toEqual(snoozed);
      await receive([["order-2", rolls()]]);
    });
    expect((await jobs()).length).toBe(before);
    await drain();
    expect(await events()).toMatchObject([{ status: "PROCESSED" }, { status: "PROCESSED" }]);
  });

  test("keeps a parked event as it is while another worker has it", async () => {
    await receive([["order-1", rolls({ items: [{ externalId: "caviar", qty: 1 }], totalMinor: 500 })]]);
    await drain();
    const [parked] = await events();
    await transaction(async (tx) => {
      expect(await tryLockPosEvents(tx, bakery.id)).toBe(true);
      await expect(applyPosEvents(task({ eventId: parked!.id }))).rejects.toThrow(Snooze);
    });
    expect(await events()).toEqual([parked]);
  });

  test("is processed once and in order by concurrent workers", async () => {
    await receive(Array.from({ length: 20 }, (_, n) => [`order-${n}`, rolls()] as const));
    const inTurn = () =>
      until(() =>
        drain().catch((error: unknown) => {
          if (error instanceof Snooze) return false;
          throw error;
        }),
      );
    await Promise.all(Array.from({ length: 6 }, inTurn));
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
});
