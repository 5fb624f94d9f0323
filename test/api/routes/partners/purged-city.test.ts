import { afterAll, expect, test } from "@jest/globals";
import type { Db } from "../../../../sql/db.js";

const { closeDatabase, sql, transaction } = await import("../../../../sql/db.js");
const { runUpkeep } = await import("../../../../workers/upkeep.js");
const { outcome, startApi } = await import("../../../support/api.js");
const { bakery, bakeryProfile } = await import("../../../support/cast.js");
const { countBlocked, lockRows } = await import("../../../support/locks.js");
const { task } = await import("../../../support/task.js");
const { until } = await import("../../../support/until.js");

const api = await startApi();

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const pause = (tx: Db) => tx`select from pg_advisory_xact_lock(4711)`;

test("a city is not purged in the instant in which a partner moves or registers there", async () => {
  const seller = await bakery(api.client);
  // partners wait after they are written, and before Postgres checks that their city exists
  await transaction(async (tx) => {
    await tx`
      create function pause() returns trigger language plpgsql
      as $$ begin perform pg_advisory_xact_lock(4711); return null; end $$`;
    await tx`
      create trigger "A pause" after insert or update of city_id on partners for each row execute function pause()`;
  });
  const requests = [
    ["tula", () => api.client.post("/api/v1/partners/register", { ...bakeryProfile, cityId: "tula" }), "201"],
    ["tver", () => seller.owner.client.put("/api/v1/partners/me", { cityId: "tver" }), "200"],
  ] as const;
  for (const [city, send, expected] of requests) {
    await sql`
      insert into cities (id, name, timezone, created_at)
      values (${city}, ${city}, 'Europe/Moscow', now() - interval '2 days')`;
    const resume = await lockRows(pause);
    const sent = send();
    await until(async () => (await countBlocked()) === 1);
    await runUpkeep(task({ task: "purge-registrations" }));
    await resume();
    expect(outcome(await sent)).toBe(expected);
  }
});
