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

/** The first answer that is not 200: an earlier one may be a second old. */
const unready = () =>
  until(async () => {
    const answer = await probe("/readyz");
    return answer.status === 200 ? undefined : answer;
  });

const ready = { status: 200, body: { status: "ready", postgres: "ok", migrations: "ok", queue: "ok" } };

afterEach(() => proxy.open());
afterAll(async () => {
  await stop();
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
  await proxy.close();
});

test("a working process is healthy and ready", async () => {
  expect(await probe("/healthz")).toEqual({ status: 200, body: { status: "ok", version } });
  expect(await probe("/readyz")).toEqual(ready);
});

test("without Postgres a process is healthy but answers 503 on /readyz, and recovers without a restart", async () => {
  const box = `/api/v1/boxes/${await listBox(await bakery(client))}`;
  expect((await client.get(box)).status).toBe(200);

  await proxy.close();
  expect(await probe("/healthz")).toMatchObject({ status: 200 });
  expect(await unready()).toMatchObject({ status: 503, body: { status: "not ready", postgres: "unreachable" } });
  const refused = await client.get(box);
  expect(refused).toMatchObject({ status: 503, body: { code: "UNAVAILABLE" } });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);

  await proxy.open();
  await until(async () => (await probe("/readyz")).status === 200);
  expect((await client.get(box)).status).toBe(200);
});

test("a Postgres that hangs is reported as unreachable within a short time", async () => {
  expect(await probe("/readyz")).toEqual(ready);
  proxy.freeze();
  expect(await unready()).toMatchObject({ status: 503, body: { postgres: "unreachable" } });
  await proxy.open();
  await until(async () => (await probe("/readyz")).status === 200);
});

test("a process that is newer than its database is not ready until the migrations are applied", async () => {
  await sql`update schema_versions set version = -version where version = 1`;
  expect(await unready()).toMatchObject({ status: 503, body: { migrations: "behind", postgres: "ok" } });
  await sql`update schema_versions set version = -version where version = -1`;
  await until(async () => (await probe("/readyz")).status === 200);
  expect(await probe("/readyz")).toEqual(ready);
});

test("dependencies are checked once a second, however many ask", async () => {
  await until(async () => {
    expect(await probe("/readyz")).toEqual(ready);
    await sql`update schema_versions set version = -version where version = 1`;
    const { status } = await probe("/readyz");
    await sql`update schema_versions set version = -version where version = -1`;
    await until(async () => (await probe("/readyz")).status === 200);
    return status === 200;
  });
});

test("a process that is stopping is not ready", async () => {
  markUnready();
  expect(await probe("/readyz")).toMatchObject({ status: 503, body: { status: "stopping" } });
  expect(await probe("/healthz")).toMatchObject({ status: 200 });
});
