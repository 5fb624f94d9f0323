import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { PosChange } from "../../lib/pos/adapter.js";
import { PermanentError } from "../../lib/process/errors.js";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { eraseCounterAddresses } from "../../sql/queries/pos-orders.js";
import {
  deleteOldPosEvents,
  findNextPosEvent,
  lockPosEvents,
  parkPosEvent,
  receivePosEvents,
  rescheduleStalledInboxes,
  updatePosEventFailed,
} from "../../sql/queries/pos-events.js";
import { archiveAbsentItems, lockPosCredentials } from "../../sql/queries/pos-syncs.js";
import { closeSignals } from "../../sql/signals.js";
import { fanOutEvent } from "../../workers/fan-out.js";
import { applyPosEvents } from "../../workers/pos-events.js";
import { startApi } from "../support/api.js";
import * as cast from "../support/cast.js";
import type { Bakery, Character } from "../support/cast.js";
import { task } from "../support/task.js";
import { until } from "../support/until.js";

let api: Awaited<ReturnType<typeof startApi>>;
let admin: Character;
let bakery: Bakery;

beforeAll(async () => {
  api = await startApi();
  admin = await cast.admin(api.client);
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

beforeEach(async () => {
  bakery = await openBakery();
});

/** A bakery with a POS and its rolls. */
async function openBakery(): Promise<Bakery> {
  const opened = await cast.bakery(api.client);
  await cast.addMenuItem(opened, { externalId: "roll", price: 60 });
  await cast.addMenuItem(opened, { externalId: "tea", price: 45.5 });
  await sql`update menu_items set source = 'POS' where partner_id = ${opened.id}::uuid`;
  await sql`
    insert into pos_credentials (partner_id, adapter, account, sealed, next_sync_at)
    values (${opened.id}::uuid, 'generic', ${randomUUID()}, 'sealed', now() + interval '1 hour')`;
  return opened;
}

/** The POS tells these, one after the other. */
async function tell(changes: readonly (readonly [eventId: string, change: PosChange])[], of = bakery): Promise<void> {
  for (const [eventId, change] of changes)
    await receivePosEvents(sql, "generic", [{ partnerId: of.id, account: of.id, eventId, change }], randomUUID());
}

const drain = async ({ id: partnerId } = bakery) => {
  const work = task({ partnerId });
  await applyPosEvents(work);
  return work;
};

const events = (partnerId = bakery.id) =>
  sql<{ id: number; eventId: string; status: string; lastError: string | null; attempts: number }[]>`
    select id, event_id as "eventId", status::text, last_error as "lastError", attempts
    from pos_events where partner_id = ${partnerId}::uuid order by id`;

interface Order {
  id: string;
  userId: string | null;
  status: string;
  total: number;
  discount: number;
  address: string | null;
}

const orders = (partnerId = bakery.id) =>
  sql<Order[]>`
    select id, user_id as "userId", status::text, total_minor as total, discount_minor as discount, address
    from orders where partner_id = ${partnerId}::uuid order by id`;

const jobs = (partnerId = bakery.id) =>
  sql<{ id: string; eventId: string | null; due: boolean; dead: boolean }[]>`
    select id::text, payload ->> 'eventId' as "eventId", run_at <= now() as due, dead_at is not null as dead
    from staged_jobs
    where queue = 'pos-events' and done_at is null and (
      payload ->> 'partnerId' = ${partnerId}
      or (payload ->> 'eventId')::bigint in (select id from pos_events where partner_id = ${partnerId}::uuid)
    )
    order by id`;

const syncs = async () => (await sql`select from pos_syncs where partner_id = ${bakery.id}::uuid`).count;

const rolls = (fields: Partial<Extract<PosChange, { kind: "order.created" }>> = {}): PosChange => ({
  kind: "order.created",
  items: [{ externalId: "roll", qty: 2 }],
  totalMinor: 12_000,
  customerPhone: null,
  address: null,
  ...fields,
});

const moved = (orderExternalId: string, status: string): PosChange => ({
  kind: "order.status",
  orderExternalId,
  status,
});

/** Whether the work ends before this is held no more, or waits for it. */
const endsBefore = async (work: Promise<unknown>): Promise<boolean> => {
  let ended = false;
  void work.then(() => (ended = true));
  await until(async () => ended || (await sql`select from pg_locks where not granted`).count > 0);
  return ended;
};

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

describe("a status of the POS", () => {
  test("moves its order as the partner could; what is too late or not a move means nothing", async () => {
    await tell([
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

  test("that orders do not have is parked", async () => {
    await tell([
      ["order-1", rolls()],
      ["s1", moved("order-1", "COOKING")],
    ]);
    await drain();
    expect(await events()).toMatchObject([{}, { status: "PARKED", lastError: "orders do not have this status" }]);
  });

  test("that comes before its order waits for it, and holds up nothing", async () => {
    await tell([
      ["s1", moved("order-1", "COMPLETED")],
      ["s2", moved("order-2", "READY")],
      ["order-2", rolls()],
    ]);
    await drain();
    expect((await events()).map(({ status }) => status)).toEqual(["PARKED", "PROCESSED", "PROCESSED"]);
    expect(await orders()).toMatchObject([{ status: "READY" }]);
    await tell([["order-1", rolls()]]);
    await drain();
    expect((await orders()).map(({ status }) => status).sort()).toEqual(["COMPLETED", "READY"]);
    expect((await jobs()).filter(({ eventId }) => eventId !== null)).toEqual([]);
  });

  test("that comes before its order, which is parked itself, is worked off once that one is", async () => {
    await tell([
      ["s1", moved("order-1", "READY")],
      ["order-1", rolls({ items: [{ externalId: "caviar", qty: 1 }], totalMinor: 500 })],
    ]);
    await drain();
    expect((await events()).map(({ status }) => status)).toEqual(["PARKED", "PARKED"]);
    await cast.addMenuItem(bakery, { externalId: "caviar", price: 5 });
    const [, order] = await events();
    await sql`update staged_jobs set done_at = now() where queue = 'pos-events' and payload ->> 'partnerId' = ${bakery.id}`;
    await applyPosEvents(task({ eventId: order!.id }));
    // a job looks for it, and nothing else has to happen
    expect(await jobs()).toContainEqual({ id: expect.any(String), eventId: null, due: true, dead: false });
    await drain();
    expect(await orders()).toMatchObject([{ status: "READY" }]);
  });

  test.each([
    ["parked", parkPosEvent],
    ["tried later", updatePosEventFailed],
  ] as const)("that failed before its order came in is not %s after it did", async (_what, note) => {
    await tell([
      ["s1", moved("order-1", "COMPLETED")],
      ["order-1", rolls()],
    ]);
    const before = await findNextPosEvent(sql, bakery.id);
    // another one parks the same, makes the order, and puts it back
    await drain();
    await sql`update pos_events set status = 'QUEUED', settled_at = null, next_try_at = now() where id = ${before!.id}::bigint`;
    await note(sql, before!, "the order has not arrived", 3_600_000);
    expect(await events()).toMatchObject([{ status: "QUEUED", attempts: 0 }, {}]);
    expect((await findNextPosEvent(sql, bakery.id))?.dueInMs).toBe(0);
  });

  test("of another partner's order moves nothing", async () => {
    const other = await openBakery();
    await tell([["order-1", rolls()]], other);
    await drain(other);
    await tell([["s1", moved("order-1", "CANCELLED")]]);
    await drain();
    expect(await orders(other.id)).toMatchObject([{ status: "ACCEPTED" }]);
    expect(await events()).toMatchObject([{ status: "PARKED", lastError: "the order has not arrived" }]);
  });

  test("in any order of delivery, each five times, leads to the same end", async () => {
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
          const told = chosen.flatMap((life, n): (readonly [string, PosChange])[] => [
            [`order-${n}`, rolls()],
            ...life.map((status) => [`${status}-${n}`, moved(`order-${n}`, status)] as const),
          ]);
          const deliveries = Array.from({ length: 5 }, () => told).flat();
          return fc.record({
            chosen: fc.constant(chosen),
            deliveries: fc.shuffledSubarray(deliveries, { minLength: deliveries.length }),
            drainAfter: fc.integer({ min: 1, max: 7 }),
          });
        }),
        async ({ chosen, deliveries, drainAfter }) => {
          const shop = await openBakery();
          for (let n = 0; n < deliveries.length; n += drainAfter) {
            await tell(deliveries.slice(n, n + drainAfter), shop);
            await drain(shop);
          }
          const ended = (await orders(shop.id)).map(({ status }) => status).sort();
          expect(ended).toEqual(chosen.map((life) => life.at(-1) ?? "ACCEPTED").sort());
          expect(new Set((await events(shop.id)).map(({ status }) => status))).toEqual(new Set(["PROCESSED"]));
        },
      ),
      { numRuns: 15 },
    );
  });
});

describe("what can be had", () => {
  const availability = (partnerId = bakery.id) =>
    sql`select external_id as id, available from menu_items where partner_id = ${partnerId}::uuid order by external_id`;
  const items = (...told: [string, boolean][]): PosChange => ({
    kind: "item.availability",
    items: told.map(([externalId, available]) => ({ externalId, available })),
  });

  test("is as the POS says, the last word counting", async () => {
    const other = await openBakery();
    await tell([["a1", items(["roll", false], ["tea", false], ["tea", true])]]);
    await drain();
    expect(await availability()).toEqual([
      { id: "roll", available: false },
      { id: "tea", available: true },
    ]);
    expect(await availability(other.id)).toEqual([
      { id: "roll", available: true },
      { id: "tea", available: true },
    ]);
  });

  test("is asked of the POS as well, once, however often it tells: what it tells may be late", async () => {
    await tell([
      ["a1", items(["roll", true])],
      ["a2", items(["roll", false])],
    ]);
    await drain();
    expect(await syncs()).toBe(1);
    expect(
      await sql`
        select s.start_at > s.created_at as later, j.run_at = s.start_at as "so is its job"
        from pos_syncs s join staged_jobs j on j.id = s.job_id where s.partner_id = ${bakery.id}::uuid`,
    ).toEqual([{ later: true, "so is its job": true }]);
  });

  test("is said while a sync ends: they take turns, and neither stands in the other's way", async () => {
    await tell([["a1", items(["roll", false])]]);
    let work: Promise<unknown> | undefined;
    await transaction(async (tx) => {
      await lockPosCredentials(tx, bakery.id);
      work = drain();
      expect(await endsBefore(work)).toBe(false);
      await archiveAbsentItems(tx, bakery.id, ["tea"]);
    });
    await work;
    expect(await events()).toMatchObject([{ status: "PROCESSED", attempts: 0 }]);
    expect(await availability()).toMatchObject([{ id: "roll", available: false }, {}]);
  });

  test("of an item that was made by hand is not the POS's to say", async () => {
    await sql`update menu_items set source = 'MANUAL' where partner_id = ${bakery.id}::uuid and external_id = 'tea'`;
    await tell([["a1", items(["tea", false])]]);
    await drain();
    expect(await availability()).toMatchObject([{}, { id: "tea", available: true }]);
  });

  test("of items that the menu does not have from the POS is said on the event, for admins", async () => {
    await sql`update menu_items set source = 'MANUAL' where partner_id = ${bakery.id}::uuid and external_id = 'tea'`;
    await tell([
      ["a1", items(["roll", false])],
      ["a2", items(["roll", false], ["caviar", true], ["tea", false])],
    ]);
    await drain();
    expect(await events()).toMatchObject([
      { status: "PROCESSED", lastError: null },
      {
        status: "PROCESSED",
        lastError: "2 of 3 items are not in the menu from the POS",
      },
    ]);
    const { list } = await admin.client.get("/api/v1/admin/pos/events?status=PROCESSED&limit=1");
    expect(list).toMatchObject([{ eventId: "a2", reason: expect.stringMatching(/^2 of 3 items/) }]);
    await sql`update menu_items set archived_at = now() where partner_id = ${bakery.id}::uuid`;
    await tell([["a3", items(["roll", true])]]);
    await drain();
    expect((await events()).at(-1)?.lastError).toMatch(/^1 of 1 items/);
  });

  test("of an item that the menu does not have leads to one sync, however often it is told", async () => {
    await tell([
      ["a1", items(["caviar", true])],
      ["a2", items(["caviar", false])],
      ["m1", { kind: "menu.updated" }],
    ]);
    await drain();
    expect((await events()).map(({ status }) => status)).toEqual(["PROCESSED", "PROCESSED", "PROCESSED"]);
    expect(await syncs()).toBe(1);
  });
});

test("the menu of a partner that is suspended is not read again, which is said on the event", async () => {
  await sql`update partners set status = 'SUSPENDED' where id = ${bakery.id}::uuid`;
  await tell([["m1", { kind: "menu.updated" }]]);
  await drain();
  expect(await events()).toMatchObject([
    { status: "PROCESSED", lastError: "the partner is suspended or rejected, and its menu is not read" },
  ]);
  expect(await syncs()).toBe(0);
});

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
