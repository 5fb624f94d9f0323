import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { closeDatabase, databaseStats, searchesOf, sql } from "../../sql/db.js";
import { outcome, startApi } from "../support/api.js";
import * as cast from "../support/cast.js";
import { lockRows } from "../support/locks.js";
import { until } from "../support/until.js";

let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

/** Keeps searches running until it is released. */
const lock = () => lockRows((tx) => tx`select pg_advisory_xact_lock(1)`);
const search = (client: string, rows: number) => searchesOf(client, rows)`select pg_advisory_xact_lock_shared(1)`;

test("a flood of searches delays other searches, and no other request", async () => {
  const bakery = await cast.bakery(api.client);
  const boxId = await cast.listBox(bakery);
  const release = await lock();
  const flood = Array.from({ length: 100 }, (_, n) => search(`client ${n}`, 51));
  const answered: string[] = [];
  const ask = async (client: cast.Character["client"], path: string) => {
    const reply = await client.get(`/api/v1${path}`);
    answered.push(path);
    return outcome(reply);
  };
  const delayed = [
    "/boxes",
    "/boxes?cityId=moscow",
    "/boxes?lat=55.7&lng=37.6&radius=50000&limit=200",
    `/boxes/by-partner/${bakery.id}`,
    "/cities",
    "/geo/partners/nearby?lat=55.7&lng=37.6",
    `/reviews/partners/${bakery.id}`,
  ].map((path) => ask(api.client, path));
  const others = [
    "/users/me",
    "/partners/me",
    `/partners/${bakery.id}`,
    `/boxes/${boxId}`,
    `/boxes/by-partner/${bakery.id}?all=true`,
  ];
  expect(await Promise.all(others.map((path) => ask(bakery.owner.client, path)))).toEqual(others.map(() => "200"));
  expect(answered.toSorted()).toEqual(others.toSorted());
  await release();
  expect(await Promise.all(delayed)).toEqual(delayed.map(() => "200"));
  await Promise.all(flood);
});

test("requests count as searches of their client address", async () => {
  const { owner } = await cast.bakery(api.client);
  const release = await lock();
  const flood = Array.from({ length: 8 }, () => search("127.0.0.1", 51));
  const running = () => databaseStats().statements.running;
  await until(() => running() === 8);
  const cities = api.client.get("/api/v1/cities");
  for (let n = 0; n < 5; n += 1) expect(outcome(await owner.client.get("/api/v1/users/me"))).toBe("200");
  const inFlight = running();
  await release();
  expect(inFlight).toBe(8);
  expect(outcome(await cities)).toBe("200");
  await Promise.all(flood);
});

test.each([
  [51, 8],
  [101, 2],
  [201, 1],
])("of searches for %i rows, one client has %i running, and all clients twice as many", async (rows, share) => {
  const release = await lock();
  const flood = (client: string) => Array.from({ length: 20 }, () => search(client, rows));
  const running = () => databaseStats().statements.running;
  const searches = flood("one");
  await until(() => running() === share);
  searches.push(...flood("another"));
  await until(() => running() === 2 * share);
  searches.push(...flood("a third"));
  // those that may run were sent before this
  await sql`select`;
  // a statement of the API itself may run for a moment; one search too many would stay
  await until(() => running() === 2 * share);
  await release();
  await Promise.all(searches);
});
