import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let admin: cast.Character;
let bakery: cast.Bakery;

beforeAll(async () => {
  api = await startApi();
  admin = await cast.admin(api.client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

beforeEach(async () => {
  await sql`delete from commission_rates`;
  bakery = await cast.bakery(api.client);
});

const base = "/api/v1/admin/commissions";
const global = (ratePercent?: unknown) =>
  ratePercent === undefined ? admin.client.get(`${base}/global`) : admin.client.put(`${base}/global`, { ratePercent });
const own = (ratePercent?: unknown, id = bakery.id) =>
  ratePercent === undefined
    ? admin.client.get(`${base}/partners/${id}`)
    : admin.client.put(`${base}/partners/${id}`, { ratePercent });
const drop = (id = bakery.id) => admin.client.delete(`${base}/partners/${id}`);

async function commissionOfAnOrder(): Promise<unknown> {
  const customer = await cast.user(api.client);
  const menuItemId = await cast.addMenuItem(bakery, { price: 100 });
  const items = [{ menuItemId, qty: 1 }];
  const placed = await customer.client.post("/api/v1/orders", { items, totalAmount: 100, partnerId: bakery.id });
  const [row] = await sql<{ minor: number; net: number }[]>`
    select commission_minor as minor, net_minor as net from orders where id = ${placed.string("orderId")}::uuid`;
  expect(row!.minor + row!.net).toBe(10_000);
  return row?.minor;
}

test("the rate is 15 percent by default; a partner's own rate overrides the global one until it is deleted", async () => {
  expect((await global()).body).toEqual({ ratePercent: 15, override: false });
  expect((await own()).body).toEqual({ ratePercent: 15, override: false });
  expect((await global(12.5)).body).toEqual({ ratePercent: 12.5, override: true });
  expect((await own()).body).toEqual({ ratePercent: 12.5, override: false });
  expect((await own(0)).body).toEqual({ ratePercent: 0, override: true });
  expect((await global()).body).toEqual({ ratePercent: 12.5, override: true });
  for (let times = 0; times < 2; times += 1) expect((await drop()).status).toBe(204);
  expect((await own()).body).toEqual({ ratePercent: 12.5, override: false });
});

const changes = async () => (await admin.client.get(`${base}/changes?limit=50`)).list;

test("each of several concurrent changes records the rate before it", async () => {
  const before = new Set((await changes()).map(({ id }) => id));
  await Promise.all([1, 2, 3, 4, 5, 6].map((rate) => own(rate)));
  const made = (await changes()).filter(({ id }) => !before.has(id));
  const old = made.map(({ oldPercent }) => oldPercent);
  expect(old.filter((percent) => percent === null)).toHaveLength(1);
  expect(new Set(old).size).toBe(6);
  expect((await own()).body["ratePercent"]).toBe(made[0]?.["newPercent"]);
});

test("a rate applies to later orders only", async () => {
  const earlier = await commissionOfAnOrder();
  await global(20);
  const second = await commissionOfAnOrder();
  await own(33.33);
  const third = await commissionOfAnOrder();
  await drop();
  expect([earlier, second, third, await commissionOfAnOrder()]).toEqual([1_500, 2_000, 3_333, 2_000]);
  const kept = await sql<{ minor: number }[]>`
    select commission_minor as minor from orders where partner_id = ${bakery.id}::uuid order by id`;
  expect(kept.map(({ minor }) => minor)).toEqual([1_500, 2_000, 3_333, 2_000]);
});

describe.each([
  ["global", (rate: unknown) => global(rate)],
  ["partner", (rate: unknown) => own(rate)],
])("the %s rate", (_which, set) => {
  test.each([-0.01, 100.01, 1.001, "15", null, true])("%j: 400 VALIDATION_ERROR", async (rate) => {
    expect(outcome(await set(rate))).toBe("400 VALIDATION_ERROR");
  });

  test.each([0, 0.01, 99.99, 100])("%d is stored to the hundredth", async (rate) => {
    expect((await set(rate)).body).toEqual({ ratePercent: rate, override: true });
  });
});

test("an unknown partner: 404", async () => {
  const unknown = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";
  for (const reply of [await own(undefined, unknown), await own(5, unknown), await drop(unknown)])
    expect(outcome(reply)).toBe("404 NOT_FOUND");
});

test("each change is audited with actor, partner, old and new rate; a change to the same rate is not", async () => {
  await global(10);
  await own(5);
  await own(6);
  await drop();
  await drop();
  const changes = (await admin.client.get(`${base}/changes?limit=4`)).list;
  expect(changes.map(({ partnerId, oldPercent, newPercent }) => [partnerId, oldPercent, newPercent])).toEqual([
    [bakery.id, 6, null],
    [bakery.id, 5, 6],
    [bakery.id, null, 5],
    [null, null, 10],
  ]);
  expect(new Set(changes.map(({ actorId }) => actorId))).toEqual(new Set([admin.id]));
});
