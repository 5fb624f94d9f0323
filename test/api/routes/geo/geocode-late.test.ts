import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Character } from "../../../support/cast.js";
import { stopTheClock } from "../../../support/clock.js";
import { startGeocoder } from "../../../support/geocoder.js";
import { until } from "../../../support/until.js";

const geocoder = await startGeocoder();
process.env["GEOCODER"] = "openstreetmap";
process.env["GEOCODER_URL"] = geocoder.url;
process.env["SYNC_WAIT_MS"] = "0";

const { outcome, startApi } = await import("../../../support/api.js");
const { tally, times } = await import("../../../support/logins.js");
const cast = await import("../../../support/cast.js");
const { disconnect, startQueueWorker } = await import("../../../support/queue-worker.js");
const { geocode } = await import("../../../../queues/index.js");
const { sql } = await import("../../../../sql/db.js");
const { findAddress } = await import("../../../../workers/geocode.js");

const startMinute = stopTheClock();
startMinute();

const api = await startApi();

beforeEach(startMinute);

afterAll(async () => {
  await api.stop();
  await disconnect();
  await geocoder.stop();
});

test("a request that is not answered in time says where to look again, and a worker provides the result", async () => {
  geocoder.places.set("kremlin", { latitude: 55.752, longitude: 37.6175 });
  const anna = await cast.user(api.client);
  const path = "/api/v1/geo/geocode?address=Kremlin";
  const first = await anna.client.get(path);
  expect([first.status, first.body, first.headers.get("location")]).toEqual([202, {}, path]);
  const worker = startQueueWorker(geocode, findAddress);
  const found = await until(async () => {
    const reply = await anna.client.get(String(first.headers.get("location")));
    return reply.status === 200 ? reply : undefined;
  });
  expect(found.body).toEqual({ latitude: 55.752, longitude: 37.6175, found: true });
  expect(geocoder.asked).toEqual(["kremlin"]);

  geocoder.fail(503);
  const failed = await until(async () => {
    const reply = await anna.client.get("/api/v1/geo/geocode?address=Atlantis");
    return reply.status === 202 ? undefined : reply;
  });
  expect([failed.status, failed.headers.get("retry-after")]).toEqual([503, "30"]);
  expect((await anna.client.get("/api/v1/geo/geocode?address=Atlantis")).status).toBe(503);
  expect(geocoder.asked).toEqual(["kremlin", "atlantis"]);
  await worker.stop();
});

describe("while no worker runs", () => {
  const find = ({ client }: Character, address: string) =>
    client.get(`/api/v1/geo/geocode?${new URLSearchParams({ address }).toString()}`);
  const openJobs = () => sql`select from staged_jobs where queue = 'geocode' and done_at is null and dead_at is null`;
  const makeDone = () => sql`update staged_jobs set done_at = now() where queue = 'geocode' and done_at is null`;

  beforeEach(async () => {
    await sql`delete from geocodes`;
    await makeDone();
  });

  test("a user may request 30 new addresses a minute, and any number of known ones", async () => {
    const [anna, boris] = [await cast.user(api.client), await cast.user(api.client)];
    for (let n = 0; n < 30; n += 1) expect((await find(anna, `Street ${n}`)).status).toBe(202);
    const refused = await find(anna, "Street 30");
    expect([outcome(refused), refused.headers.get("retry-after")]).toEqual(["429 RATE_LIMIT", "40"]);
    expect((await find(anna, "Street 29")).status).toBe(202);
    expect((await find(boris, "Street 30")).status).toBe(202);
    startMinute();
    expect((await find(anna, "Street 31")).status).toBe(202);
  });

  test("an address waits for at most as many as the provider allows in a minute", async () => {
    const users = await Promise.all(Array.from({ length: 65 }, () => cast.user(api.client)));
    const replies = await Promise.all(users.map((user, n) => find(user, `Street ${n}`)));
    expect(tally(replies)).toEqual({ "202": 60, "503 UNAVAILABLE": 5 });
    expect(replies.find(({ status }) => status === 503)?.headers.get("retry-after")).toBe("60");
    expect(await openJobs()).toHaveLength(60);
    const clara = await cast.user(api.client);
    const [waiting] = await sql<{ address: string }[]>`select address from geocodes where job_id is not null limit 1`;
    expect((await find(clara, waiting!.address)).status).toBe(202);
    expect((await find(clara, "Avenue")).status).toBe(503);
    // a dead job no longer counts
    await sql`
      update staged_jobs set dead_at = now()
      where id = (select job_id from geocodes where address = ${waiting!.address})`;
    expect((await find(clara, "Avenue")).status).toBe(202);
  });

  test("users with many addresses keep no other out: for an address, those that come after it do not count", async () => {
    const greedy = [await cast.user(api.client), await cast.user(api.client)];
    const asked = await Promise.all(greedy.flatMap((user, n) => times(40, (m) => find(user, `Street ${n} ${m}`))));
    expect(tally(asked)).toEqual({ "202": 60, "429 RATE_LIMIT": 20 });
    startMinute();
    expect(outcome(await find(greedy[0]!, "Street"))).toBe("503 UNAVAILABLE");
    const [clara, dora] = [await cast.user(api.client), await cast.user(api.client)];
    for (const address of ["Avenue 1", "Avenue 2"]) expect((await find(clara, address)).status).toBe(202);
    expect((await find(dora, "Avenue 3")).status).toBe(202);
    const priorities = await sql<{ priority: number }[]>`
      select priority from staged_jobs where queue = 'geocode' and done_at is null order by id desc limit 3`;
    expect(priorities.map(({ priority }) => priority)).toEqual([0, 1, 0]);
  });

  test("an address is requested again only when it has no open job", async () => {
    const anna = await cast.user(api.client);
    const again = async () => {
      await sql`update geocodes set asked_at = now() - interval '2 minutes'`;
      return (await find(anna, "Street")).status;
    };
    for (let n = 0; n < 3; n += 1) expect(await again()).toBe(202);
    expect(await openJobs()).toHaveLength(1);
    await makeDone();
    expect(await again()).toBe(202);
    expect(await openJobs()).toHaveLength(1);
  });
});
