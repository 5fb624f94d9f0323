import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { startOwnPostgres, type OwnPostgres, type RunningPostgres } from "../../support/own-postgres.js";
import { describeWithPgbouncer, keepsPrepared, startPgbouncer, type TestPooler } from "../../support/pgbouncer.js";
import { runScript } from "../../support/run-script.js";
import { until } from "../../support/until.js";

const SEARCH_TIMEOUT_MS = 300;

describeWithPgbouncer("a replica behind a pooler by transaction", () => {
  let primary: OwnPostgres;
  let replica: RunningPostgres;
  const poolers: TestPooler[] = [];
  let imported: number;
  let database: typeof import("../../../sql/db.js");

  beforeAll(async () => {
    primary = await startOwnPostgres();
    replica = await primary.replicate();
    for (const { url } of [primary, replica]) poolers.push(await startPgbouncer(url));
    const [DATABASE_URL = "", DATABASE_REPLICA_URLS = ""] = poolers.map(({ url }) => url);
    Object.assign(process.env, {
      DATABASE_URL,
      DATABASE_DIRECT_URL: primary.url,
      DATABASE_REPLICA_URLS,
      DATABASE_PREPARE: keepsPrepared ? "1" : "0",
      DATABASE_TIMEOUT_MS: "10000",
      SEARCH_TIMEOUT_MS: String(SEARCH_TIMEOUT_MS),
    });
    database = await import("../../../sql/db.js");
    imported = performance.now();
  });

  afterAll(async () => {
    await database.closeDatabase();
    await Promise.all(poolers.map((pooler) => pooler.stop()));
    await replica.stop();
    await primary.stop();
  });

  const state = () => {
    const [first] = database.replicaStats().replicas;
    if (!first) throw new Error("there is no replica");
    return first;
  };
  const ask = () => database.reports<{ copy: boolean; timeout: string }[]>`
    select pg_is_in_recovery() as copy, current_setting('statement_timeout') as timeout`;

  /** What `npm run check` says of the replica. */
  const check = async () => {
    const { output } = await runScript("check/main", [], { NODE_ENV: "development" });
    return /^Replicas +(.+)$/m.exec(output)?.[1];
  };

  test("is read once its sessions have the timeouts that migrate sets", async () => {
    const { migrate } = await import("../../../sql/migrate.js");
    const { sessionSettings } = await import("../../../sql/driver/session-settings.js");
    // while it is not known how far the replica is, its lag is the time since the import
    await until(() => state().lagSeconds < (performance.now() - imported) / 1_000);
    expect(await ask()).toEqual([{ copy: false, timeout: "0" }]);
    expect(state().reads).toEqual({ answered: 0, empty: 0, failed: 0 });
    expect(await check()).toMatch(/^warning +\S+ through the pooler statement_timeout is 0/);

    await migrate(primary.url, undefined, sessionSettings);
    // sessions keep what they began with
    for (const pooler of poolers) {
      await pooler.kill();
      await pooler.restart();
    }
    expect(await until(async () => (await ask().catch(() => [])).find(({ copy }) => copy))).toEqual({
      copy: true,
      timeout: "10s",
    });
    expect(await check()).toMatch(/^ok +\S+ follows, .+ behind, with the timeouts of the configuration$/);
  });

  test("ends a search sooner than a report", async () => {
    const search = database.searchesOf("anyone", 1, true);
    const shown = () => search<{ copy: boolean; timeout: string }[]>`
      select pg_is_in_recovery() as copy, current_setting('statement_timeout') as timeout`;
    expect(await until(async () => (await shown()).find(({ copy }) => copy))).toEqual({
      copy: true,
      timeout: `${SEARCH_TIMEOUT_MS}ms`,
    });
  });
});
