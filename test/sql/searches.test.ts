import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { closeDatabase, searches } from "../../sql/db.js";
import { outcome, startApi } from "../support/api.js";
import * as cast from "../support/cast.js";
import { lockRows } from "../support/locks.js";

let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

test("a flood of searches delays other searches, and no other request", async () => {
  const bakery = await cast.bakery(api.client);
  const boxId = await cast.listBox(bakery);
  const release = await lockRows((tx) => tx`select pg_advisory_xact_lock(1)`);
  const flood = Array.from({ length: 100 }, () => searches`select pg_advisory_xact_lock_shared(1)`);
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
