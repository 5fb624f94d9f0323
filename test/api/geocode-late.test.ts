import { afterAll, expect, test } from "@jest/globals";
import { startGeocoder } from "../support/geocoder.js";
import { until } from "../support/until.js";

const geocoder = await startGeocoder();
process.env["GEOCODER"] = "openstreetmap";
process.env["GEOCODER_URL"] = geocoder.url;
process.env["SYNC_WAIT_MS"] = "0";

const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { closeBroker } = await import("../../queues/broker.js");
const { geocode } = await import("../../queues/index.js");
const { closeDatabase } = await import("../../sql/db.js");
const { closeSignals } = await import("../../sql/signals.js");
const { consume } = await import("../../workers/consume.js");
const { findAddress } = await import("../../workers/geocode.js");
const { startRelay } = await import("../../workers/relay.js");

const api = await startApi();

afterAll(async () => {
  await api.stop();
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
  await geocoder.stop();
});

test("whoever cannot wait is told where to look again, and the answer is there once a worker runs", async () => {
  geocoder.places.set("Kremlin", { latitude: 55.752, longitude: 37.6175 });
  const anna = await cast.user(api.client);
  const path = "/api/v1/geo/geocode?address=Kremlin";
  const first = await anna.client.get(path);
  expect([first.status, first.body, first.headers.get("location")]).toEqual([202, {}, path]);
  const relay = startRelay([geocode]);
  const consumer = consume(geocode, findAddress, { concurrency: 1, signal: new AbortController().signal });
  const found = await until(async () => {
    const reply = await anna.client.get(String(first.headers.get("location")));
    return reply.status === 200 ? reply : undefined;
  });
  expect(found.body).toEqual({ latitude: 55.752, longitude: 37.6175, found: true });
  expect(geocoder.asked).toEqual(["Kremlin"]);

  geocoder.fail(503);
  const failed = await until(async () => {
    const reply = await anna.client.get("/api/v1/geo/geocode?address=Atlantis");
    return reply.status === 202 ? undefined : reply;
  });
  expect([failed.status, failed.headers.get("retry-after")]).toEqual([503, "30"]);
  expect((await anna.client.get("/api/v1/geo/geocode?address=Atlantis")).status).toBe(503);
  expect(geocoder.asked).toEqual(["Kremlin", "Atlantis"]);
  await Promise.all([relay.stop(), consumer.close()]);
});
