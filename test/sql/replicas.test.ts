import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Client } from "../support/api.js";
import type { Bakery } from "../support/cast.js";
import { startOwnPostgres, type OwnPostgres, type RunningPostgres } from "../support/own-postgres.js";
import { runScript } from "../support/run-script.js";
import { until } from "../support/until.js";

let primary: OwnPostgres;
let replica: RunningPostgres;
let database: typeof import("../../sql/db.js");
let cast: typeof import("../support/cast.js");
let api: Awaited<ReturnType<(typeof import("../support/api.js"))["startApi"]>>;
let client: Client;
let admin: Client;
let seller: Bakery;
let boxId: string;

beforeAll(async () => {
  primary = await startOwnPostgres();
  replica = await primary.replicate();
  Object.assign(process.env, {
    DATABASE_URL: primary.url,
    // the second is another database, and the third no replica
    DATABASE_REPLICA_URLS: [replica.url, otherDatabase(replica.url), primary.url].join(", "),
    RATE_LIMIT_DISABLED: "1",
  });
  const { migrate } = await import("../../sql/migrate.js");
  await migrate(primary.url);
  database = await import("../../sql/db.js");
  cast = await import("../support/cast.js");
  const { startApi } = await import("../support/api.js");
  api = await startApi();
  client = api.client;
  admin = (await cast.admin(client)).client;
  seller = await cast.bakery(client);
  boxId = await cast.listBox(seller);
});

afterAll(async () => {
  const { closeSignals } = await import("../../sql/signals.js");
  await api.stop();
  await closeSignals();
  await database.closeDatabase();
  await replica.stop();
  await primary.stop();
});

const otherDatabase = (url: string) => Object.assign(new URL(url), { pathname: "/postgres" }).href;

/** The state of the replica, and of what is none. */
function states() {
  const [first, ...others] = database.replicaStats().replicas;
  if (!first) throw new Error("there is no replica");
  return { first, others };
}
const answered = () => states().first.reads.answered;

const readBox = (as = client) => as.get(`/api/v1/boxes/${boxId}`);
const available = async () => (await readBox()).body["quantityAvailable"];
const change = (quantityAvailable: number) =>
  seller.owner.client.patch(`/api/v1/boxes/${boxId}/quantity`, { quantityAvailable });

/** Reads the box until the replica has answered. */
async function untilUsed(): Promise<void> {
  const before = answered();
  await until(async () => (await readBox()).status === 200 && answered() > before);
}

beforeEach(untilUsed);

let quantity = 100;
/** Changes the box, and waits until everyone reads the change. */
async function untilShown(): Promise<void> {
  quantity += 1;
  await change(quantity);
  await until(async () => (await available()) === quantity);
}

test.each([
  ["a box", () => readBox()],
  ["a partner's boxes", () => client.get(`/api/v1/boxes/by-partner/${seller.id}`)],
  ["the boxes on offer", () => client.get("/api/v1/boxes")],
  ["a partner", () => client.get(`/api/v1/partners/${seller.id}`)],
  ["a partner's rating", () => client.get(`/api/v1/reviews/partners/${seller.id}/rating`)],
  ["the partners nearby", () => client.get("/api/v1/geo/partners/nearby?lat=55.75&lng=37.61")],
  ["the cities", () => client.get("/api/v1/cities")],
  ["an admin's report", () => admin.get("/api/v1/admin/analytics/dashboard")],
])("a replica answers reads of %s", async (_what, read) => {
  const before = answered();
  await until(async () => (await read()).status === 200 && answered() > before);
});

test("a replica of an idle primary is not taken for one that is behind", async () => {
  await until(async () => {
    const [row] = await replica.ask<{ idle: boolean }>(
      "select now() - pg_last_xact_replay_timestamp() > interval '3 seconds' as idle",
    );
    return row?.idle;
  });
  expect(states().first.lagSeconds).toBeLessThan(3);
  await untilUsed();
});

test("the lag and the use of each replica are metrics", async () => {
  const { first } = states();
  const text = await (await fetch(`${client.url}/metrics`)).text();
  expect(text).toMatch(new RegExp(`^database_replica_lag_seconds\\{replica="${first.name}"\\} \\d`, "m"));
  for (const outcome of ["answered", "empty", "failed"])
    expect(text).toContain(`database_replica_reads_total{replica="${first.name}",outcome="${outcome}"}`);
  expect(text).toContain('database_replica_reads_total{replica="none",outcome="passed_over"}');
});

/** What `npm run check` says of each replica. */
async function check() {
  const { output } = await runScript("check/main", [], { NODE_ENV: "development" });
  const rows = [...output.matchAll(/^Replicas +(ok|warning|FAILED) +(\S+) (.+)$/gm)];
  return { output, rows: rows.map(([, result, name, words]) => ({ result, name, words })) };
}

test("a check says of each replica whether it is read, without its password", async () => {
  const { first, others } = states();
  const [another, itself] = others.map(({ name }) => name);
  const { output, rows } = await check();
  expect(rows).toEqual([
    { result: "ok", name: first.name, words: expect.stringMatching(/^follows, (less than )?\d\.\d s behind$/) },
    { result: "warning", name: another, words: "is no copy of the database in DATABASE_URL" },
    { result: "warning", name: itself, words: "is a primary, not a replica" },
  ]);
  expect(output).not.toContain(new URL(replica.url).password);
});

test("what is no replica of the primary's database is never read", () => {
  const none = { answered: 0, empty: 0, failed: 0 };
  expect(states().others.map(({ reads }) => reads)).toEqual([none, none]);
});

describe("while its replay is paused", () => {
  beforeEach(() => replica.ask("select pg_wal_replay_pause()"));

  test("who writes reads it at once, and others before long", async () => {
    for (const available of [7, 6, 5, 4, 3]) {
      expect((await change(available)).status).toBe(200);
      expect((await readBox(seller.owner.client)).body["quantityAvailable"]).toBe(available);
      const listed = await seller.owner.client.get(`/api/v1/boxes/by-partner/${seller.id}`);
      expect(listed.list[0]).toMatchObject({ id: boxId, quantityAvailable: available });
      const offers = await seller.owner.client.get("/api/v1/boxes");
      expect(offers.list[0]).toMatchObject({ id: boxId, quantityAvailable: available });
    }
    await untilShown();
    const [{ passedOver }, before] = [database.replicaStats(), answered()];
    expect((await readBox()).status).toBe(200);
    expect([database.replicaStats().passedOver, answered()]).toEqual([passedOver + 1, before]);
    await replica.ask("select pg_wal_replay_resume()");
    await untilUsed();
  });

  test("a check warns of it", async () => {
    await change(9);
    const { rows } = await check();
    expect(rows[0]).toMatchObject({ result: "warning", words: "is more than 2.0 s behind: reads go to others" });
    await replica.ask("select pg_wal_replay_resume()");
  });

  test("what was just written is found by everyone", async () => {
    const id = await cast.listBox(seller);
    expect((await client.get(`/api/v1/boxes/${id}`)).status).toBe(200);
    await replica.ask("select pg_wal_replay_resume()");
  });
});

/** Lets the replica follow another server, or none. */
async function follow(conninfo: string): Promise<void> {
  await replica.ask(`alter system set primary_conninfo = '${conninfo}'`);
  await replica.ask("select pg_reload_conf()");
  if (conninfo === "") await until(async () => (await replica.ask("select from pg_stat_wal_receiver")).length === 0);
}

async function followed(): Promise<string> {
  const [row] = await replica.ask<{ primary: string }>("select current_setting('primary_conninfo') as primary");
  return row?.primary ?? "";
}

test("a replica that receives nothing any more is passed over", async () => {
  const conninfo = await followed();
  await follow("");
  await untilShown();
  await follow(conninfo);
  await untilUsed();
});

test("a read that the replica cancels is run on the primary", async () => {
  await primary.ask("create table notes (note text)");
  await primary.ask("insert into notes values ('here')");
  await replica.ask("alter system set max_standby_streaming_delay = 0");
  await replica.ask("select pg_reload_conf()");
  await until(async () => (await replica.ask("select to_regclass('notes') as made"))[0]?.["made"] !== null);
  const { failed } = states().first.reads;
  const readNotes = () => database.reports`
    select note, case when pg_is_in_recovery() then pg_sleep(600)::text end as pause from notes`;
  await untilUsed();
  const reading = readNotes();
  await until(async () => (await replica.ask("select from pg_stat_activity where wait_event = 'PgSleep'")).length > 0);
  await primary.ask("alter table notes add column more text");
  expect(await reading).toMatchObject([{ note: "here" }]);
  expect(states().first.reads.failed).toBe(failed + 1);
});

/** Asks for what replicas answer, 16 requests at once. */
function startTraffic() {
  const paths = ["/api/v1/boxes", `/api/v1/boxes/${boxId}`, `/api/v1/boxes/by-partner/${seller.id}`, "/api/v1/cities"];
  const stopping = new AbortController();
  const statuses = new Set<number>();
  let requests = 0;
  const traffic = Array.from({ length: 16 }, async (_, n) => {
    while (!stopping.signal.aborted) {
      statuses.add((await client.get(paths[n % paths.length] ?? "")).status);
      requests += 1;
    }
  });
  return {
    after: (count: number) => {
      const begin = requests;
      return until(() => requests >= begin + count);
    },
    /** Returns the statuses of all answers. */
    stop: async () => {
      stopping.abort();
      await Promise.all(traffic);
      return [...statuses];
    },
  };
}

test("no request fails when the replica is killed under load, and it is read again once it is back", async () => {
  const traffic = startTraffic();
  await traffic.after(100);
  await replica.kill();
  await traffic.after(200);
  await replica.restart();
  await untilUsed();
  await traffic.after(100);
  expect(await traffic.stop()).toEqual([200]);
});

test("no request fails when the replica freezes under load, and it is read again once it continues", async () => {
  const traffic = startTraffic();
  await traffic.after(100);
  const thaw = await replica.freeze();
  try {
    await traffic.after(200);
    await until(() => states().first.lagSeconds > 2);
    await until(async () => {
      const text = await (await fetch(`${client.url}/metrics`)).text();
      const [, lag] =
        new RegExp(`^database_replica_lag_seconds\\{replica="${states().first.name}"\\} (.+)$`, "m").exec(text) ?? [];
      return Number(lag) > 2;
    });
    const [{ passedOver }, before] = [database.replicaStats(), answered()];
    await traffic.after(200);
    expect(answered()).toBe(before);
    expect(database.replicaStats().passedOver).toBeGreaterThan(passedOver);
    const { rows } = await check();
    expect(rows[0]).toMatchObject({ result: "warning", words: expect.stringMatching(/^cannot be used \(/) });
  } finally {
    thaw();
  }
  await untilUsed();
  await traffic.after(100);
  expect(await traffic.stop()).toEqual([200]);
});

test("neither a standby that was promoted by mistake is read, nor a replica that follows it", async () => {
  const conninfo = await followed();
  // the other standby gets the slot
  await replica.ask("alter system set primary_slot_name = ''");
  await replica.ask("select pg_reload_conf()");
  await until(async () => (await primary.ask("select from pg_replication_slots where active")).length === 0);
  const mistaken = await primary.replicate();
  const quantityIn = async ({ ask }: RunningPostgres) =>
    (await ask<{ n: number }>("select quantity_available as n from boxes where id = $1", [boxId]))[0]?.n;
  try {
    await follow("");
    await untilShown();
    await until(async () => (await quantityIn(mistaken)) === quantity);
    await mistaken.ask("select pg_promote()");
    await mistaken.ask("update boxes set quantity_available = 1 where id = $1", [boxId]);
    // what the other has written is ahead of the primary's log
    await mistaken.ask("create table more as select repeat('x', 100) from generate_series(1, 10000)");
    await follow(conninfo.replace(/port=\d+/, `port=${new URL(mistaken.url).port}`));
    await until(async () => (await quantityIn(replica)) === 1);
    const seen = new Set<unknown>();
    // it is asked four times a second how far it is
    const { lagSeconds } = states().first;
    await until(async () => {
      seen.add(await available());
      return states().first.lagSeconds > lagSeconds + 1 || seen.size > 1;
    });
    expect([...seen]).toEqual([quantity]);
    expect((await check()).rows[0]).toMatchObject({
      result: "warning",
      words: "follows timeline 2, and the primary is on 1: reads go to others",
    });

    await replica.ask("select pg_promote()");
    expect((await check()).rows[0]).toMatchObject({ result: "warning", words: "is a primary, not a replica" });
    expect(await available()).toBe(quantity);
  } finally {
    await mistaken.stop();
  }
});
