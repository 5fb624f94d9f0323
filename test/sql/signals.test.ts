import { afterAll, afterEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { startProxy } from "../support/proxy.js";
import { until } from "../support/until.js";

const server = process.env["DATABASE_URL"] ?? "";
const proxy = await startProxy(server);
process.env["DATABASE_URL"] = proxy.url;
const { closeDatabase, sql, transaction } = await import("../../sql/db.js");
const { awaitResult, closeSignals, onLedSignal, onSignal, signal } = await import("../../sql/signals.js");

/** What a test leaves behind. */
const rest: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of rest.splice(0)) await end();
});

afterAll(async () => {
  await closeSignals();
  await closeDatabase();
  await proxy.close();
});

/** Longer than a test may take, so that only a signal ends the wait. */
const LONG_MS = 3_600_000;

/** The server processes of this process's listening connections. */
async function listeners(): Promise<number[]> {
  const rows = await sql<{ pid: number }[]>`
    select pid
    from pg_stat_activity
    where datname = current_database() and application_name = 'surplus-food signals' and query <> '' and state = 'idle'`;
  return rows.map(({ pid }) => pid);
}

/** Listens until the end of the test; returns the server process once this process has heard of it. */
async function listener(): Promise<number> {
  let heard = false;
  rest.push(onSignal("heard", () => (heard = true)));
  await until(async () => {
    await signal(sql, "heard", "1");
    return heard;
  });
  return until(async () => (await listeners())[0]);
}

/** A result that is not there at first, with a count of the reads. */
function result() {
  const seen = { looks: 0, value: null as string | null };
  const look = () => {
    seen.looks += 1;
    return Promise.resolve(seen.value);
  };
  return { seen, look };
}

test("an existing result is returned without a signal", async () => {
  const { seen, look } = result();
  seen.value = "done";
  expect(await awaitResult({ name: "image", id: "1", deadlineMs: LONG_MS }, look)).toBe("done");
  expect(seen.looks).toBe(1);
});

test("only the signal of its own id ends a wait", async () => {
  await listener();
  const { seen, look } = result();
  const other = result();
  const answer = awaitResult({ name: "image", id: "2", deadlineMs: LONG_MS }, look);
  const abort = new AbortController();
  const otherAnswer = awaitResult({ name: "image", id: "3", deadlineMs: LONG_MS, abort: abort.signal }, other.look);
  await until(() => seen.looks === 1);
  seen.value = other.seen.value = "done";
  await signal(sql, "image", "2");
  expect(await answer).toBe("done");
  expect(other.seen.looks).toBe(1);
  abort.abort();
  await expect(otherAnswer).rejects.toThrow("aborted");
});

test("a signal during the first read is not missed", async () => {
  await listener();
  let found: string | null = null;
  const slowLook = async () => {
    const before = found;
    if (before === null) {
      found = "done";
      await signal(sql, "image", "4");
      // signals arrive in order, so the first has arrived by now
      await new Promise<void>((received) => {
        const unsubscribe = onSignal("image", () => {
          unsubscribe();
          received();
        });
        void signal(sql, "image", "other");
      });
    }
    return before;
  };
  expect(await awaitResult({ name: "image", id: "4", deadlineMs: LONG_MS }, slowLook)).toBe("done");
});

test("a signal in a transaction is sent at its commit, and not after a rollback", async () => {
  await listener();
  const received: string[] = [];
  const unsubscribe = [
    onSignal("kept", () => received.push("kept")),
    onSignal("dropped", () => received.push("dropped")),
  ];
  await transaction(async (tx) => {
    await signal(tx, "dropped", "1");
    throw new Error("never mind");
  }).catch(() => undefined);
  await transaction((tx) => signal(tx, "kept", "1"));
  await until(() => received.length > 0);
  expect(received).toEqual(["kept"]);
  for (const end of unsubscribe) end();
});

test("at the deadline it reads once more and gives up", async () => {
  const { seen, look } = result();
  expect(await awaitResult({ name: "image", id: "5", deadlineMs: 50 }, look)).toBeNull();
  expect(seen.looks).toBeGreaterThanOrEqual(2);
});

test("a wait ends soon after its deadline when the database does not answer", async () => {
  const unanswered = () => new Promise<null>(() => undefined);
  expect(await awaitResult({ name: "image", id: "8", deadlineMs: 50 }, unanswered)).toBeNull();
});

test("a lost connection is reopened, and all waits read again", async () => {
  const pid = await listener();
  const { seen, look } = result();
  let missed = 0;
  const unsubscribe = onSignal("outbox", () => (missed += 1));
  const answer = awaitResult({ name: "image", id: "6", deadlineMs: LONG_MS }, look);
  await until(() => seen.looks > 0);
  seen.value = "done";
  await sql`select pg_terminate_backend(${pid}::integer)`;
  expect(await answer).toBe("done");
  expect(missed).toBeGreaterThan(0);
  expect(await listener()).not.toBe(pid);
  unsubscribe();
});

test("after closing, the next wait listens again", async () => {
  await closeSignals();
  await until(async () => (await listeners()).length === 0);
  const { seen, look } = result();
  const answer = awaitResult({ name: "image", id: "7", deadlineMs: LONG_MS }, look);
  await listener();
  seen.value = "done";
  await signal(sql, "image", "7");
  expect(await answer).toBe("done");
});

describe("of several processes one gets a led signal", () => {
  /** Another process's session, as far as this one can tell. */
  async function otherProcess() {
    const client = new pg.Client({ connectionString: server });
    await client.connect();
    rest.push(() => client.end());
    return client;
  }
  const isFree = async (other: pg.Client) =>
    (await other.query<{ taken: boolean }>("select pg_try_advisory_lock(7306030) as taken")).rows[0]!.taken;
  const sendLed = () => sql`select from pg_notify('led_signals', 'work')`;

  test("not while another leads, and once that has ended", async () => {
    const other = await otherProcess();
    expect(await isFree(other)).toBe(true);
    await listener();
    let calls = 0;
    const end = onLedSignal("work", () => (calls += 1));
    await sendLed();
    // signals arrive in order, so this process has got the led one by now, if it gets any
    await listener();
    expect(calls).toBe(0);

    await other.end();
    await until(() => calls > 0);
    const before = calls;
    await sendLed();
    await until(() => calls > before);
    end();
  });

  test("while another leads it listens to nothing, as Postgres would wake its session at each signal", async () => {
    await closeSignals();
    const other = await otherProcess();
    await until(() => isFree(other));
    const asksForLead = proxy.watchFor("pg_try_advisory_lock");
    const listens = proxy.watchFor("listen signals");
    rest.push(onLedSignal("work", () => undefined));
    await until(asksForLead);
    expect(listens()).toBe(false);

    const unsubscribe = onSignal("heard", () => undefined);
    await until(listens);
    const unlistens = proxy.watchFor("unlisten signals");
    unsubscribe();
    await until(unlistens);
  });

  test("not after its listener has ended: then another may lead at once", async () => {
    const other = await otherProcess();
    let calls = 0;
    const end = onLedSignal("work", () => (calls += 1));
    await until(async () => calls > 0 && !(await isFree(other)));
    end();
    await until(() => isFree(other));
    await other.end();
  });
});
