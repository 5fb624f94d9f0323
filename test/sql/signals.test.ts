import { afterAll, expect, test } from "@jest/globals";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { awaitResult, closeSignals, onSignal, signal } from "../../sql/signals.js";
import { until } from "../support/until.js";

afterAll(async () => {
  await closeSignals();
  await closeDatabase();
});

/** Longer than a test may take: whoever gets to it was not signalled. */
const LONG_MS = 3_600_000;

/** The processes of the server that serve this process's listening. */
async function listeners(): Promise<number[]> {
  const rows = await sql<{ pid: number }[]>`
    select pid
    from pg_stat_activity
    where datname = current_database() and application_name = 'surplus-food signals' and query <> '' and state = 'idle'`;
  return rows.map(({ pid }) => pid);
}

/** Starts listening, if nobody did, and answers who serves it. */
function listener(): Promise<number> {
  onSignal("nothing", () => undefined)();
  return until(async () => (await listeners())[0]);
}

/** A result that is not there at first, and how often somebody looked. */
function result() {
  const seen = { looks: 0, value: null as string | null };
  const look = () => {
    seen.looks += 1;
    return Promise.resolve(seen.value);
  };
  return { seen, look };
}

test("what is there already is answered without a signal", async () => {
  const { seen, look } = result();
  seen.value = "done";
  expect(await awaitResult({ name: "image", id: "1", deadlineMs: LONG_MS }, look)).toBe("done");
  expect(seen.looks).toBe(1);
});

test("a wait ends by the signal of its own id only", async () => {
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

test("a signal that comes while the result is looked for is not missed", async () => {
  await listener();
  let found: string | null = null;
  const slowLook = async () => {
    const before = found;
    if (before === null) {
      found = "done";
      await signal(sql, "image", "4");
      // listeners hear in order, so this one's signal has come
      await new Promise<void>((heard) => {
        const unsubscribe = onSignal("image", () => {
          unsubscribe();
          heard();
        });
        void signal(sql, "image", "other");
      });
    }
    return before;
  };
  expect(await awaitResult({ name: "image", id: "4", deadlineMs: LONG_MS }, slowLook)).toBe("done");
});

test("a signal in a transaction comes with its commit, and not when there is none", async () => {
  await listener();
  const heard: string[] = [];
  const unsubscribe = [onSignal("kept", () => heard.push("kept")), onSignal("dropped", () => heard.push("dropped"))];
  await transaction(async (tx) => {
    await signal(tx, "dropped", "1");
    throw new Error("never mind");
  }).catch(() => undefined);
  await transaction((tx) => signal(tx, "kept", "1"));
  await until(() => heard.length > 0);
  expect(heard).toEqual(["kept"]);
  for (const end of unsubscribe) end();
});

test("at the deadline it looks once more, and gives up", async () => {
  const { seen, look } = result();
  expect(await awaitResult({ name: "image", id: "5", deadlineMs: 50 }, look)).toBeNull();
  expect(seen.looks).toBeGreaterThanOrEqual(2);
});

test("a lost listening connection is opened again, and whoever waits looks for what was missed", async () => {
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

test("after it was closed, the next wait listens again", async () => {
  await closeSignals();
  await until(async () => (await listeners()).length === 0);
  const { seen, look } = result();
  const answer = awaitResult({ name: "image", id: "7", deadlineMs: LONG_MS }, look);
  await listener();
  seen.value = "done";
  await signal(sql, "image", "7");
  expect(await answer).toBe("done");
});
