import { afterAll, beforeEach, expect, test } from "@jest/globals";

process.env["TRUST_PROXY"] = "1";
process.env["REGISTRATIONS_PER_ADDRESS"] = "3";

const { startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { tally, times } = await import("../../../support/logins.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");

const { client, stop } = await startApi();

afterAll(async () => {
  await stop();
  await closeDatabase();
});

beforeEach(() => sql`delete from action_counts`);

const register = (as = client, address = "192.0.2.7") =>
  as.post("/api/v1/partners/register", cast.bakeryProfile, { headers: { "x-forwarded-for": address } });

test("an address registers so many partners an hour without a token, also at once", async () => {
  const replies = await Promise.all(times(10, () => register()));
  expect(tally(replies)).toEqual({ "201": 3, "429 RATE_LIMIT": 7 });
  const refused = replies.find(({ status }) => status === 429);
  expect(refused?.body["retryAfterSeconds"]).toBeGreaterThan(3_500);
  expect((await register(client, "192.0.2.8")).status).toBe(201);
  await sql`update action_counts set ends_at = ends_at - interval '1 hour'`;
  expect((await register()).status).toBe(201);
});

test("registrations with a token do not count", async () => {
  const owners = await Promise.all(times(5, () => cast.user(client)));
  expect(tally(await Promise.all(owners.map((owner) => register(owner.client))))).toEqual({ "201": 5 });
  expect((await register()).status).toBe(201);
});
