import { randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { PosChange } from "../../lib/pos/adapter.js";
import { sql } from "../../sql/db.js";
import { eraseCounterAddresses } from "../../sql/queries/pos-orders.js";
import { fanOutEvent } from "../../workers/fan-out.js";
import * as cast from "../support/cast.js";
import { task } from "../support/task.js";
import { api, admin, bakery, tell, drain, events, orders, syncs, rolls, moved } from "../support/pos-inbox.js";

describe("an order of the POS", () => {
  test("becomes an order with its items, as those from the app: events, commission and the job that tells of it", async () => {
    await tell([
      [
        "order-1",
        rolls({
          items: [
            { externalId: "roll", qty: 1 },
            { externalId: "tea", qty: 2 },
            { externalId: "roll", qty: 1 },
          ],
          totalMinor: 21_100,
          address: "Стол 5",
        }),
      ],
    ]);
    await drain();
    expect(await events()).toMatchObject([{ status: "PROCESSED", lastError: null }]);
    const [order] = await orders();
    expect(order).toMatchObject({ status: "ACCEPTED", total: 21_100, address: "Стол 5" });
    expect(
      await sql`select name, qty from order_items where order_id = ${order!.id}::uuid order by qty, name`,
    ).toHaveLength(2);
    expect(await sql`select commission_minor as commission from orders where id = ${order!.id}::uuid`).toEqual([
      { commission: 3_165 },
    ]);
    expect(
      (await sql`select from staged_jobs where queue = 'fan-out' and payload ->> 'subjectId' = ${order!.id}`).count,
    ).toBe(1);
    const { list } = await bakery.owner.client.get("/api/v1/partners/me/orders");
    expect(list).toMatchObject([{ orderId: order!.id, status: "ACCEPTED", pickupCode: null }]);
  });

  test("is made once, also when it is told again under another number of ours or after its key is free", async () => {
    await tell([["order-1", rolls()]]);
    await drain();
    await sql`delete from pos_events where partner_id = ${bakery.id}::uuid`;
    await sql`delete from idempotency_keys`;
    await tell([["order-1", rolls()]]);
    await drain();
    expect(await orders()).toHaveLength(1);
    expect(await events()).toMatchObject([{ status: "PROCESSED" }]);
  });

  test("is known by its own number, whether the event's has its type before it or not", async () => {
    await tell([
      ["order.created:order-1", rolls()],
      ["s1", moved("order-1", "READY")],
      ["order-1", rolls()],
      ["order.created:order.created:order-1", rolls()],
      ["s2", moved("order.created:order-1", "COMPLETED")],
    ]);
    await drain();
    expect((await events()).map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => "PROCESSED"));
    expect((await orders()).map(({ status }) => status)).toEqual(["READY", "COMPLETED"]);
  });

  test("is of whoever has an account with the phone, however that is written; no account is made", async () => {
    const anna = await cast.user(api.client);
    const digits = anna.phone.slice(2);
    const newcomer = cast.newPhone();
    await tell([
      ["order-1", rolls({ customerPhone: `8 (${digits.slice(0, 3)}) ${digits.slice(3)}` })],
      ["order-2", rolls({ customerPhone: newcomer })],
      ["order-3", rolls({ customerPhone: newcomer })],
      ["order-4", rolls({ customerPhone: "call me" })],
    ]);
    await drain();
    expect((await sql`select from users where phone = ${newcomer}`).count).toBe(0);
    expect((await orders()).map(({ userId }) => userId)).toEqual([anna.id, null, null, null]);
    expect((await anna.client.get("/api/v1/orders")).list).toHaveLength(1);
    const [key] = await sql<{ key: string }[]>`select key from idempotency_keys where user_id = ${anna.id}::uuid`;
    expect(key?.key).toBe(`pos generic ${bakery.id} order-1`);
  });

  test("earns its customer nothing, since only the till says who it was", async () => {
    const anna = await cast.user(api.client);
    await tell([
      ["order-1", rolls({ customerPhone: anna.phone })],
      ["status-1", moved("order-1", "COMPLETED")],
    ]);
    await drain();
    expect(await orders()).toMatchObject([{ userId: anna.id, status: "COMPLETED" }]);
    expect((await sql`select from loyalty_entries where user_id = ${anna.id}::uuid`).count).toBe(0);
  });

  test("keeps the address of a customer whom nobody knows for 30 days", async () => {
    await tell([["order-1", rolls({ address: "Secret street 1" })]]);
    await drain();
    const addresses = () => sql`select address from orders where partner_id = ${bakery.id}::uuid`;
    await eraseCounterAddresses(sql, 10);
    expect(await addresses()).toEqual([{ address: "Secret street 1" }]);
    await sql`update orders set created_at = now() - interval '31 days' where partner_id = ${bakery.id}::uuid`;
    await eraseCounterAddresses(sql, 10);
    expect(await addresses()).toEqual([{ address: null }]);
  });

  test("of someone whom nobody knows is completed without points for anyone", async () => {
    await tell([
      ["order-1", rolls()],
      ["status-1", moved("order-1", "COMPLETED")],
    ]);
    await drain();
    const [order] = await orders();
    expect(order).toMatchObject({ userId: null, status: "COMPLETED" });
    expect((await sql`select from loyalty_entries where order_id = ${order!.id}::uuid`).count).toBe(0);
  });

  test("is told to its customer, and not to the partner, whose till made it", async () => {
    const anna = await cast.user(api.client);
    await tell([
      ["order-1", rolls()],
      ["order-2", rolls({ customerPhone: anna.phone })],
    ]);
    await drain();
    for (const { id } of await orders())
      await fanOutEvent(task({ event: "ORDER_PLACED" as const, subjectId: id, after: null }));
    expect(
      await sql`select user_id as "userId", kind from notifications where partner_id = ${bakery.id}::uuid`,
    ).toEqual([{ userId: anna.id, kind: "ORDER_ACCEPTED" }]);
  });

  test("is one of what was sold out by it, too", async () => {
    await tell([
      ["a1", { kind: "item.availability", items: [{ externalId: "roll", available: false }] }],
      ["order-1", rolls()],
    ]);
    await drain();
    expect(await orders()).toMatchObject([{ status: "ACCEPTED", total: 12_000 }]);
  });

  test("leaves the customer's promo alone: the money was taken without it", async () => {
    const anna = await cast.user(api.client);
    const code = `ROLL-${randomUUID().slice(0, 8).toUpperCase()}`;
    await admin.client.post("/api/v1/admin/promo/create", { code, discountPercent: 10 });
    await anna.client.post("/api/v1/loyalty/promo/apply", { code, orderAmount: 120 });
    await tell([["order-1", rolls({ customerPhone: anna.phone })]]);
    await drain();
    expect(await orders()).toMatchObject([{ total: 12_000, discount: 0 }]);
    expect((await sql`select from promo_attachments where user_id = ${anna.id}::uuid`).count).toBe(1);
  });

  const unfit: [string, PosChange, string, boolean][] = [
    [
      "whose total is not the menu's",
      rolls({ totalMinor: 11_999 }),
      "the total is not the sum of the menu's prices",
      true,
    ],
    [
      "of items that the menu does not have",
      rolls({ items: [{ externalId: "caviar", qty: 1 }] }),
      "the menu does not have some of the items",
      true,
    ],
    [
      "whose total is more than any order's",
      rolls({ totalMinor: 1_000_000_001 }),
      "an order comes to 10000000 at most",
      false,
    ],
    ["of nothing", rolls({ items: [] }), "an order has 1 to 50 items", false],
    [
      "of too many",
      rolls({
        items: [
          { externalId: "roll", qty: 60 },
          { externalId: "roll", qty: 41 },
        ],
      }),
      "an order has 1 to 100 of an item",
      false,
    ],
    ["of less than one", rolls({ items: [{ externalId: "roll", qty: 0 }] }), "an order has 1 to 100 of an item", false],
  ];

  test.each(unfit)(
    "%s is parked with the reason, and what comes after it is not",
    async (_what, change, reason, needsMenu) => {
      const phone = cast.newPhone();
      await tell([
        ["order-1", { ...change, customerPhone: phone } as PosChange],
        ["order-2", rolls()],
      ]);
      await drain();
      expect(await events()).toMatchObject([
        { status: "PARKED", lastError: reason, attempts: 1 },
        { status: "PROCESSED", lastError: null },
      ]);
      expect(await orders()).toHaveLength(1);
      expect((await sql`select from users where phone = ${phone}`).count).toBe(0);
      expect(await syncs()).toBe(needsMenu ? 1 : 0);
    },
  );

  test("of a partner that is not active is parked", async () => {
    await sql`update partners set status = 'SUSPENDED' where id = ${bakery.id}::uuid`;
    await tell([["order-1", rolls()]]);
    await drain();
    expect(await events()).toMatchObject([
      { status: "PARKED", lastError: "the partner does not take orders at the moment" },
    ]);
  });
});
