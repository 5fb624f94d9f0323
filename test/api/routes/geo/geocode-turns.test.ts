import { randomUUID } from "node:crypto";
import { afterAll, expect, test } from "@jest/globals";
import type { Character } from "../../../support/cast.js";

// no worker runs here
Object.assign(process.env, { GEOCODER: "openstreetmap", SYNC_WAIT_MS: "0" });

const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { closeSignals } = await import("../../../../sql/signals.js");
const { outcome, startApi } = await import("../../../support/api.js");
const { user } = await import("../../../support/cast.js");

const api = await startApi();

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

test("users take turns at the geocoder, however many addresses one of them looks up at once", async () => {
  const [anna, boris] = [await user(api.client), await user(api.client)];
  const lookUp = async ({ client }: Character) =>
    outcome(await client.get(`/api/v1/geo/geocode?address=${randomUUID()}`));
  expect(await Promise.all(Array.from({ length: 5 }, () => lookUp(anna)))).toEqual(Array(5).fill("202"));
  expect(await lookUp(boris)).toBe("202");
  const jobs = await sql<{ priority: number }[]>`
    select priority from staged_jobs where queue = 'geocode' order by id`;
  expect(jobs.map(({ priority }) => priority)).toEqual([0, 1, 2, 3, 4, 0]);
});
