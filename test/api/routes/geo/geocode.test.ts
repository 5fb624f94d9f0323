import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Character } from "../../../support/cast.js";
import { startGeocoder } from "../../../support/geocoder.js";
import { until } from "../../../support/until.js";

const geocoder = await startGeocoder();
process.env["GEOCODER"] = "openstreetmap";
process.env["GEOCODER_URL"] = geocoder.url;
process.env["GEOCODER_PER_SECOND"] = "1000";

const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { disconnect, startQueueWorker } = await import("../../../support/queue-worker.js");
const { addressChecks, geocode } = await import("../../../../queues/index.js");
const { sql } = await import("../../../../sql/db.js");
const { deleteOldGeocodes, claimGeocoderSlot } = await import("../../../../sql/queries/geocodes.js");
const { checkAddress } = await import("../../../../workers/address-checks.js");
const { findAddress } = await import("../../../../workers/geocode.js");

let api: Awaited<ReturnType<typeof startApi>>;
let anna: Character;
let workers: ReturnType<typeof startQueueWorker>[];

beforeAll(async () => {
  api = await startApi();
  anna = await cast.user(api.client);
  workers = [startQueueWorker(geocode, findAddress, 4), startQueueWorker(addressChecks, checkAddress)];
});

beforeEach(() => {
  geocoder.fail(null);
  geocoder.asked.length = 0;
});

afterAll(async () => {
  await api.stop();
  await Promise.all(workers.map((worker) => worker.stop()));
  await disconnect();
  await geocoder.stop();
});

const tower = { latitude: 55.752_1, longitude: 37.617_6 };
const find = (address: string, name = "address") =>
  anna.client.get(`/api/v1/geo/geocode?${new URLSearchParams({ [name]: address }).toString()}`);

/** A new address in the form in which the provider is asked, and which the provider knows. */
function newAddress(): string {
  const address = `tower street, ${randomUUID()}`;
  geocoder.places.set(address, tower);
  return address;
}

describe("an address", () => {
  test("is found, and requested from the provider once for all its spellings", async () => {
    const address = newAddress();
    const found = await find(address);
    expect([found.status, found.body]).toEqual([200, { ...tower, found: true }]);
    for (const same of [address, `  ${address.toUpperCase()} `, address.replace(", ", "  ,")])
      expect((await find(same, "q")).body).toEqual(found.body);
    expect(geocoder.asked).toEqual([address]);
  });

  test("is requested in a normalised form, so that one user's spelling does not decide the answer to others", async () => {
    const address = `${newAddress()}2`;
    geocoder.places.set(address, tower);
    const others = [address.replace(", ", ",;"), address.replace(/2$/, "²")];
    for (const other of others) expect((await find(other)).body).toMatchObject({ found: false });
    expect((await find(` ${address.toUpperCase()},`)).body).toMatchObject({ found: true });
    expect(geocoder.asked).toEqual([others[0]?.replace(",;", ", ;"), others[1], address]);
  });

  test("without letters or digits is not found, and the provider is not asked", async () => {
    expect((await find(" , ,")).body).toEqual({ latitude: null, longitude: null, found: false });
    expect(geocoder.asked).toEqual([]);
  });

  test("that the provider does not know is not found, and that answer is cached", async () => {
    const address = `nowhere ${randomUUID()}`;
    for (let times = 0; times < 2; times += 1) {
      const missed = await find(address);
      expect([missed.status, missed.body]).toEqual([200, { latitude: null, longitude: null, found: false }]);
    }
    expect(geocoder.asked).toHaveLength(1);
    expect(
      await sql`
        select expires_at > now() + interval '23 hours' and expires_at < now() + interval '25 hours' as "aDay"
        from geocodes where address = ${address}`,
    ).toMatchObject([{ aDay: true }]);
  });

  test("is requested once for a hundred concurrent requests", async () => {
    const address = newAddress();
    const replies = await Promise.all(Array.from({ length: 100 }, () => find(address)));
    for (const { status, body } of replies) expect([status, body["found"]]).toEqual([200, true]);
    expect(geocoder.asked).toEqual([address]);
  });

  test("is requested again when its cached answer has expired", async () => {
    const address = newAddress();
    await find(address);
    await sql`update geocodes set expires_at = now() where address = ${address}`;
    geocoder.places.set(address, { latitude: 1, longitude: 2 });
    expect((await find(address)).body).toEqual({ latitude: 1, longitude: 2, found: true });
    expect(geocoder.asked).toHaveLength(2);
  });

  test.each([500, 503, 429, 403])(
    "is 503 UNAVAILABLE for half a minute after the provider answers %i, and is then requested again",
    async (status) => {
      const address = newAddress();
      geocoder.fail(status);
      const refused = await find(address);
      expect(outcome(refused)).toBe("503 UNAVAILABLE");
      expect(refused.headers.get("retry-after")).toBe("30");
      geocoder.fail(null);
      const again = await find(address);
      expect([outcome(again), again.headers.get("retry-after")]).toEqual(["503 UNAVAILABLE", "30"]);
      expect(geocoder.asked).toEqual([address]);
      await sql`update geocodes set asked_at = asked_at - interval '30 seconds' where address = ${address}`;
      expect((await find(address)).body).toEqual({ ...tower, found: true });
    },
  );

  test("is found for the next caller after the first has disconnected", async () => {
    const address = newAddress();
    const release = geocoder.hold();
    const leaving = new AbortController();
    const url = `${api.client.url}/api/v1/geo/geocode?${new URLSearchParams({ address }).toString()}`;
    const request = fetch(url, {
      headers: { authorization: `Bearer ${anna.client.token ?? ""}` },
      signal: leaving.signal,
    });
    await until(() => geocoder.asked.includes(address));
    leaving.abort();
    await expect(request).rejects.toThrow();
    release();
    expect((await find(address)).body).toEqual({ ...tower, found: true });
    expect(geocoder.asked).toHaveLength(1);
  });

  test.each(["", "ab", "x".repeat(301), "a\u0000bc"])("%j: 400 VALIDATION_ERROR", async (address) => {
    expect(outcome(await find(address))).toBe("400 VALIDATION_ERROR");
    expect(outcome(await anna.client.get("/api/v1/geo/geocode"))).toBe("400 VALIDATION_ERROR");
  });

  test("is not in any job's payload", async () => {
    const address = newAddress();
    await find(address);
    const [job] = await sql<{ text: string }[]>`
      select j::text as text from staged_jobs j where queue = 'geocode' order by id desc limit 1`;
    expect(job?.text).not.toMatch(/tower/i);
  });

  test("is deleted when it has not been requested for a week", async () => {
    const [old, kept] = [newAddress(), newAddress()];
    await find(old);
    await find(kept);
    await sql`
      update geocodes set asked_at = now() - interval '8 days', expires_at = now() - interval '1 day' where address = ${old}`;
    expect(await deleteOldGeocodes(sql, 100)).toBe(1);
    expect(await sql`select address from geocodes where address in (${old}, ${kept})`).toMatchObject([
      { address: kept },
    ]);
  });
});

test("the provider is called no faster than its limit", async () => {
  const start = performance.now();
  let last = 0;
  for (let n = 0; n < 5; n += 1) last = await claimGeocoderSlot(sql, 2);
  // the fifth call is two seconds after the first, which was not before `start`
  expect(last + performance.now() - start).toBeGreaterThanOrEqual(1_995);
  expect(last).toBeLessThanOrEqual(2_005);
});

describe("a partner's address", () => {
  const register = async (address: string, latitude: number) => {
    const { body } = await api.client.post("/api/v1/partners/register", {
      ...cast.bakeryProfile,
      address,
      latitude,
      longitude: tower.longitude,
    });
    return String(body["id"]);
  };
  const listed = async (id: string) => {
    const admin = await cast.admin(api.client);
    return (await admin.client.get("/api/v1/admin/partners?limit=200")).list.find((partner) => partner["id"] === id);
  };
  const checked = (id: string) =>
    until(async () => {
      const partner = await listed(id);
      return partner?.["addressDistanceMeters"] === null ? undefined : partner;
    });

  test("is compared with the partner's coordinates, and admins see the distance", async () => {
    const near = await register(newAddress(), tower.latitude + 0.001);
    const far = await register(newAddress(), tower.latitude + 0.1);
    expect(await checked(near)).toMatchObject({
      addressDistanceMeters: expect.closeTo(111.2, 0),
      addressDoubtful: false,
    });
    expect(await checked(far)).toMatchObject({
      addressDistanceMeters: expect.closeTo(11_119.5, 0),
      addressDoubtful: true,
    });
    expect((await listed(far))?.["status"]).toBe("PENDING_REVIEW");
  });

  test("that is not found shows no distance", async () => {
    const id = await register(`Nowhere ${randomUUID()}`, tower.latitude);
    await until(
      async () =>
        (await sql`select from staged_jobs where payload ->> 'partnerId' = ${id} and done_at is not null`).count === 1,
    );
    expect(await listed(id)).toMatchObject({ addressDistanceMeters: null, addressDoubtful: false });
  });

  test("is checked again when the partner's location changes", async () => {
    const { id, owner } = await cast.bakery(api.client);
    const address = newAddress();
    await owner.client.put("/api/v1/partners/me", { address, latitude: tower.latitude, longitude: tower.longitude });
    expect(await checked(id)).toMatchObject({ addressDistanceMeters: 0 });
    await owner.client.put("/api/v1/partners/me", { name: "Другая" });
    expect(await listed(id)).toMatchObject({ addressDistanceMeters: 0 });
    await owner.client.put("/api/v1/partners/me", { latitude: tower.latitude + 0.1 });
    expect(await checked(id)).toMatchObject({ addressDoubtful: true });
  });

  test("is checked after the provider is back", async () => {
    geocoder.fail(503);
    const address = newAddress();
    const id = await register(address, tower.latitude);
    await until(
      async () =>
        (
          await sql`select from staged_jobs where payload ->> 'partnerId' = ${id} and attempts = 1 and last_error is not null`
        ).count === 1,
    );
    geocoder.fail(null);
    await sql`update staged_jobs set run_at = now(), next_send_at = now() where payload ->> 'partnerId' = ${id}`;
    expect(await checked(id)).toMatchObject({ addressDistanceMeters: 0 });
  });
});
