import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { outcome, startApi, type Client } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { stopTheClock } from "../../../support/clock.js";
import { idAt, makePast, type PastOrder } from "../../../support/past.js";

stopTheClock();

let api: Awaited<ReturnType<typeof startApi>>;
let admin: Client;
let customer: cast.Character;
let bakeries: cast.Bakery[];

beforeAll(async () => {
  jest.setSystemTime(now);
  api = await startApi();
  admin = (await cast.admin(api.client)).client;
  customer = await cast.user(api.client);
  bakeries = [await cast.bakery(api.client), await cast.bakery(api.client)];
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const now = Date.parse("2026-06-15T12:00:00Z");
const at = (hours: number) => new Date(now - hours * 60 * 60 * 1_000);
const unknownId = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";
const report = (path: string) => admin.get(`/api/v1/admin/analytics/${path}`);

const order = (bakery: number, hoursAgo: number, totalMinor: number, boxId: string | null = null): PastOrder => ({
  id: idAt(at(hoursAgo).getTime()),
  userId: customer.id,
  partnerId: bakeries[bakery]!.id,
  status: "ACCEPTED",
  at: at(hoursAgo),
  totalMinor,
  discountMinor: 0,
  commissionMinor: 150,
  lines: boxId === null ? [] : [{ boxId, menuItemId: null, priceMinor: totalMinor, qty: 1 }],
});

describe("report parameters", () => {
  beforeEach(async () => {
    const boxes = Array.from({ length: 101 }, (_, n) => {
      const made = at(10 * 24 + n);
      const title = n === 0 ? "=1+1" : `Набор ${n}`;
      return { id: idAt(made.getTime()), partnerId: bakeries[0]!.id, title, at: made, weightGrams: null };
    });
    const orders = boxes.map(({ id }, n) => order(0, 10 * 24, 1_000 - n, id));
    await makePast(boxes, [...orders, order(1, 100, 5), order(1, 101, 5)]);
  });

  test("the period defaults to 30 days and must be one of four: otherwise 400 BAD_REQUEST", async () => {
    expect((await report("dashboard")).body).toMatchObject({ period: "30d", orders: 103 });
    expect((await report("dashboard?period=7d")).body).toMatchObject({ period: "7d", orders: 2, gmv: 0.1 });
    const paths = ["dashboard", "top-boxes", "top-partners", "order-heatmap", "listing-heatmap", "peak-hours"];
    for (const path of [...paths, `partners/${bakeries[0]!.id}`]) {
      for (const period of ["1d", "30", "", "30D", "7d&period=30d"]) {
        expect([path, outcome(await report(`${path}?period=${period}`))]).toEqual([path, "400 BAD_REQUEST"]);
      }
    }
    expect(outcome(await bakeries[0]!.owner.client.get("/api/v1/partners/me/analytics?period=2y"))).toBe(
      "400 BAD_REQUEST",
    );
  });

  test("rankings have 10 rows by default and 100 at most", async () => {
    const length = async (path: string) => (await report(path)).list.length;
    expect(await length("top-boxes")).toBe(10);
    expect(await length("top-boxes?limit=3")).toBe(3);
    expect(await length("top-boxes?limit=100")).toBe(100);
    expect(await length("top-boxes?limit=1000000")).toBe(100);
    expect(await length("top-partners?limit=1")).toBe(1);
    expect(await length("peak-hours")).toBe(5);
    expect(await length("peak-hours?limit=24")).toBe(24);
    expect(await length("peak-hours?limit=100")).toBe(24);
    for (const path of ["top-boxes", "top-partners", "peak-hours"]) {
      for (const limit of ["0", "-1", "ten", "1.5", ""]) {
        expect(outcome(await report(`${path}?limit=${limit}`))).toBe("400 BAD_REQUEST");
      }
    }
  });

  test("rankings are sorted by gmv or by orders", async () => {
    const ids = async (query: string) => (await report(`top-partners${query}`)).list.map(({ partnerId }) => partnerId);
    await sql`truncate order_items, order_events`;
    await sql`delete from orders where partner_id = ${bakeries[0]!.id}::uuid and total_minor < 1000`;
    expect(await ids("")).toEqual([bakeries[0]!.id, bakeries[1]!.id]);
    expect(await ids("?sort=gmv")).toEqual([bakeries[0]!.id, bakeries[1]!.id]);
    expect(await ids("?sort=orders")).toEqual([bakeries[1]!.id, bakeries[0]!.id]);
    expect(outcome(await report("top-partners?sort=name"))).toBe("400 BAD_REQUEST");
  });

  test("an unknown partner: 404 NOT_FOUND; an invalid id: 400 BAD_REQUEST", async () => {
    const paths = ["dashboard", "top-boxes", "top-partners", "order-heatmap", "listing-heatmap", "peak-hours"];
    for (const path of paths) {
      expect(outcome(await report(`${path}?partnerId=${unknownId}`))).toBe("404 NOT_FOUND");
      expect(outcome(await report(`${path}?partnerId=7`))).toBe("400 BAD_REQUEST");
    }
    for (const id of [unknownId, "7"]) expect(outcome(await report(`partners/${id}`))).toBe("404 NOT_FOUND");
  });

  test("staff see their partner's own figures, whatever its status", async () => {
    const clerk = await cast.user(api.client);
    const { id } = await cast.bakery(api.client, "SUSPENDED");
    await sql`insert into partner_staff (user_id, partner_id) values (${clerk.id}::uuid, ${id}::uuid)`;
    expect((await clerk.client.get("/api/v1/partners/me/analytics")).body).toEqual({
      partnerId: id,
      orders: 0,
      gmv: 0,
    });
  });

  describe("as CSV", () => {
    const asCsv = (path: string, accept = "text/csv") =>
      admin.get(`/api/v1/admin/analytics/${path}`, { headers: { accept } });

    test("a list is a header and one line per row, quoted where needed", async () => {
      const { list } = await report("top-boxes?limit=2");
      await sql`update boxes set title = 'Хлеб, "тот самый"' where id = ${String(list[1]!["boxId"])}::uuid`;
      const csv = await asCsv("top-boxes?limit=2");
      expect(csv.status).toBe(200);
      expect(csv.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
      expect(csv.headers.get("content-disposition")).toBe('attachment; filename="top-boxes.csv"');
      expect(csv.text).toBe(
        [
          "boxId,title,orders,gmv",
          `${String(list[0]!["boxId"])},'=1+1,1,10`,
          `${String(list[1]!["boxId"])},"Хлеб, ""тот самый""",1,9.99`,
          "",
        ].join("\r\n"),
      );
    });

    test("an object is one line, and no rows leave only the header", async () => {
      expect((await asCsv("dashboard?period=7d")).text).toBe(
        "orders,gmv,activePartners,commission,foodSavedGrams,period\r\n2,0.1,1,3,0,7d\r\n",
      );
      await makePast([], []);
      expect((await asCsv("top-boxes")).text).toBe("boxId,title,orders,gmv\r\n");
    });

    test("a partner's own report is available", async () => {
      const { id, owner } = bakeries[1]!;
      const csv = await owner.client.get("/api/v1/partners/me/analytics", { headers: { accept: "text/csv" } });
      expect(csv.text).toBe(`partnerId,orders,gmv\r\n${id},2,0.1\r\n`);
    });

    test("only clients that prefer CSV get it, and the answer varies by Accept", async () => {
      for (const accept of [
        "*/*",
        "application/json",
        "application/json, text/csv",
        "image/png",
        "text/csv;q=0.5, */*",
      ]) {
        const reply = await asCsv("peak-hours", accept);
        expect([accept, reply.headers.get("content-type"), reply.headers.get("vary")]).toEqual([
          accept,
          "application/json; charset=utf-8",
          "Accept",
        ]);
      }
      expect((await asCsv("peak-hours", "text/csv, application/json;q=0.9")).text).toMatch(/^hour,count\r\n/);
    });

    test("a refusal is still a problem document", async () => {
      expect(outcome(await asCsv("dashboard?period=2y"))).toBe("400 BAD_REQUEST");
    });
  });
});
