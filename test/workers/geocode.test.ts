import { randomUUID } from "node:crypto";
import { afterAll, expect, test } from "@jest/globals";
import { startGeocoder } from "../support/geocoder.js";

const geocoder = await startGeocoder();
Object.assign(process.env, {
  GEOCODER: "openstreetmap",
  GEOCODER_URL: geocoder.url,
  GEOCODER_PER_SECOND: "1000",
});

const { addressKey, canonicalAddress } = await import("../../lib/geocoding/address-key.js");
const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { task } = await import("../support/task.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { findGeocodeById, requestGeocode } = await import("../../sql/queries/geocodes.js");
const { checkAddress } = await import("../../workers/address-checks.js");
const { findAddress } = await import("../../workers/geocode.js");
const { pausedOrigins } = await import("../../workers/slots.js");

afterAll(async () => {
  await closeDatabase();
  await geocoder.stop();
});

/** Runs the job of a new address; returns its status. */
async function ask(): Promise<string | undefined> {
  const address = canonicalAddress(`tower street, ${randomUUID()}`);
  const geocodeId = (await requestGeocode(sql, addressKey(address), address)) ?? "";
  await findAddress(task({ geocodeId }));
  return (await findGeocodeById(sql, geocodeId))?.status;
}

test("a provider that leaves five calls in a row unanswered is not called for a while", async () => {
  const api = await startApi();
  const partner = await cast.bakery(api.client);
  await api.stop();
  geocoder.silence(true);
  const began = Date.now();
  for (let n = 0; n < 5; n += 1) expect(await ask()).toBe("FAILED");
  expect(geocoder.asked).toHaveLength(5);

  // a user who waits is answered at once, and a check of a partner waits
  expect(await ask()).toBe("FAILED");
  const check = checkAddress(task({ partnerId: partner.id }));
  await expect(check).rejects.toMatchObject({ name: "Snooze" });
  expect(geocoder.asked).toHaveLength(5);
  const [paused] = pausedOrigins();
  expect(paused).toMatchObject({ queue: "geocode", origin: "openstreetmap" });
  expect(paused!.since.getTime()).toBeGreaterThanOrEqual(began - 1);
  expect(paused!.until.getTime() - paused!.since.getTime()).toBe(5_000);
});
