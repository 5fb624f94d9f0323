import { describe, expect, test } from "@jest/globals";
import { addDays, dayOf } from "../../../../lib/domain/days.js";
import { writeStatement } from "../../../../workers/statements.js";
import { outcome } from "../../../support/api.js";
import { bakery, join, user } from "../../../support/cast.js";
import { newKinds, newNotifications, runEvents } from "../../../support/events.js";
import { makeReachable } from "../../../support/notifications.js";
import { admins, before, boss, client, csvOf, last, own, settledBakery } from "../../../support/settlement-scene.js";
import { task } from "../../../support/task.js";

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
