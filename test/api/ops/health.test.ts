import { afterAll, afterEach, expect, test } from "@jest/globals";
import { startProxy } from "../../support/proxy.js";
import { until } from "../../support/until.js";

const proxy = await startProxy(process.env["DATABASE_URL"] ?? "");
process.env["DATABASE_URL"] = proxy.url;
const { closeBroker } = await import("../../../queues/broker.js");
const { closeDatabase, sql } = await import("../../../sql/db.js");
const { closeSignals } = await import("../../../sql/signals.js");
const { version } = await import("../../../lib/process/version.js");
const { markUnready } = await import("../../../api/ops/health.js");
const { startApi } = await import("../../support/api.js");
const { bakery, listBox } = await import("../../support/cast.js");
const { client, stop } = await startApi();

async function probe(path: string): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(client.url + path);
  return { status: answer.status, body: await answer.json() };
}

const ready = { status: 200, body: { status: "ready", postgres: "ok", migrations: "ok", queue: "ok" } };

afterEach(() => proxy.open());
afterAll(async () => {
  await stop();
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
  await proxy.close();
});

test("a process that can do its work says so", async () => {
  expect(await probe("/healthz")).toEqual({ status: 200, body: { status: "ok", version } });
  expect(await probe("/readyz")).toEqual(ready);
});

test("without Postgres it is alive but not ready, answers 503, and needs no restart when Postgres is back", async () => {
  const box = `/api/v1/boxes/${await listBox(await bakery(client))}`;
  expect((await client.get(box)).status).toBe(200);

  await proxy.close();
  expect(await probe("/healthz")).toMatchObject({ status: 200 });
  expect(await probe("/readyz")).toMatchObject({ status: 503, body: { status: "not ready", postgres: "unreachable" } });
  const refused = await client.get(box);
  expect(refused).toMatchObject({ status: 503, body: { code: "UNAVAILABLE" } });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);

  await proxy.open();
  await until(async () => (await probe("/readyz")).status === 200);
  expect((await client.get(box)).status).toBe(200);
});

test("a Postgres that does not answer is told from one that does before anybody gets impatient", async () => {
  expect(await probe("/readyz")).toEqual(ready);
  proxy.freeze();
  expect(await probe("/readyz")).toMatchObject({ status: 503, body: { postgres: "unreachable" } });
  await proxy.open();
  await until(async () => (await probe("/readyz")).status === 200);
});

test("a process that is newer than its database waits for the migrations", async () => {
  await sql`update schema_versions set version = -version where version = 1`;
  expect(await probe("/readyz")).toMatchObject({ status: 503, body: { migrations: "behind", postgres: "ok" } });
  await sql`update schema_versions set version = -version where version = -1`;
  expect(await probe("/readyz")).toEqual(ready);
});

test("a process that is about to stop is not ready any more", async () => {
  markUnready();
  expect(await probe("/readyz")).toMatchObject({ status: 503, body: { status: "stopping" } });
  expect(await probe("/healthz")).toMatchObject({ status: 200 });
});
