import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Bakery } from "../../../support/cast.js";
import type { Following } from "../../../support/event-stream.js";
import { describeWithNginx, startNginx } from "../../../support/nginx.js";

process.env["TRUST_PROXY"] = "1";

const { config } = await import("../../../../lib/process/config.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { findLogEnds, numberEvents } = await import("../../../../sql/queries/events.js");
const { closeSignals } = await import("../../../../sql/signals.js");
const { Client, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { follow } = await import("../../../support/event-stream.js");
const { ended, startProcess } = await import("../../../support/processes.js");
const { freePort } = await import("../../../../scripts/free-port.js");
const { until } = await import("../../../support/until.js");

const api = await startApi();
const board = "/api/v1/partners/me/stream";
let shop: Bakery;
const following: Following[] = [];

beforeAll(async () => {
  shop = await cast.bakery(api.client);
  await happen(0);
});

afterEach(() => {
  for (const stream of following.splice(0)) stream.close();
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

async function happen(times: number): Promise<void> {
  await sql`
    select record_event('box.changed', ${shop.id}::uuid, '{}') from generate_series(1, ${times}::integer)`;
  while ((await numberEvents(sql, 1_000)) > 0);
}

async function open(url: string, path: string, lastSeen?: number): Promise<Following> {
  const token = path === board ? shop.owner.client.token : null;
  const stream = await follow(new Client(url, token), path, lastSeen === undefined ? {} : { lastSeen });
  following.push(stream);
  expect(stream.response.statusCode).toBe(200);
  return stream;
}

const untilMessages = (stream: Following, count: number) =>
  until(() => stream.messages.length >= count && stream.messages);

/** Starts an API in another process, as it is deployed. */
async function startOther() {
  const port = String(await freePort());
  const child = startProcess("server.ts", [], { PORT: port, HOST: "127.0.0.1", PUBLIC_URL: config.PUBLIC_URL });
  const url = `http://127.0.0.1:${port}`;
  await until(() =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return { url, child };
}

test("a client that loses its process goes on at another one, without a gap; SIGTERM ends streams at once", async () => {
  const other = await startOther();
  const lost = await open(other.url, board);
  await untilMessages(lost, 1);
  await happen(2);
  const [, , last] = await untilMessages(lost, 3);
  const gone = ended(other.child);
  other.child.kill("SIGTERM");
  await until(() => lost.hasEnded);
  await happen(3);
  const found = await open(api.client.url, board, last?.id);
  await happen(1);
  const { last: end } = await findLogEnds(sql);
  expect((await untilMessages(found, 4)).map(({ id }) => id)).toEqual([end - 3, end - 2, end - 1, end]);
  // the response ended in order, without an abort
  expect(await gone).toEqual({ code: 0, signal: null });
});

/** A cache that keeps every response unless its headers forbid it. */
const eager = (example: string) =>
  example
    .replace(/proxy_cache_bypass .*\n|proxy_no_cache .*\n/g, "")
    .replace("proxy_cache_lock", "proxy_cache_valid any 1h; $&");

describeWithNginx("behind nginx that caches what it may not", () => {
  let nginx: Awaited<ReturnType<typeof startNginx>>;

  beforeAll(async () => {
    nginx = await startNginx(api.client.url, eager);
  });
  afterAll(() => nginx.stop());

  test("messages come as they happen, to each client its own stream", async () => {
    const cities = "/api/v1/boxes/stream?cityId=moscow";
    const streams = [await open(nginx.url, board), await open(nginx.url, board)];
    const public_ = [await open(nginx.url, cities), await open(nginx.url, cities)];
    for (const stream of [...streams, ...public_]) await untilMessages(stream, 1);
    const boxId = await cast.listBox(shop);
    await happen(1);
    for (const stream of streams) await untilMessages(stream, 2);
    for (const stream of public_) await until(() => stream.raw.includes(boxId));
  });
});
