import { afterAll, expect, test } from "@jest/globals";
import { until } from "../../../support/until.js";

process.env["SYNC_WAIT_MS"] = "50";

const { startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { disconnect, startQueueWorker } = await import("../../../support/queue-worker.js");
const { menuImport } = await import("../../../../queues/index.js");
const { sql } = await import("../../../../sql/db.js");
const { importMenu } = await import("../../../../workers/menu-import.js");

const api = await startApi();

afterAll(async () => {
  await api.stop();
  await disconnect();
});

test("without a worker the import waits and the answer says where to look; a worker that starts runs it", async () => {
  const { owner } = await cast.bakery(api.client);
  const sent = await owner.client.post("/api/v1/menu/import/csv", "name,category,price\nБагет,Хлеб,120\n", {
    headers: { "content-type": "text/csv" },
  });
  const importId = sent.string("importId");
  const location = `/api/v1/menu/import/csv/${importId}`;
  const progress = {
    importId,
    status: "QUEUED",
    progress: 0,
    estimatedEndAt: null,
    created: 0,
    updated: 0,
    failed: 0,
  };
  expect([sent.status, sent.body, sent.headers.get("location")]).toEqual([202, progress, location]);
  expect((await owner.client.get(location)).body).toEqual({ ...progress, errors: [] });

  const worker = startQueueWorker(menuImport, importMenu);
  const done = await until(async () => {
    const { body } = await owner.client.get(location);
    return body["status"] === "DONE" && body;
  });
  expect(done).toMatchObject({ progress: 1, estimatedEndAt: null, created: 1, updated: 0, failed: 0 });
  await worker.stop();
});

test("the end of an import is estimated from its pace since it was started", async () => {
  const { owner } = await cast.bakery(api.client);
  const sent = await owner.client.post("/api/v1/menu/import/csv", "name,category,price\nБагет,Хлеб,120\n", {
    headers: { "content-type": "text/csv" },
  });
  const importId = sent.string("importId");
  const read = async () => (await owner.client.get(`/api/v1/menu/import/csv/${importId}`)).body;
  await sql`
    update menu_imports
    set status = 'RUNNING', size = 1000, position = 250, rows_created = 7, started_at = now() - interval '1 minute'
    where id = ${importId}::uuid`;
  const { progress, estimatedEndAt } = await read();
  expect(progress).toBe(0.25);
  // a minute for a quarter, so about three for the rest
  expect(Date.parse(String(estimatedEndAt)) - Date.now()).toBeGreaterThan(2 * 60_000);
  await sql`
    update menu_imports set status = 'FAILED', failure = 'a test', settled_at = now() where id = ${importId}::uuid`;
  expect(await read()).toMatchObject({ progress: 0.25, estimatedEndAt: null });
});
