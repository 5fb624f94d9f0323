import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { PosChange } from "../../lib/pos/adapter.js";
import { sql } from "../../sql/db.js";
import { findNextPosEvent, parkPosEvent, updatePosEventFailed } from "../../sql/queries/pos-events.js";
import { applyPosEvents } from "../../workers/pos-events.js";
import * as cast from "../support/cast.js";
import { task } from "../support/task.js";
import { bakery, openBakery, receive, drain, events, orders, jobs, rolls, moved } from "../support/pos-inbox.js";
import { sized } from "../support/size.js";

describe("a status from the POS", () => {
  test("moves its order as the partner could; late and disallowed moves have no effect", async () => {
    await receive([
      ["order-1", rolls()],
      ["s1", moved("order-1", "ACCEPTED")],
      ["s2", moved("order-1", "ready")],
      ["s3", moved("order-1", "COMPLETED")],
      ["s4", moved("order-1", "READY")],
      ["s5", moved("order-1", "CANCELLED")],
      ["s6", moved("order-1", "NO_SHOW")],
    ]);
    await drain();
    expect((await events()).map(({ status }) => status)).toEqual(Array.from({ length: 7 }, () => "PROCESSED"));
    const [order] = await orders();
    expect(order?.status).toBe("COMPLETED");
    expect(
      await sql`
        select actor_role::text as by, actor_id as "actorId", to_status::text as "to" from order_events
        where order_id = ${order!.id}::uuid order by position`,
    ).toEqual([
      { by: "CUSTOMER", actorId: null, to: "ACCEPTED" },
      { by: "PARTNER", actorId: null, to: "READY" },
      { by: "PARTNER", actorId: null, to: "COMPLETED" },
    ]);
  });

  test("that is unknown is parked", async () => {
    await receive([
      ["order-1", rolls()],
      ["s1", moved("order-1", "COOKING")],
    ]);
    await drain();
    expect(await events()).toMatchObject([{}, { status: "PARKED", lastError: "orders do not have this status" }]);
  });

  test("that arrives before its order waits for it without blocking other events", async () => {
    await receive([
      ["s1", moved("order-1", "COMPLETED")],
      ["s2", moved("order-2", "READY")],
      ["order-2", rolls()],
    ]);
    await drain();
    expect((await events()).map(({ status }) => status)).toEqual(["PARKED", "PROCESSED", "PROCESSED"]);
    expect(await orders()).toMatchObject([{ status: "READY" }]);
    await receive([["order-1", rolls()]]);
    await drain();
    expect((await orders()).map(({ status }) => status).sort()).toEqual(["COMPLETED", "READY"]);
    expect((await jobs()).filter(({ eventId }) => eventId !== null)).toEqual([]);
  });

  test("that arrives before its parked order is processed once the order is", async () => {
    await receive([
      ["s1", moved("order-1", "READY")],
      ["order-1", rolls({ items: [{ externalId: "caviar", qty: 1 }], totalMinor: 500 })],
    ]);
    await drain();
    expect((await events()).map(({ status }) => status)).toEqual(["PARKED", "PARKED"]);
    await cast.addMenuItem(bakery, { externalId: "caviar", price: 5 });
    const [, order] = await events();
    await sql`update staged_jobs set done_at = now() where queue = 'pos-events' and payload ->> 'partnerId' = ${bakery.id}`;
    await applyPosEvents(task({ eventId: order!.id }));
    // the retry stages a job, so that nothing else has to happen
    expect(await jobs()).toContainEqual({ id: expect.any(String), eventId: null, due: true, dead: false });
    await drain();
    expect(await orders()).toMatchObject([{ status: "READY" }]);
  });

  test.each([
    ["parked", parkPosEvent],
    ["delayed", updatePosEventFailed],
  ] as const)("that failed before its order arrived is not %s afterwards", async (_what, note) => {
    await receive([
      ["s1", moved("order-1", "COMPLETED")],
      ["order-1", rolls()],
    ]);
    const before = await findNextPosEvent(sql, bakery.id);
    // another worker parks it, creates the order, and queues it again
    await drain();
    await sql`update pos_events set status = 'QUEUED', settled_at = null, next_attempt_at = now() where id = ${before!.id}::bigint`;
    await note(sql, before!, "the order has not arrived", 3_600_000);
    expect(await events()).toMatchObject([{ status: "QUEUED", attempts: 0 }, {}]);
    expect((await findNextPosEvent(sql, bakery.id))?.dueInMs).toBe(0);
  });

  test("for another partner's order changes nothing", async () => {
    const other = await openBakery();
    await receive([["order-1", rolls()]], other);
    await drain(other);
    await receive([["s1", moved("order-1", "CANCELLED")]]);
    await drain();
    expect(await orders(other.id)).toMatchObject([{ status: "ACCEPTED" }]);
    expect(await events()).toMatchObject([{ status: "PARKED", lastError: "the order has not arrived" }]);
  });

  test("moves the order of its own account when the partner's former till has one with the same number", async () => {
    for (const account of ["former till", "next till"]) await receive([["1", rolls()]], bakery, account);
    await receive([["s1", moved("1", "READY")]], bakery, "next till");
    await receive([["s1", moved("1", "CANCELLED")]], bakery, "former till");
    await drain();
    expect((await orders()).map(({ status }) => status)).toEqual(["CANCELLED", "READY"]);
  });

  test("waits for the order of its own account, and not for another account's with the same number", async () => {
    await receive([["s1", moved("1", "READY")]], bakery, "next till");
    await drain();
    const [status] = await events();
    await expect(applyPosEvents(task({ eventId: status!.id }))).rejects.toThrow("the order has not arrived");
    await receive([["1", rolls()]], bakery, "former till");
    await drain();
    expect(await orders()).toMatchObject([{ status: "ACCEPTED" }]);
    expect(await events()).toMatchObject([{ status: "PARKED", attempts: 2 }, { status: "PROCESSED" }]);
    await receive([["1", rolls()]], bakery, "next till");
    await drain();
    expect((await orders()).map(({ status }) => status)).toEqual(["ACCEPTED", "READY"]);
  });

  test("delivered five times in any order leads to the same result", async () => {
    const lives = fc.constantFrom(
      ["READY", "COMPLETED"],
      ["COMPLETED"],
      ["READY", "CANCELLED"],
      ["CANCELLED"],
      ["READY"],
      [],
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(lives, { minLength: 1, maxLength: 3 }).chain((chosen) => {
          const changes = chosen.flatMap((life, n): (readonly [string, PosChange])[] => [
            [`order-${n}`, rolls()],
            ...life.map((status) => [`${status}-${n}`, moved(`order-${n}`, status)] as const),
          ]);
          const deliveries = Array.from({ length: 5 }, () => changes).flat();
          return fc.record({
            chosen: fc.constant(chosen),
            deliveries: fc.shuffledSubarray(deliveries, { minLength: deliveries.length }),
            drainAfter: fc.integer({ min: 1, max: 7 }),
          });
        }),
        async ({ chosen, deliveries, drainAfter }) => {
          const shop = await openBakery();
          for (let n = 0; n < deliveries.length; n += drainAfter) {
            await receive(deliveries.slice(n, n + drainAfter), shop);
            await drain(shop);
          }
          const ended = (await orders(shop.id)).map(({ status }) => status).sort();
          expect(ended).toEqual(chosen.map((life) => life.at(-1) ?? "ACCEPTED").sort());
          expect(new Set((await events(shop.id)).map(({ status }) => status))).toEqual(new Set(["PROCESSED"]));
        },
      ),
      { numRuns: sized(15, 3) },
    );
  });
});
