import { randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { PosChange } from "../../lib/pos/adapter.js";
import { sql } from "../../sql/db.js";
import { eraseCounterAddresses } from "../../sql/queries/pos-orders.js";
import { fanOutEvent } from "../../workers/fan-out.js";
import * as cast from "../support/cast.js";
import { task } from "../support/task.js";
import { api, admin, bakery, receive, drain, events, orders, syncs, rolls, moved } from "../support/pos-inbox.js";

describe("an order from the POS", () => {
  test("becomes an order with items, events, commission and a staged job, like one from the app", async () => {
    await receive([
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

  test("is created once, also when its event gets another id or its key has expired", async () => {
    await receive([["order-1", rolls()]]);
    await drain();
    await sql`delete from pos_events where partner_id = ${bakery.id}::uuid`;
    await sql`delete from idempotency_keys`;
    await receive([["order-1", rolls()]]);
    await drain();
    expect(await orders()).toHaveLength(1);
    expect(await events()).toMatchObject([{ status: "PROCESSED" }]);
  });

  test("is identified by its own number, with or without the event type as prefix", async () => {
    await receive([
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

  test("of a partner's next till, which counts from 1 again, is another order, also of the same customer", async () => {
    const { id, phone } = await cast.user(api.client);
    await receive([["order.created:1", rolls({ customerPhone: phone })]]);
    const tea = { items: [{ externalId: "tea", qty: 1 }], totalMinor: 4_550, customerPhone: phone };
    for (let n = 0; n < 2; n += 1) {
      await receive([["order.created:1", rolls(tea)]], bakery, "next till");
      await drain();
    }
    expect((await events()).map(({ status }) => status)).toEqual(["PROCESSED", "PROCESSED"]);
    expect(await orders()).toMatchObject([
      { userId: id, total: 12_000 },
      { userId: id, total: 4_550 },
    ]);
  });

  test("is known by its account and its number, whatever blanks they have", async () => {
    const { phone } = await cast.user(api.client);
    for (const [account, number] of [
      ["till", "1 2"],
      ["till 1", "2"],
    ] as const) {
      await receive([[number, rolls({ customerPhone: phone })]], bakery, account);
      await drain();
    }
    expect((await events()).map(({ status }) => status)).toEqual(["PROCESSED", "PROCESSED"]);
    expect(await orders()).toHaveLength(2);
  });

  test("belongs to the account with its phone in any spelling; no account is created", async () => {
    const anna = await cast.user(api.client);
    const digits = anna.phone.slice(2);
    const newcomer = cast.newPhone();
    await receive([
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
    expect(key?.key).toBe(`pos generic ${bakery.id} ["${bakery.id}","order-1"]`);
  });

  test("belongs to no account past 10 a day for one phone", async () => {
    const anna = await cast.user(api.client);
    const orderOf = (n: number): [string, PosChange] => [`order-${n}`, rolls({ customerPhone: anna.phone })];
    await receive(Array.from({ length: 12 }, (_, n) => orderOf(n)));
    await drain();
    const owners = (await orders()).map(({ userId }) => userId);
    expect(owners).toEqual([...Array<string>(10).fill(anna.id), null, null]);
    await sql`update orders set created_at = created_at - interval '1 day' where user_id = ${anna.id}::uuid`;
    await receive([orderOf(12)]);
    await drain();
    expect((await orders()).filter(({ userId }) => userId === anna.id)).toHaveLength(11);
  });

  test("is declined by the holder of its phone, who then gets no more from this partner's POS", async () => {
    const anna = await cast.user(api.client);
    await receive([["order-1", rolls({ customerPhone: anna.phone })]]);
    await drain();
    const [order] = await orders();
    await fanOutEvent(task({ event: "ORDER_PLACED" as const, subjectId: order!.id, after: null }));
    await anna.client.post("/api/v1/reviews", { orderId: order!.id, rating: 1, text: "Не мой" });
    const path = `/api/v1/orders/${order!.id}`;
    expect((await (await cast.user(api.client)).client.post(`${path}/decline`)).status).toBe(404);
    const replies = await Promise.all(Array.from({ length: 5 }, () => anna.client.post(`${path}/decline`)));
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404, 404]);
    expect((await anna.client.get(path)).status).toBe(404);
    expect((await anna.client.get("/api/v1/notifications")).list).toEqual([]);
    expect((await api.client.get(`/api/v1/reviews/partners/${bakery.id}`)).list).toEqual([]);
    expect((await bakery.owner.client.get(path)).status).toBe(200);

    await receive([["order-2", rolls({ customerPhone: anna.phone })]]);
    await drain();
    expect((await orders()).map(({ userId }) => userId)).toEqual([null, null]);
  });

  test("earns no points, since only the POS names the customer", async () => {
    const anna = await cast.user(api.client);
    await receive([
      ["order-1", rolls({ customerPhone: anna.phone })],
      ["status-1", moved("order-1", "COMPLETED")],
    ]);
    await drain();
    expect(await orders()).toMatchObject([{ userId: anna.id, status: "COMPLETED" }]);
    expect((await sql`select from loyalty_entries where user_id = ${anna.id}::uuid`).count).toBe(0);
  });

  test("keeps the address of a customer without an account for 30 days", async () => {
    await receive([["order-1", rolls({ address: "Secret street 1" })]]);
    await drain();
    const addresses = () => sql`select address from orders where partner_id = ${bakery.id}::uuid`;
    await eraseCounterAddresses(sql, 10);
    expect(await addresses()).toEqual([{ address: "Secret street 1" }]);
    await sql`update orders set created_at = now() - interval '31 days' where partner_id = ${bakery.id}::uuid`;
    await eraseCounterAddresses(sql, 10);
    expect(await addresses()).toEqual([{ address: null }]);
  });

  test("of a customer without an account is completed without points", async () => {
    await receive([
      ["order-1", rolls()],
      ["status-1", moved("order-1", "COMPLETED")],
    ]);
    await drain();
    const [order] = await orders();
    expect(order).toMatchObject({ userId: null, status: "COMPLETED" });
    expect((await sql`select from loyalty_entries where order_id = ${order!.id}::uuid`).count).toBe(0);
  });

  test("notifies its customer, but not the partner, whose POS created it", async () => {
    const anna = await cast.user(api.client);
    await receive([
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

  test("may contain an item that is sold out", async () => {
    await receive([
      ["a1", { kind: "item.availability", items: [{ externalId: "roll", available: false }] }],
      ["order-1", rolls()],
    ]);
    await drain();
    expect(await orders()).toMatchObject([{ status: "ACCEPTED", total: 12_000 }]);
  });

  test("does not use the customer's promo, since the payment was made without it", async () => {
    const anna = await cast.user(api.client);
    const code = `ROLL-${randomUUID().slice(0, 8).toUpperCase()}`;
    await admin.client.post("/api/v1/admin/promo/create", { code, discountPercent: 10 });
    await anna.client.post("/api/v1/loyalty/promo/apply", { code, orderAmount: 120 });
    await receive([["order-1", rolls({ customerPhone: anna.phone })]]);
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
    "%s is parked with the reason, and does not block the next event",
    async (_what, change, reason, needsMenu) => {
      const phone = cast.newPhone();
      await receive([
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
    await receive([["order-1", rolls()]]);
    await drain();
    expect(await events()).toMatchObject([
      { status: "PARKED", lastError: "the partner does not take orders at the moment" },
    ]);
  });
});
