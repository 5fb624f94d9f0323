import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { sweepStreams } from "../../../api/routes/events/open-streams.js";
import {
  followBoxes,
  followOrder,
  followPartner,
  openSession,
  Refused,
  type Session,
} from "../../../scripts/client/src/index.js";
import { readMessages } from "../../../scripts/client/src/server-sent-events.js";
import { accessTokenSeconds } from "../../../lib/security/tokens.js";
import { closeDatabase, sql } from "../../../sql/db.js";
import { numberEvents } from "../../../sql/queries/events.js";
import { closeSignals } from "../../../sql/signals.js";
import { startApi } from "../../support/api.js";
import * as cast from "../../support/cast.js";
import { order } from "../../support/orders.js";

const api = await startApi();
let shop: cast.Bakery;
let customer: cast.Character;

beforeAll(async () => {
  [shop, customer] = [await cast.bakery(api.client), await cast.user(api.client)];
  await number();
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

async function number(): Promise<void> {
  while ((await numberEvents(sql, 1_000)) > 0);
}

async function happen(type: string): Promise<void> {
  await sql`select record_event(${type}::text, ${shop.id}::uuid, '{}')`;
  await number();
}

/** The session of a test user, whose requests go through `send`. */
function sessionOf({ client }: Pick<cast.Character, "client">, send: typeof fetch = fetch): Session {
  const session = openSession({ baseUrl: client.url, fetch: send });
  return { ...session, fetch: (address, init) => session.fetch(address, withToken(init, client.token ?? "")) };
}

function withToken(init: RequestInit | undefined, token: string): RequestInit {
  const headers = new Headers(init?.headers);
  headers.set("authorization", `Bearer ${token}`);
  return { ...init, headers };
}

/** A `fetch` without streaming, like that of React Native. */
const withoutStreams: typeof fetch = async (address, init) => {
  const answer = await fetch(address, init);
  if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) return answer;
  await answer.body?.cancel();
  return new Response(null, { status: answer.status, headers: answer.headers });
};

/** Reads as many messages as `whenRead` has steps, and runs a step after each message. */
async function typesRead(
  messages: AsyncIterable<{ type: string }>,
  whenRead: readonly (() => unknown)[],
): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of messages) {
    types.push(type);
    const step = whenRead[types.length - 1];
    if (!step) break;
    await step();
  }
  return types;
}

test("a partner's events come as they happen, also after a connection that has ended", async () => {
  const events = followPartner(sessionOf(shop.owner));
  const types = await typesRead(events, [
    () => happen("box.expired"),
    async () => {
      sweepStreams(performance.now() + accessTokenSeconds * 1_000);
      await happen("order.placed");
      await happen("box.back");
    },
    () => undefined,
  ]);
  expect(types).toEqual(["start", "box.expired", "order.placed", "box.back"]);
});

test("a start of the app goes on where the last one has ended", async () => {
  let last = 0;
  for await (const { position } of followPartner(sessionOf(shop.owner))) {
    last = position ?? 0;
    break;
  }
  await happen("box.expired");
  const types = await typesRead(followPartner(sessionOf(shop.owner), { after: last }), []);
  expect(types).toEqual(["box.expired"]);
});

test("where streams do not work a partner's events come by polling", async () => {
  const events = followPartner(sessionOf(shop.owner, withoutStreams));
  const steps = [() => happen("box.expired"), () => happen("order.placed")];
  expect(await typesRead(events, steps)).toEqual(["start", "box.expired", "order.placed"]);
});

test("an order and a city are followed; where streams do not work, the app is told to read again", async () => {
  const boxId = await cast.listBox(shop, { price: 100, quantity: 5 });
  const id = (await order(customer, shop, [{ boxId, qty: 1 }], 100)).string("orderId");
  await number();
  const makeReady = async () => {
    await shop.owner.client.put(`/api/v1/orders/${id}/status`, { status: "READY" });
    await number();
  };
  expect(await typesRead(followOrder({ id }, sessionOf(customer)), [makeReady])).toEqual(["start", "order.ready"]);
  const orderMore = async () => {
    await order(customer, shop, [{ boxId, qty: 1 }], 100);
    await number();
  };
  const boxes = followBoxes({ cityId: "moscow" }, sessionOf(customer));
  expect(await typesRead(boxes, [orderMore])).toEqual(["start", "availability"]);
  const polled = followOrder({ id }, sessionOf(customer, withoutStreams), { pollSeconds: 0 });
  expect(await typesRead(polled, [() => undefined])).toEqual(["start", "start"]);
});

test("what is refused is thrown, and a signal ends the loop without an error", async () => {
  await expect(typesRead(followPartner(sessionOf(customer)), [])).rejects.toThrow(Refused);
  const stop = new AbortController();
  const events = followPartner(sessionOf(shop.owner), { signal: stop.signal });
  expect(await typesRead(events, [() => stop.abort(), () => undefined])).toEqual(["start"]);
});

test("messages are read as the standard wants it, wherever they are cut", async () => {
  const text =
    ":comment\nretry: 5\n\nid: 1\r\nevent: a\r\ndata: one\r\ndata:two\r\n\r\nid: 2\r\rdata\n\ndata: unfinished";
  for (const size of [1, 2, 7, 1_000]) {
    const bytes = new TextEncoder().encode(text);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const read: unknown[] = [];
    for await (const { type, data, id, retryMs } of readMessages(body)) read.push([type, data, id, retryMs]);
    expect(read).toEqual([
      [null, "", "", 5],
      ["a", "one\ntwo", "1", 5],
      [null, "", "2", 5],
      [null, "", "2", 5],
    ]);
  }
});
