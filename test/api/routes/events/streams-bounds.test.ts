import { connect } from "node:net";
import { afterAll, afterEach, expect, test } from "@jest/globals";
import type { Following } from "../../../support/event-stream.js";

Object.assign(process.env, { STREAMS_PER_USER: "2", STREAMS_PER_ADDRESS: "3", STREAMS_OPEN: "5" });

const { endStreams } = await import("../../../../api/routes/events/open-streams.js");
const { closeDatabase } = await import("../../../../sql/db.js");
const { closeSignals } = await import("../../../../sql/signals.js");
const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { follow } = await import("../../../support/event-stream.js");
const { until } = await import("../../../support/until.js");

const { client, stop } = await startApi();
const shops = [await cast.bakery(client), await cast.bakery(client), await cast.bakery(client)] as const;
const board = "/api/v1/partners/me/stream";
const boxes = "/api/v1/boxes/stream?cityId=moscow";
const opened: Following[] = [];

afterEach(() => {
  for (const stream of opened.splice(0)) stream.close();
});

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

/** Opens a stream, once the places of closed ones are released. */
const open = (as: typeof client, path: string) =>
  until(async () => {
    const stream = await follow(as, path);
    if (stream.response.statusCode !== 200) return false;
    opened.push(stream);
    return stream;
  });

async function refused(as: typeof client, path: string): Promise<unknown[]> {
  const reply = await as.get(path);
  return [outcome(reply), reply.body["reason"], reply.headers.get("retry-after")];
}

test("a user may have only some, and has a place again when one is closed", async () => {
  const { owner } = shops[0];
  const [first] = [await open(owner.client, board), await open(owner.client, board)];
  expect(await refused(owner.client, board)).toEqual(["429 RATE_LIMIT", "TOO_MANY_STREAMS", "30"]);
  await open(shops[1].owner.client, board);
  first.close();
  await open(owner.client, board);
});

test("so may an address without a token", async () => {
  for (let n = 0; n < 3; n += 1) await open(client, boxes);
  expect(await refused(client, boxes)).toEqual(["429 RATE_LIMIT", "TOO_MANY_STREAMS", "30"]);
  await open(shops[0].owner.client, board);
});

test("a connection that asks for several gives all their places back when it is closed", async () => {
  const { hostname, port } = new URL(client.url);
  const socket = connect(Number(port), hostname);
  socket.write(`GET ${boxes} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(3));
  await until(async () => {
    const further = await follow(client, boxes);
    further.close();
    return further.response.statusCode === 429;
  });
  socket.destroy();
  for (let n = 0; n < 3; n += 1) await open(client, boxes);
});

test("a process has only some for all", async () => {
  for (let n = 0; n < 3; n += 1) await open(client, boxes);
  for (const { owner } of shops.slice(0, 2)) await open(owner.client, board);
  expect(await refused(shops[2].owner.client, board)).toEqual(["503 UNAVAILABLE", "STREAMS_FULL", "30"]);
  expect(await refused(client, "/api/v1/boxes?cityId=moscow")).toEqual(["200", undefined, null]);
});

test("those without a token leave places to users", async () => {
  for (const { owner } of shops) await open(owner.client, board);
  expect(await refused(client, boxes)).toEqual(["503 UNAVAILABLE", "STREAMS_FULL", "30"]);
  await open(shops[0].owner.client, board);
});

// the last test, because no stream begins afterwards
test("all end when the process stops, and none begins", async () => {
  const streams = [await open(client, boxes), await open(shops[0].owner.client, board)];
  endStreams();
  await until(() => streams.every(({ hasEnded }) => hasEnded));
  expect(await refused(shops[0].owner.client, board)).toEqual(["503 UNAVAILABLE", "STREAMS_FULL", "30"]);
});
