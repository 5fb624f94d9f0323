import { afterAll, beforeEach, expect, test } from "@jest/globals";
import {
  addMenuItem,
  done,
  listOrders,
  openSession,
  placeOrder,
  placeOrderOnce,
  readBox,
  Refused,
  rows,
  type NewOrder,
  type Session,
} from "../../../scripts/client/src/index.js";
import { closeDatabase } from "../../../sql/db.js";
import { startApi, type Client } from "../../support/api.js";
import { openShop, type Shop } from "../../support/shop.js";

const api = await startApi();
const baseUrl = api.client.url;
let shop: Shop;
let order: NewOrder;
/** The methods and keys of the requests that were sent. */
let sent: string[];

beforeEach(async () => {
  sent = [];
  shop = await openShop(api.client);
  order = { items: [{ menuItemId: shop.rollId, qty: 1 }], totalAmount: 60, partnerId: shop.bakery.id };
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

type Fault = (carriedOut: () => Promise<Response>) => Promise<Response>;

const refusing =
  (status: number, headers: Record<string, string> = { "retry-after": "0" }): Fault =>
  () =>
    Promise.resolve(new Response("<html>", { status, headers }));
/** The request is carried out, but its answer is another. */
const losing =
  (fault: Fault): Fault =>
  async (carriedOut) => {
    await (await carriedOut()).text();
    return fault(carriedOut);
  };
const breaking: Fault = () => Promise.reject(new TypeError("fetch failed"));

/** A session of a user over a network that has these faults, one after the other. */
function sessionOf({ token }: Client, ...faults: Fault[]): Session {
  const tokens = { accessToken: token ?? "", refreshToken: "none", tokenType: "Bearer" as const, expiresIn: 900 };
  return openSession({
    baseUrl,
    store: { read: () => tokens, write: () => undefined },
    fetch: (address, init) => {
      sent.push(`${init?.method ?? "GET"} ${new Headers(init?.headers).get("idempotency-key") ?? ""}`.trim());
      const fault = faults.shift();
      const carriedOut = () => fetch(address, init);
      return fault ? fault(carriedOut) : carriedOut();
    },
  });
}

async function orderIds(): Promise<string[]> {
  const ids: string[] = [];
  const session = sessionOf(shop.customer.client);
  for await (const { orderId } of rows((page) => listOrders({ ...page }, session))) ids.push(orderId);
  return ids;
}

test("an order that met 503 is placed once, under one key, after Retry-After", async () => {
  const session = sessionOf(shop.customer.client, refusing(503), refusing(503));
  const { orderId } = await placeOrderOnce(order, session);
  expect(sent).toHaveLength(3);
  expect(new Set(sent).size).toBe(1);
  expect(sent[0]).toMatch(/^POST [0-9a-f-]{36}$/);
  expect(await orderIds()).toEqual([orderId]);
});

test.each([
  ["503", losing(refusing(503))],
  ["a broken connection", losing(breaking)],
])("an order that was placed, but answered with %s, is placed once and returned", async (_what, fault) => {
  const placed = await placeOrderOnce(order, sessionOf(shop.customer.client, fault), "my-key");
  expect(sent).toEqual(["POST my-key", "POST my-key", "GET"]);
  expect(await orderIds()).toEqual([placed.orderId]);
  expect(placed).toMatchObject({ status: "ACCEPTED", totalAmount: 60, pickupCode: expect.stringMatching(/^\d{6}$/) });
});

test("what may have been done already is not sent again, what was refused for its number is", async () => {
  const item = { name: "Багет", category: "Хлеб", price: 120 };
  const owner = shop.bakery.owner.client;
  const unknown = await addMenuItem({ body: item }, sessionOf(owner, refusing(503)));
  expect([unknown.status, sent]).toEqual([503, ["POST"]]);
  await expect(addMenuItem({ body: item }, sessionOf(owner, breaking))).rejects.toThrow("fetch failed");
  expect(sent).toEqual(["POST", "POST"]);
  expect((await addMenuItem({ body: item }, sessionOf(owner, refusing(429)))).status).toBe(201);
  expect(sent).toHaveLength(4);
});

test("gives up after four attempts, and at once when the wait is long or the app aborts", async () => {
  const many = Array.from({ length: 9 }, () => refusing(503));
  expect(
    (await placeOrder({ idempotencyKey: "key", body: order }, sessionOf(shop.customer.client, ...many))).status,
  ).toBe(503);
  expect(sent).toHaveLength(4);
  const inAnHour = { "retry-after": new Date(Date.now() + 3_600_000).toUTCString() };
  const late = await listOrders({}, sessionOf(shop.customer.client, refusing(429, inAnHour)));
  expect([late.status, sent.length]).toEqual([429, 5]);
  const signal = AbortSignal.abort();
  await expect(listOrders({}, { ...sessionOf(shop.customer.client), signal })).rejects.toThrow();
  expect(sent).toHaveLength(6);
});

test("a refusal is an error with its problem, and with none when a proxy answered", async () => {
  const session = sessionOf(shop.customer.client, refusing(502, {}));
  const id = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";
  const missing = await done(readBox({ id }, session)).catch((error: unknown) => error);
  expect(missing).toBeInstanceOf(Refused);
  expect(missing).toMatchObject({ status: 404, message: "This box was not found.", problem: { reason: "NOT_FOUND" } });
  const item = { name: "Багет", category: "Хлеб", price: 120 };
  const behind = sessionOf(shop.customer.client, refusing(502));
  const broken = await done(addMenuItem({ body: item }, behind)).catch((error: unknown) => error);
  expect(broken).toMatchObject({ status: 502, problem: null });
});
