import { describe, expect, test } from "@jest/globals";
import { sql } from "../../../../sql/db.js";
import { outcome } from "../../../support/api.js";
import { bakery, type Bakery } from "../../../support/cast.js";
import { book, linesOf, openLedgerFrom, sell, sumOf } from "../../../support/ledger.js";
import { admins, boss, client, csvOf, last, noon, own, settledBakery } from "../../../support/settlement-scene.js";

const HOUR_MS = 3_600_000;

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
