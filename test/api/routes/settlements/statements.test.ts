import { beforeAll, describe, expect, test } from "@jest/globals";
import { statements } from "../../../../queues/index.js";
import { writeStatement } from "../../../../workers/statements.js";
import { outcome } from "../../../support/api.js";
import { bakery, join, user, type Bakery } from "../../../support/cast.js";
import { startQueueWorker } from "../../../support/queue-worker.js";
import { before, client, csvOf, last, own, settledBakery } from "../../../support/settlement-scene.js";
import { until } from "../../../support/until.js";

describe("a partner's owner", () => {
  let shop: Bakery;
  beforeAll(async () => {
    shop = await settledBakery();
  });

  /** The id of the latest statement. */
  const latest = async (of: Bakery = shop) => String((await of.owner.client.get(own)).list[0]!["id"]);

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
    const settled = await settledBakery();
    const path = `${own}/${await latest(settled)}`;
    const worker = startQueueWorker(statements, writeStatement);
    await until(async () => (await settled.owner.client.get(path)).body["pdfUrl"] !== null);
    await worker.stop();
    const { pathname, search } = new URL((await settled.owner.client.get(path)).string("pdfUrl"));
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
