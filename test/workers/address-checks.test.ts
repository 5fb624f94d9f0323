import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { Character } from "../support/cast.js";
import { startGeocoder } from "../support/geocoder.js";
import { until } from "../support/until.js";

const geocoder = await startGeocoder();
process.env["GEOCODER"] = "openstreetmap";
process.env["GEOCODER_URL"] = geocoder.url;
process.env["GEOCODER_PER_SECOND"] = "1000";
process.env["SYNC_WAIT_MS"] = "0";

const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { task } = await import("../support/task.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { closeSignals } = await import("../../sql/signals.js");
const { checkAddress } = await import("../../workers/address-checks.js");
const { findAddress } = await import("../../workers/geocode.js");

let api: Awaited<ReturnType<typeof startApi>>;
let anna: Character;

beforeAll(async () => {
  api = await startApi();
  anna = await cast.user(api.client);
});

beforeEach(async () => {
  geocoder.asked.length = 0;
  await sql`delete from geocodes`;
  await sql`update staged_jobs set done_at = now() where done_at is null`;
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
  await geocoder.stop();
});

const register = async (address: string) =>
  (await api.client.post("/api/v1/partners/register", { ...cast.bakeryProfile, address })).string("id");
const openJobs = () => sql<{ queue: string; payload: Record<string, unknown> }[]>`
  select queue, payload from staged_jobs where queue in ('geocode', 'address-checks') and done_at is null order by id`;
const distanceOf = async (id: string) =>
  (
    await sql<{ distance: number | null }[]>`select address_distance as distance from partners where id = ${id}::uuid`
  )[0]?.distance;

test("a registration is checked while no request waits for the geocoder", async () => {
  const partnerId = await register("Кремль");
  geocoder.places.set("кремль", cast.bakeryProfile);
  expect((await anna.client.get("/api/v1/geo/geocode?address=Tower")).status).toBe(202);
  const [check, lookup] = await openJobs();
  expect([check, lookup]).toMatchObject([
    { queue: "address-checks", payload: { partnerId } },
    { queue: "geocode", payload: { geocodeId: expect.any(String) } },
  ]);

  await expect(checkAddress(task({ partnerId }))).rejects.toThrow("snoozed until");
  expect(geocoder.asked).toEqual([]);
  await findAddress(task({ geocodeId: String(lookup?.payload["geocodeId"]) }));
  await checkAddress(task({ partnerId }));
  expect(geocoder.asked).toEqual(["tower", "кремль"]);
  expect(await distanceOf(partnerId)).toBe(0);
});

test("any number of registrations leave the places of those who wait free", async () => {
  for (let n = 0; n < 70; n += 1) await register(`Street ${n}`);
  expect((await anna.client.get("/api/v1/geo/geocode?address=Tower")).status).toBe(202);
  expect((await openJobs()).filter(({ queue }) => queue === "geocode")).toHaveLength(1);
});

test("an address that is in the cache is compared at once", async () => {
  await anna.client.get("/api/v1/geo/geocode?address=Кремль");
  await sql`
    update geocodes set status = 'FOUND', latitude = 55.7575, longitude = 37.6135, expires_at = now() + interval '1 day'`;
  expect((await anna.client.get("/api/v1/geo/geocode?address=Tower")).status).toBe(202);
  const partnerId = await register("Кремль");
  await checkAddress(task({ partnerId }));
  expect(await distanceOf(partnerId)).toBe(0);
  expect(geocoder.asked).toEqual([]);
});

test("a partner has one open check, which compares the address that it has in the end", async () => {
  const { id: partnerId, owner } = await cast.bakery(api.client);
  for (const address of ["Кремль", "Башня"]) await owner.client.put("/api/v1/partners/me", { address });
  expect(await openJobs()).toHaveLength(1);

  const release = geocoder.hold();
  const checking = checkAddress(task({ partnerId }));
  checking.catch(() => undefined);
  await until(() => geocoder.asked.length > 0);
  await owner.client.put("/api/v1/partners/me", { address: "Мост" });
  release();
  await expect(checking).rejects.toThrow("snoozed until");
  geocoder.places.set("мост", cast.bakeryProfile);
  await checkAddress(task({ partnerId }));
  expect(await distanceOf(partnerId)).toBe(0);
});

test("the check of a deleted registration does nothing", async () => {
  const partnerId = await register("Кремль");
  await sql`delete from partners where id = ${partnerId}::uuid`;
  await expect(checkAddress(task({ partnerId }))).resolves.toBeUndefined();
});
