import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "csv-parse/sync";
import { addDays, dayOf } from "../../../../lib/domain/days.js";
import { statements } from "../../../../queues/index.js";
import { sql } from "../../../../sql/db.js";
import { makeDueStatements } from "../../../../workers/ledger.js";
import { writeStatement } from "../../../../workers/statements.js";
import { outcome, startApi, type Client } from "../../../support/api.js";
import { admin, bakery, join, user, type Bakery, type Character } from "../../../support/cast.js";
import { newKinds, newNotifications, runEvents } from "../../../support/events.js";
import { book, linesOf, openLedgerFrom, sell, sumOf } from "../../../support/ledger.js";
import { makeReachable } from "../../../support/notifications.js";
import { disconnect, startQueueWorker } from "../../../support/queue-worker.js";
import { task } from "../../../support/task.js";
import { until } from "../../../support/until.js";

const admins = "/api/v1/admin/settlements";
const own = "/api/v1/partners/me/statements";
const HOUR_MS = 3_600_000;

let client: Client;
let stop: () => Promise<void>;
let boss: Character;
/** The first day of last month, and of the one before. */
let last: string;
let before: string;

beforeAll(async () => {
  ({ client, stop } = await startApi());
  boss = await admin(client);
  const [months] = await sql<{ last: string; before: string }[]>`
    select (month_of(now(), 'Europe/Moscow') - interval '1 month')::date::text as last,
           (month_of(now(), 'Europe/Moscow') - interval '2 months')::date::text as before`;
  ({ last, before } = months!);
});

afterAll(async () => {
  await stop();
  await disconnect();
});

const noon = (month: string) => new Date(Date.parse(`${month}T09:00:00Z`) + 10 * 24 * HOUR_MS);

/** A bakery with orders of 100 and 200 in each of the last two months, and their statements. */
async function settledBakery(): Promise<Bakery> {
  const shop = await bakery(client);
  await openLedgerFrom(before);
  for (const month of [before, last]) for (const price of [100, 200]) await sell(client, shop, price, noon(month));
  await book();
  await makeDueStatements(task({ task: "make-statements" }));
  return shop;
}

const csvOf = (text: string) => parse(text, { columns: true, record_delimiter: "\r\n" });

describe("a partner's owner", () => {
  let shop: Bakery;
  beforeAll(async () => {
    shop = await settledBakery();
  });

  /** The id of the latest statement. */
  const latest = async () => String((await shop.owner.client.get(own)).list[0]!["id"]);

  test("lists the statements, newest first, page by page", async () => {
    const first = await shop.owner.client.get(`${own}?limit=1`);
    expect(first.list).toMatchObject([
      {
        partnerId: shop.id,
        month: last.slice(0, 7),
        currency: "RUB",
        orders: 2,
        sales: 300,
        paidAtPickup: 300,
        commission: 45,
        openingBalance: -45,
        closingBalance: -90,
        pdfUrl: null,
      },
    ]);
    const [, next = ""] = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "") ?? [];
    const second = await shop.owner.client.get(next);
    expect(second.list).toMatchObject([{ month: before.slice(0, 7), openingBalance: 0, closingBalance: -45 }]);
    expect(second.headers.get("link")).toBeNull();
  });

  test("reads one, with what is on it, also as CSV", async () => {
    const id = await latest();
    expect((await shop.owner.client.get(`${own}/${id}`)).body).toMatchObject({ id, orders: 2 });
    const lines = (await shop.owner.client.get(`${own}/${id}/lines`)).list;
    expect(lines).toMatchObject([
      { kind: "SALE", sales: 100, paidAtPickup: 100, commission: 15, balance: -15, reference: null },
      { kind: "SALE", sales: 200, paidAtPickup: 200, commission: 30, balance: -30, reference: null },
    ]);
    const accept = { headers: { accept: "text/csv" } };
    expect(csvOf((await shop.owner.client.get(`${own}/${id}/lines`, accept)).text)).toEqual(
      lines.map((line) =>
        Object.fromEntries(
          Object.entries(line).map(([name, value]) => [
            name,
            typeof value === "string" || typeof value === "number" ? String(value) : "",
          ]),
        ),
      ),
    );
    expect(csvOf((await shop.owner.client.get(`${own}/${id}`, accept)).text)).toMatchObject([
      { id, closingBalance: "-90" },
    ]);
  });

  test("gets lines page by page", async () => {
    const id = await latest();
    const first = await shop.owner.client.get(`${own}/${id}/lines?limit=1`);
    const [, next = ""] = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "") ?? [];
    expect([first.list, (await shop.owner.client.get(next)).list]).toMatchObject([[{ sales: 100 }], [{ sales: 200 }]]);
  });

  test("gets the document that a worker makes, at an address that needs no token", async () => {
    const id = await latest();
    const worker = startQueueWorker(statements, writeStatement);
    await until(async () => (await shop.owner.client.get(`${own}/${id}`)).body["pdfUrl"] !== null);
    await worker.stop();
    const { pathname, search } = new URL((await shop.owner.client.get(`${own}/${id}`)).string("pdfUrl"));
    const file = await fetch(client.url + pathname + search);
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "application/pdf"]);
    expect((await fetch(client.url + pathname)).status).toBe(403);
  });

  test("is the only one who reads them: neither staff nor other partners do", async () => {
    const id = await latest();
    const helper = await user(client);
    await join(shop, helper);
    for (const path of [own, `${own}/${id}`, `${own}/${id}/lines`]) {
      const refused = await helper.client.get(path);
      expect([outcome(refused), refused.body["reason"]]).toEqual(["403 FORBIDDEN", "NOT_THE_OWNER"]);
    }
    const other = await bakery(client);
    expect((await other.owner.client.get(own)).list).toEqual([]);
    expect(outcome(await other.owner.client.get(`${own}/${id}`))).toBe("404 NOT_FOUND");
    expect(outcome(await other.owner.client.get(`${own}/${id}/lines`))).toBe("404 NOT_FOUND");
  });
});

describe("an extract", () => {
  const admitted = { firstDay: "2026-01-05", lastDay: "2026-01-20" };
  const today = dayOf(Date.now(), "Europe/Moscow");

  test("is asked for by the owner, has its lines and a document, and is listed with the statements of months", async () => {
    const shop = await settledBakery();
    await makeReachable([shop.owner.id]);
    const days = { firstDay: before, lastDay: addDays(before, 15) };
    const made = await shop.owner.client.post(own, days);
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      ...days,
      kind: "EXTRACT",
      month: null,
      partnerId: shop.id,
      orders: 2,
      sales: 300,
      earlier: 0,
      openingBalance: 0,
      closingBalance: -45,
      pdfUrl: null,
    });
    const again = await shop.owner.client.post(own, days);
    expect([again.status, again.body]).toEqual([200, made.body]);
    const id = made.string("id");
    expect((await shop.owner.client.get(own)).list).toMatchObject([
      { kind: "EXTRACT", id },
      { kind: "MONTH", month: last.slice(0, 7), firstDay: last },
      { kind: "MONTH", month: before.slice(0, 7), lastDay: addDays(last, -1) },
    ]);
    expect((await shop.owner.client.get(`${own}/${id}/lines`)).list).toMatchObject([{ sales: 100 }, { sales: 200 }]);
    await newNotifications(shop.owner);
    await writeStatement(task({ statementId: id }));
    await runEvents(id);
    expect(await newKinds(shop.owner)).toEqual(["STATEMENT_READY"]);
    const { pathname, search } = new URL((await shop.owner.client.get(`${own}/${id}`)).string("pdfUrl"));
    expect((await fetch(client.url + pathname + search)).headers.get("content-type")).toBe("application/pdf");
  });

  test("is the same one for an admin, who may ask for any number and sees all of the partner's statements", async () => {
    const shop = await bakery(client);
    const first = await shop.owner.client.post(own, admitted);
    const path = `${admins}/${shop.id}`;
    const reply = await boss.client.post(`${path}/extracts`, admitted);
    expect([reply.status, reply.body]).toEqual([200, first.body]);
    for (let n = 1; n < 20; n += 1)
      expect((await shop.owner.client.post(own, { ...admitted, firstDay: addDays("2026-01-05", -n) })).status).toBe(
        201,
      );
    const refused = await shop.owner.client.post(own, { ...admitted, firstDay: "2025-06-01" });
    expect([outcome(refused), refused.body["reason"]]).toEqual(["429 RATE_LIMIT", "EXTRACTS_USED_UP"]);
    expect((await boss.client.post(`${path}/extracts`, { ...admitted, firstDay: "2025-06-01" })).status).toBe(201);
    const page = await boss.client.get(`${path}/statements?limit=2`);
    expect(page.list).toMatchObject([{ firstDay: "2025-06-01" }, { firstDay: addDays("2026-01-05", -19) }]);
    const [, next = ""] = /<([^>]+)>; rel="next"/.exec(page.headers.get("link") ?? "") ?? [];
    expect((await boss.client.get(next)).list).toMatchObject([
      { firstDay: addDays("2026-01-05", -18) },
      { firstDay: addDays("2026-01-05", -17) },
    ]);
    const { text } = await boss.client.get(`${path}/statements`, { headers: { accept: "text/csv" } });
    expect(csvOf(text)).toHaveLength(21);
  });

  test.each([
    ["ends before it begins", { firstDay: "2026-01-20", lastDay: "2026-01-19" }],
    ["is of more than 366 days", { firstDay: "2024-01-01", lastDay: "2025-01-01" }],
    ["is of no date", { firstDay: "2026-02-30", lastDay: "2026-03-01" }],
    ["has an empty day", { firstDay: "", lastDay: "2026-03-01" }],
    ["is not over", { firstDay: "2026-01-05", lastDay: today }],
  ])("is refused when it %s", async (_, days) => {
    const shop = await bakery(client);
    for (const reply of [
      await shop.owner.client.post(own, days),
      await boss.client.post(`${admins}/${shop.id}/extracts`, days),
    ])
      expect(outcome(reply)).toBe("400 VALIDATION_ERROR");
    expect((await shop.owner.client.get(own)).list).toEqual([]);
  });

  test("may be of yesterday, and of 366 days", async () => {
    const shop = await bakery(client);
    for (const days of [
      { firstDay: addDays(today, -1), lastDay: addDays(today, -1) },
      { firstDay: "2024-01-01", lastDay: "2024-12-31" },
    ])
      expect((await shop.owner.client.post(own, days)).status).toBe(201);
  });

  test("is not made for staff, nor of a partner that was never active", async () => {
    const shop = await bakery(client);
    const helper = await user(client);
    await join(shop, helper);
    const refused = await helper.client.post(own, admitted);
    expect([outcome(refused), refused.body["reason"]]).toEqual(["403 FORBIDDEN", "NOT_THE_OWNER"]);
    const newcomer = await bakery(client, "PENDING_REVIEW");
    expect(outcome(await newcomer.owner.client.post(own, admitted))).toBe("404 NOT_FOUND");
    expect(outcome(await boss.client.post(`${admins}/${newcomer.id}/extracts`, admitted))).toBe("404 NOT_FOUND");
  });
});

describe("an admin", () => {
  const pay = (shop: Bakery, body: Record<string, unknown> = {}) =>
    boss.client.post(`${admins}/${shop.id}/payouts`, {
      amount: 50,
      paidBy: "PARTNER",
      paidAt: new Date(Date.now() - HOUR_MS).toISOString(),
      reference: "PO-1",
      ...body,
    });
  const correct = (shop: Bakery, body: Record<string, unknown> = {}) =>
    boss.client.post(`${admins}/${shop.id}/corrections`, {
      amount: 10,
      inFavourOf: "PARTNER",
      reference: "C-1",
      reason: "A customer paid twice.",
      ...body,
    });
  const balances = async (owing: string, shop: Bakery) =>
    (await boss.client.get(`${admins}?owing=${owing}&limit=200`)).list.filter(({ partnerId }) => partnerId === shop.id);
  const auditOf = (shop: Bakery) =>
    sql`
      select action, actor_id as "actorId", details from audit_events
      where subject_id = ${shop.id}::uuid and action like 'SETTLEMENT%' order by id`;

  test("sees who owes how much, until it is paid", async () => {
    const shop = await settledBakery();
    expect(await balances("PARTNER", shop)).toMatchObject([
      { partnerName: "Булочная на углу", owed: 90, currency: "RUB" },
    ]);
    expect(await balances("PLATFORM", shop)).toEqual([]);
    const paid = await pay(shop, { amount: 90 });
    expect([paid.status, paid.body["balance"]]).toEqual([201, 0]);
    expect(await balances("PARTNER", shop)).toEqual([]);
    expect((await pay(shop, { amount: 10, reference: "PO-2" })).body["balance"]).toBe(10);
    expect(await balances("PLATFORM", shop)).toMatchObject([{ owed: 10 }]);
    expect((await pay(shop, { amount: 10, paidBy: "PLATFORM", reference: "PO-3" })).body["balance"]).toBe(0);
  });

  test("records a payment once, however often it is sent, also at once", async () => {
    const shop = await bakery(client);
    const paidAt = "2026-01-05T09:00:00.000Z";
    const replies = await Promise.all([1, 2, 3].map(() => pay(shop, { paidAt })));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
    expect(new Set(replies.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    for (const other of [{ amount: 51 }, { paidBy: "PLATFORM" }, { paidAt: "2026-01-06T09:00:00.000Z" }]) {
      const refused = await pay(shop, { paidAt, ...other });
      expect([outcome(refused), refused.body["reason"]]).toEqual(["409 CONFLICT", "REFERENCE_USED"]);
    }
    expect(sumOf(await linesOf(shop.id), "BANK")).toBe(-5_000);
    // another partner may have the same reference
    expect((await pay(await bakery(client), { paidAt })).status).toBe(201);
    expect(await auditOf(shop)).toEqual([
      {
        action: "SETTLEMENT_PAYOUT",
        actorId: boss.id,
        details: { transactionId: replies[0]!.body["transactionId"], amountMinor: 5_000, reference: "PO-1" },
      },
    ]);
  });

  test("corrects a balance with a reason, which is on the next statement", async () => {
    const shop = await bakery(client);
    const orderId = await sell(client, shop, 100);
    expect((await correct(shop, { orderId })).status).toBe(201);
    expect((await correct(shop, { orderId })).status).toBe(200);
    expect(outcome(await correct(shop, { orderId, reason: "Another one." }))).toBe("409 CONFLICT");
    expect((await correct(shop, { amount: 4, inFavourOf: "PLATFORM", reference: "C-2" })).body["balance"]).toBe(6);
    expect(await auditOf(shop)).toMatchObject([
      { action: "SETTLEMENT_CORRECTION", actorId: boss.id, details: { amountMinor: 1_000, reference: "C-1" } },
      { action: "SETTLEMENT_CORRECTION", details: { amountMinor: -400, reference: "C-2" } },
    ]);
    await book();
    const draft = await boss.client.get(`${admins}/${shop.id}/draft`);
    expect(draft.body).toMatchObject({
      orders: 1,
      corrections: 6,
      commission: 15,
      openingBalance: 0,
      closingBalance: -9,
    });
  });

  test.each([
    ["payouts", { amount: 0 }],
    ["payouts", { amount: 1.234 }],
    ["payouts", { amount: -1 }],
    ["payouts", { reference: "" }],
    ["payouts", { paidAt: "2199-01-01T00:00:00Z" }],
    ["corrections", { amount: 0 }],
    ["corrections", { reason: " " }],
    ["corrections", { inFavourOf: "ME" }],
  ])("cannot book %s with %j", async (path, body) => {
    const shop = await bakery(client);
    const refused = path === "payouts" ? await pay(shop, body) : await correct(shop, body);
    expect(outcome(refused)).toBe("400 VALIDATION_ERROR");
    expect(await linesOf(shop.id)).toEqual([]);
  });

  test("gets 404 for a partner that does not exist or was never active, and for an order of another one", async () => {
    const [shop, other] = [await bakery(client), await bakery(client)];
    const nobody = { ...shop, id: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f" };
    for (const reply of [
      await pay(await bakery(client, "PENDING_REVIEW")),
      await pay(nobody),
      await correct(nobody),
      await correct(shop, { orderId: await sell(client, other, 10) }),
      await boss.client.get(`${admins}/${nobody.id}/draft`),
    ])
      expect(outcome(reply)).toBe("404 NOT_FOUND");
  });

  test("drafts a statement without writing it", async () => {
    const shop = await bakery(client);
    await openLedgerFrom(last);
    await sell(client, shop, 100, noon(last));
    await book();
    const path = `${admins}/${shop.id}/draft?month=${last.slice(0, 7)}`;
    expect((await boss.client.get(path)).body).toMatchObject({
      month: last.slice(0, 7),
      orders: 1,
      closingBalance: -15,
    });
    expect((await shop.owner.client.get(own)).list).toEqual([]);
    expect(outcome(await boss.client.get(`${admins}/${shop.id}/draft?month=2026-13`))).toBe("400 VALIDATION_ERROR");
  });

  test("exports the statements of a month by number, as CSV too", async () => {
    const shop = await settledBakery();
    const path = `${admins}/statements?month=${last.slice(0, 7)}&limit=5000`;
    const { list } = await boss.client.get(path);
    const theirs = list.filter(({ partnerId }) => partnerId === shop.id);
    expect(theirs).toMatchObject([{ partnerName: "Булочная на углу", sales: 300, closingBalance: -90 }]);
    expect(list.map(({ number }) => number)).toEqual(list.map(({ number }) => Number(number)).sort((a, b) => a - b));
    const { text } = await boss.client.get(path, { headers: { accept: "text/csv" } });
    expect(csvOf(text)).toHaveLength(list.length);
  });

  test("exports the ledger, and later only what is new", async () => {
    const shop = await bakery(client);
    const [end] = await sql<{ id: number }[]>`select coalesce(max(id), 0) as id from ledger_entries`;
    const start = end!.id;
    const orderId = await sell(client, shop, 100);
    await book();
    const { list } = await boss.client.get(`${admins}/entries?after=${start}`);
    const ofOrder = list.filter((line) => line["orderId"] === orderId);
    expect(ofOrder.map(({ account, amount }) => [account, amount])).toEqual(
      expect.arrayContaining([
        ["SALES", -100],
        ["TILL", 100],
        ["BALANCE", -15],
        ["COMMISSION", 15],
      ]),
    );
    const after = String(list.at(-1)!["id"]);
    expect((await boss.client.get(`${admins}/entries?after=${after}`)).list).toEqual([]);
    const { text } = await boss.client.get(`${admins}/entries?after=${start}`, { headers: { accept: "text/csv" } });
    expect(csvOf(text)).toHaveLength(list.length);
  });
});
