import { afterAll, expect, test } from "@jest/globals";
import { until } from "../../../support/until.js";

process.env["SYNC_WAIT_MS"] = "50";

const { startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { disconnect, startQueueWorker } = await import("../../../support/queue-worker.js");
const { menuImport } = await import("../../../../queues/index.js");
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
  expect([sent.status, sent.body, sent.headers.get("location")]).toEqual([202, { importId }, location]);
  expect((await owner.client.get(location)).body).toEqual({
    importId,
    status: "QUEUED",
    progress: 0,
    created: 0,
    updated: 0,
    failed: 0,
    errors: [],
  });

  const worker = startQueueWorker(menuImport, importMenu);
  const done = await until(async () => {
    const { body } = await owner.client.get(location);
    return body["status"] === "DONE" && body;
  });
  expect(done).toMatchObject({ progress: 1, created: 1, updated: 0, failed: 0 });
  await worker.stop();
});
