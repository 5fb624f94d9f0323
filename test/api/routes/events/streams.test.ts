import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { registry } from "../../../../api/http/registry.js";
import { sentPosition } from "../../../../api/routes/events/availability.js";
import { checkStreams, HEARTBEAT_MS, sweepStreams } from "../../../../api/routes/events/open-streams.js";
import { accessTokenSeconds, signAccessToken } from "../../../../lib/security/tokens.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { findLogEnds, numberEvents } from "../../../../sql/queries/events.js";
import { closeSignals } from "../../../../sql/signals.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { follow, type Following, type Message } from "../../../support/event-stream.js";
import { order } from "../../../support/orders.js";
import { until } from "../../../support/until.js";

let api: Awaited<ReturnType<typeof startApi>>;
let shop: cast.Bakery;
let other: cast.Bakery;
let owner: Client;
let customer: cast.Character;
/** The end of the log when a test begins. */
let start: number;

const following: Following[] = [];

beforeAll(async () => {
  api = await startApi();
  [shop, other, customer] = [await cast.bakery(api.client), await cast.bakery(api.client), await cast.user(api.client)];
  owner = shop.owner.client;
});

beforeEach(async () => {
  await numberAll();
  start = (await findLogEnds(sql)).last;
});

afterEach(async () => {
  for (const each of following.splice(0)) each.close();
  await until(async () => (await valueOf("event_streams_open")) === 0);
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

async function numberAll(): Promise<void> {
  while ((await numberEvents(sql, 1_000)) > 0);
}

const box = {
  boxId: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f",
  quantityAvailable: 1,
  priceCents: 100,
  pickupWindowStart: "2026-06-01T15:00:00.000Z",
  pickupWindowEnd: "2026-06-01T17:00:00.000Z",
  hidden: false,
};

/** Inserts and numbers so many events of a partner. */
async function happen(partner: cast.Bakery, type = "box.changed", times = 1, data: object = {}): Promise<void> {
  await sql`
    select record_event(${type}::text, ${partner.id}::uuid, ${sql.json({ ...data })})
    from generate_series(1, ${times}::integer)`;
  await numberAll();
}

async function valueOf(metric: string, labels = ""): Promise<number> {
  const text = await registry.getSingleMetricAsString(metric);
  const line = text.split("\n").find((each) => each.startsWith(`${metric}${labels} `));
  return Number(line?.split(" ").at(-1) ?? 0);
}
const ended = (reason: string) => valueOf("event_streams_ended_total", `{reason="${reason}"}`);

async function open(as: Client, path: string, options: Parameters<typeof follow>[2] = {}): Promise<Following> {
  const stream = await follow(as, path, options);
  following.push(stream);
  expect([stream.response.statusCode, stream.response.headers["content-type"]]).toEqual([
    200,
    "text/event-stream; charset=utf-8",
  ]);
  return stream;
}

const board = "/api/v1/partners/me/stream";
const untilMessages = (stream: Following, count: number) =>
  until(() => stream.messages.length >= count && stream.messages);
const typesOf = (messages: readonly Message[]) => messages.map(({ type }) => type);
const placesOf = (messages: readonly Message[]) => messages.map(({ id }) => id - start);

describe("a partner's stream", () => {
  test("begins with where it is in the log, and has the partner's orders and boxes as the log shows them", async () => {
    const stream = await open(owner, board);
    expect(await untilMessages(stream, 1)).toEqual([{ id: start, type: "start", data: { position: start } }]);
    await happen(other);
    await happen(shop, "menu_item.changed");
    await happen(shop, "box.expired", 1, box);
    await happen(shop, "box.back", 1, box);
    const [, ...messages] = await untilMessages(stream, 3);
    expect(typesOf(messages)).toEqual(["box.expired", "box.back"]);
    expect(placesOf(messages)).toEqual([3, 4]);
    const { body } = await owner.get(`/api/v1/events?after=${start}&types=box.expired,box.back`);
    expect(messages.map(({ data }) => data)).toEqual(body["events"]);
  });

  test("says what proxies and browsers must know, and is no slow request", async () => {
    const stream = await open(owner, board);
    const { headers } = stream.response;
    expect([headers["cache-control"], headers["x-accel-buffering"], headers["content-encoding"]]).toEqual([
      "no-store, no-transform",
      "no",
      undefined,
    ]);
    expect(stream.raw).toMatch(/^retry: \d{4}\n\n/);
    const durations = await registry.getSingleMetricAsString("http_request_duration_seconds");
    expect(durations).toMatch(/_count\{method="GET",route="\/api\/v1\/partners\/me\/stream",status="200"\} [1-9]/);
  });

  test("goes on after the last message, each event once, however many happen while it begins", async () => {
    const first = await open(owner, board);
    await untilMessages(first, 1);
    first.close();
    await happen(shop, "box.changed", 20);
    const writing = (async () => {
      for (let n = 0; n < 30; n += 1) await happen(shop, "box.changed", 2);
    })();
    const streams = await Promise.all(Array.from({ length: 8 }, () => open(owner, board, { lastSeen: start })));
    await writing;
    const all = Array.from({ length: 80 }, (_, n) => n + 1);
    for (const stream of streams) expect(placesOf(await untilMessages(stream, 80))).toEqual(all);
  });

  test("goes on after the position of a heartbeat, which comes when nothing else did", async () => {
    const stream = await open(owner, board);
    await untilMessages(stream, 1);
    await happen(other);
    await until(async () => (await findLogEnds(sql)).last > start);
    const at = performance.now() + HEARTBEAT_MS;
    sweepStreams(at);
    await until(() => stream.raw.includes("\n:\nid: "));
    sweepStreams(at);
    expect(stream.raw.match(/^:$/gm)).toHaveLength(1);
    const [, lastSeen] = /:\nid: (\d+)\n\n$/.exec(stream.raw) ?? [];
    expect(Number(lastSeen)).toBeGreaterThanOrEqual(start);
    await happen(shop);
    const again = await open(owner, board, { lastSeen: Number(lastSeen) });
    expect(typesOf(await untilMessages(again, 1))).toEqual(["box.changed"]);
  });

  test("begins anew where the last message is gone or unknown, or too much was missed", async () => {
    await happen(shop, "box.changed", 501);
    await sql`update event_log set dropped_position = ${start - 5}::bigint`;
    for (const lastSeen of [start - 6, start, start + 1_000_000]) {
      const stream = await open(owner, board, { lastSeen });
      expect(await untilMessages(stream, 1)).toMatchObject([{ type: "start", id: start + 501 }]);
    }
    await sql`update event_log set dropped_position = 0`;
    const near = await open(owner, board, { lastSeen: start + 1 });
    expect(await untilMessages(near, 500)).toHaveLength(500);
  });

  test("has orders in the order of the log, however they come", async () => {
    const boxId = await cast.listBox(shop, { price: 100, quantity: 30 });
    await numberAll();
    const stream = await open(owner, board);
    await untilMessages(stream, 1);
    const placed = await Promise.all(Array.from({ length: 10 }, () => order(customer, shop, [{ boxId, qty: 1 }], 100)));
    await numberAll();
    const [, ...messages] = await untilMessages(stream, 11);
    const { body } = await owner.get(`/api/v1/events?after=${start}&types=order.placed`);
    expect(messages.map(({ data }) => data)).toEqual(body["events"]);
    const Placed = z.object({ data: z.object({ orderId: z.string() }) });
    const seen = messages.map(({ data }) => Placed.parse(data).data.orderId);
    expect(seen.toSorted()).toEqual(placed.map((each) => each.string("orderId")).toSorted());
  });

  test("HEAD opens none", async () => {
    const response = await fetch(api.client.url + board, {
      method: "HEAD",
      headers: { authorization: `Bearer ${owner.token ?? ""}` },
    });
    expect([response.status, await valueOf("event_streams_open")]).toEqual([200, 0]);
  });
});

describe("an order's stream", () => {
  test("shows its customer and its partner how it goes on, and nothing of the commission", async () => {
    const boxId = await cast.listBox(shop, { price: 100 });
    const id = (await order(customer, shop, [{ boxId, qty: 1 }], 100)).string("orderId");
    const path = `/api/v1/orders/${id}/stream`;
    const streams = [await open(customer.client, path), await open(owner, path)];
    for (const stream of streams) expect(typesOf(await untilMessages(stream, 1))).toEqual(["start"]);
    await order(customer, shop, [{ boxId, qty: 1 }], 100);
    await owner.put(`/api/v1/orders/${id}/status`, { status: "READY" });
    await numberAll();
    for (const stream of streams) {
      const [, ...messages] = await untilMessages(stream, 3);
      expect(messages.map(({ type, data }) => [type, data])).toEqual([
        ["order.placed", { orderId: id, status: "ACCEPTED", at: expect.any(String) }],
        ["order.ready", { orderId: id, status: "READY", at: expect.any(String) }],
      ]);
    }
    const again = await open(customer.client, path, { lastSeen: start });
    expect(typesOf(await untilMessages(again, 2))).toEqual(["order.placed", "order.ready"]);
    expect(again.raw).not.toContain("commission");
    expect(outcome(await other.owner.client.get(path))).toBe("404 NOT_FOUND");
  });
});

describe("a city's stream", () => {
  const path = "/api/v1/boxes/stream?cityId=moscow";
  const Told = z.object({ boxes: z.array(z.object({ boxId: z.string(), quantityAvailable: z.int() })) });
  const told = (stream: Following) =>
    stream.messages.flatMap(({ type, data }) => (type === "availability" ? [Told.parse(data).boxes] : []));

  test("shows anyone how many of a box are left, several changes at once", async () => {
    const boxId = await cast.listBox(shop, { price: 100, quantity: 5 });
    await numberAll();
    const stream = await open(api.client, path);
    const elsewhere = await open(api.client, "/api/v1/boxes/stream?cityId=kazan");
    await untilMessages(stream, 1);
    await order(customer, shop, [{ boxId, qty: 1 }], 100);
    for (const quantityAvailable of [7, 6, 3])
      await owner.patch(`/api/v1/boxes/${boxId}/quantity`, { quantityAvailable });
    await numberAll();
    await until(() => told(stream).length > 0);
    const first = told(stream)[0]?.filter((each) => each.boxId === boxId);
    expect(first).toMatchObject([{ boxId, quantityAvailable: 3 }]);
    await owner.post(`/api/v1/boxes/${boxId}/hide`);
    await numberAll();
    await until(() => told(stream).flat().at(-1)?.quantityAvailable === 0);
    expect(told(elsewhere)).toEqual([]);
  });

  test("goes on after the last message with what has changed since", async () => {
    const boxId = await cast.listBox(shop, { price: 100, quantity: 5 });
    await numberAll();
    const { last } = await findLogEnds(sql);
    await order(customer, shop, [{ boxId, qty: 2 }], 200);
    await numberAll();
    const stream = await open(api.client, path, { lastSeen: last });
    await untilMessages(stream, 1);
    expect(
      told(stream)
        .flat()
        .find((each) => each.boxId === boxId)?.quantityAvailable,
    ).toBe(3);
    await happen(shop, "menu_item.changed", 501);
    const { last: end } = await findLogEnds(sql);
    await until(() => (sentPosition() ?? 0) >= end);
    const late = await open(api.client, path, { lastSeen: last });
    expect(typesOf(await untilMessages(late, 1))).toEqual(["start"]);
  });

  test("needs a city", async () => {
    expect(outcome(await api.client.get("/api/v1/boxes/stream"))).toBe("400 VALIDATION_ERROR");
  });
});

describe("a stream ends", () => {
  /** Moves the clock of the streams, and runs their check and sweep. */
  async function later(seconds: number): Promise<void> {
    const at = performance.now() + seconds * 1_000;
    await checkStreams(at);
    sweepStreams(at);
  }

  test("with its token, and one without a token after as long", async () => {
    const streams = [await open(owner, board), await open(api.client, "/api/v1/boxes/stream?cityId=moscow")];
    const before = await ended("expired");
    await later(accessTokenSeconds - 60);
    expect(streams.map(({ hasEnded }) => hasEnded)).toEqual([false, false]);
    await later(accessTokenSeconds + 1);
    await until(() => streams.every(({ hasEnded }) => hasEnded));
    expect(await ended("expired")).toBe(before + 2);
  });

  test("for who has lost the role, within a minute, and for nobody else", async () => {
    const clerk = await cast.user(api.client);
    await cast.join(shop, clerk);
    const boxId = await cast.listBox(shop, { price: 100 });
    const orderId = (await order(customer, shop, [{ boxId, qty: 1 }], 100)).string("orderId");
    const ofOrder = `/api/v1/orders/${orderId}/stream`;
    const lost = [await open(clerk.client, board), await open(clerk.client, ofOrder)];
    const kept = [await open(owner, board), await open(owner, ofOrder), await open(customer.client, ofOrder)];
    await later(1);
    expect(lost.map(({ hasEnded }) => hasEnded)).toEqual([false, false]);
    await sql`delete from partner_staff where user_id = ${clerk.id}::uuid`;
    await later(2);
    await until(() => lost.every(({ hasEnded }) => hasEnded));
    expect(kept.map(({ hasEnded }) => hasEnded)).toEqual([false, false, false]);
  });

  test("with its session, and with its account", async () => {
    const [session] = await sql<{ id: string }[]>`
      insert into sessions (user_id) values (${shop.owner.id}::uuid) returning id`;
    const token = await signAccessToken({ userId: shop.owner.id, sessionId: session!.id, scope: "USER" });
    const stream = await open(api.client.as(token), board);
    const stays = await open(owner, board);
    await sql`update sessions set revoked_at = now() where id = ${session!.id}::uuid`;
    await later(1);
    await until(() => stream.hasEnded);
    const guest = await cast.user(api.client);
    const boxId = await cast.listBox(shop, { price: 100 });
    const id = (await order(guest, shop, [{ boxId, qty: 1 }], 100)).string("orderId");
    const followed = await open(guest.client, `/api/v1/orders/${id}/stream`);
    await sql`update users set deleted_at = now() where id = ${guest.id}::uuid`;
    await later(2);
    await until(() => followed.hasEnded);
    expect(stays.hasEnded).toBe(false);
  });

  test("when it cannot be found out for a minute whether it may go on", async () => {
    const stream = await open(owner, board);
    const anyones = await open(api.client, "/api/v1/boxes/stream?cityId=moscow");
    sweepStreams(performance.now() + 56_000);
    await until(() => stream.hasEnded);
    expect([anyones.hasEnded, await ended("unchecked")]).toEqual([false, 1]);
  });

  test("when its client does not read, while others go on", async () => {
    const slow = await open(owner, board, { paused: true });
    const reader = await open(owner, board);
    const before = await ended("slow");
    let written = 0;
    await until(async () => {
      await happen(shop, "box.changed", 5, { filling: "x".repeat(200_000) });
      written += 5;
      return (await ended("slow")) > before;
    });
    expect(typesOf(await untilMessages(reader, written + 1))).toHaveLength(written + 1);
    expect(reader.hasEnded).toBe(false);
    slow.close();
  });
});
