import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Db } from "../../sql/db.js";
import { startOwnPostgres, type OwnPostgres } from "../support/own-postgres.js";
import { until } from "../support/until.js";

const STEPS = 4;
/** Shorter than in production, so that tests of hung sessions are short; far longer than anything else takes here. */
const TIMEOUT_MS = 4_000;
/** How long a statement runs whose backend is ended; no test waits for its end. */
const LONG_S = 60;

let server: OwnPostgres;
let database: typeof import("../../sql/db.js");

beforeAll(async () => {
  server = await startOwnPostgres();
  Object.assign(process.env, {
    DATABASE_URL: server.url,
    DATABASE_TIMEOUT_MS: String(TIMEOUT_MS),
    DATABASE_WAIT_MS: String(TIMEOUT_MS),
    DATABASE_POOL: "4",
  });
  database = await import("../../sql/db.js");
  await database.sql`create table steps (transaction integer, step integer, primary key (transaction, step))`;
  await database.sql`create table commits (transaction integer)`;
  // makes the commit of a transaction that inserts here last until its backend is ended
  await server.ask(`
    create function slow_commit() returns trigger language plpgsql as $$
    begin
      perform pg_sleep(${LONG_S});
      return null;
    end $$`);
  await database.sql`
    create constraint trigger slow_commit after insert on commits deferrable initially deferred
    for each row execute function slow_commit()`;
});

afterAll(async () => {
  await database.closeDatabase();
  await server.stop();
});

let last = 0;
const nextNumber = () => (last += 1);

/** The number of stored steps of each transaction. */
async function stepsKept(): Promise<Map<number, number>> {
  const rows = await server.ask<{ transaction: number; steps: number }>(
    "select transaction, count(*)::integer as steps from steps group by transaction",
  );
  return new Map(rows.map(({ transaction, steps }) => [transaction, steps]));
}

interface Outcome {
  transaction: number;
  result: "kept" | "given up" | "lost";
}

/** Runs transactions until `stopped`; every third is rolled back at its end. */
async function keepBusy(stopped: () => boolean): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const giveUp = new Error("given up");
  while (!stopped()) {
    const transaction = nextNumber();
    try {
      await database.transaction(async (tx) => {
        for (let step = 1; step <= STEPS; step += 1) await tx`insert into steps values (${transaction}, ${step})`;
        if (transaction % 3 === 0) throw giveUp;
      });
      outcomes.push({ transaction, result: "kept" });
    } catch (error) {
      if (error !== giveUp && !database.isUnavailable(error)) throw error;
      outcomes.push({ transaction, result: error === giveUp ? "given up" : "lost" });
      // the event loop must process the closed connections
      await new Promise(setImmediate);
    }
  }
  return outcomes;
}

const backendOf = async (tx: Db) => (await tx<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid ?? 0;

const isGone = (pid: number) =>
  until(async () => (await server.ask("select from pg_stat_activity where pid = $1", [pid])).length === 0);

const isIn = (pid: number, event: string) =>
  until(
    async () =>
      (await server.ask("select from pg_stat_activity where pid = $1 and wait_event = $2", [pid, event])).length > 0,
  );

const strikes: Record<string, (pid: number) => Promise<void>> = {
  pg_terminate_backend: async (pid) => {
    await server.ask("select pg_terminate_backend($1)", [pid]);
  },
  "kill -9": (pid) => Promise.resolve().then(() => void process.kill(pid, "SIGKILL")),
};

/** When the backend is ended: before or while a step is written, or before or during the commit (step 5). */
const moments = [
  ...Array.from({ length: STEPS + 1 }, (_, index) => ({ step: index + 1, when: "before, known" as const })),
  ...Array.from({ length: STEPS + 1 }, (_, index) => ({ step: index + 1, when: "before, unnoticed" as const })),
  ...Array.from({ length: STEPS + 1 }, (_, index) => ({ step: index + 1, when: "during" as const })),
];

type Moment = (typeof moments)[number];

/** A transaction whose backend is ended at this moment; it continues regardless, as unaware code does. */
async function struckTransaction(
  strike: (pid: number) => Promise<void>,
  { step: struckAt, when }: Moment,
): Promise<Outcome> {
  const transaction = nextNumber();
  let struck: Promise<void> | undefined;
  const work = database.transaction(async (tx) => {
    const pid = await backendOf(tx);
    for (let step = 1; step <= STEPS + 1; step += 1) {
      if (step === struckAt && when !== "during") {
        await strike(pid);
        if (when === "before, known") await isGone(pid);
      }
      if (step === struckAt && when === "during") {
        // otherwise a slow machine might reach the statement's timeout first
        await tx`set local statement_timeout = 0`;
        struck = isIn(pid, "PgSleep").then(() => strike(pid));
        await (step > STEPS ? tx`insert into commits values (${transaction})` : tx`select pg_sleep(${LONG_S})`);
      }
      if (step <= STEPS) await tx`insert into steps values (${transaction}, ${step})`;
    }
  });
  const outcome = await work.then(
    () => ({ transaction, result: "kept" as const }),
    (error: unknown) => {
      if (!database.isUnavailable(error)) throw error;
      return { transaction, result: "lost" as const };
    },
  );
  await struck;
  return outcome;
}

function check(outcomes: Outcome[], kept: Map<number, number>): void {
  for (const { transaction, result } of outcomes) {
    const steps = kept.get(transaction) ?? 0;
    if (result === "kept") expect({ transaction, steps }).toEqual({ transaction, steps: STEPS });
    else if (result === "given up") expect({ transaction, steps }).toEqual({ transaction, steps: 0 });
    else expect([0, STEPS]).toContain(steps);
  }
}

const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (reason: unknown) => reason,
  );

/** Keeps a transaction in use until `over` settles. */
async function stayIn(tx: Db, over: Promise<unknown>): Promise<void> {
  const isOver = over.then(() => true);
  const notYet = new Promise<false>((resolve) => setImmediate(resolve, false));
  while (!(await Promise.race([isOver, notYet]))) await tx`select pg_sleep(0.05)`;
}

const succeeds = (work: Promise<unknown>) =>
  work.then(
    () => true,
    () => false,
  );

/**
 * Waits until more statements succeed at once than there are connections. After kill -9 of a backend the server ends the
 * others too, perhaps late, so that earlier results would mean nothing.
 */
const isHealthy = () =>
  until(async () => {
    const statements = Array.from({ length: 20 }, () => database.sql`select`);
    const transactions = Array.from({ length: 20 }, () => database.transaction((tx) => tx`select`));
    const outcomes = await Promise.all([...statements, ...transactions].map(succeeds));
    return outcomes.every(Boolean);
  });

describe.each(Object.entries(strikes))("a transaction whose backend is ended by %s", (_name, strike) => {
  test.each(moments)("$when step $step is all or nothing, and so are concurrent ones", async (moment) => {
    let over = false;
    const others = [keepBusy(() => over), keepBusy(() => over)];
    const struck = await struckTransaction(strike, moment).finally(() => (over = true));
    const outcomes = [struck, ...(await Promise.all(others)).flat()];
    await isHealthy();
    check(outcomes, await stepsKept());
    expect(struck.result).toBe("lost");
  });
});

describe("single statements", () => {
  test.each(Object.entries(strikes))(
    "that were answered are stored even when all backends are ended by %s",
    async (_name, strike) => {
      await database.sql`create table if not exists singles (id integer primary key)`;
      const answered = new Set<number>();
      let over = false;
      const callers = Array.from({ length: 8 }, async () => {
        while (!over) {
          const id = nextNumber();
          if (await succeeds(database.sql`insert into singles values (${id})`)) answered.add(id);
          await new Promise(setImmediate);
        }
      });
      const strikeAll = async () => {
        const before = answered.size;
        await until(() => answered.size > before + 100);
        const rows = await server.ask<{ pid: number }>(
          "select pid from pg_stat_activity where application_name = 'surplus-food statements'",
        );
        await Promise.allSettled(rows.map(({ pid }) => strike(pid)));
      };
      await strikeAll()
        .then(strikeAll)
        .then(strikeAll)
        .finally(() => (over = true));
      await Promise.all(callers);
      await isHealthy();
      const kept = new Set((await server.ask<{ id: number }>("select id from singles")).map(({ id }) => id));
      expect([...answered].filter((id) => !kept.has(id))).toEqual([]);
    },
  );

  test("that wait too long for a lock are cancelled by the server, and their connection stays usable", async () => {
    await database.sql`create table locked (id integer)`;
    await database.transaction(async (tx) => {
      await tx`lock table locked`;
      const error = reasonOf(database.sql`select id from locked`);
      await stayIn(tx, error);
      expect(database.faultOf(await error)).toBe("timeout");
    });
    await isHealthy();
  });
});

describe("a suspended backend", () => {
  const stopped: number[] = [];
  const stop = (pid: number) => {
    process.kill(pid, "SIGSTOP");
    stopped.push(pid);
  };

  afterAll(() => {
    for (const pid of stopped) process.kill(pid, "SIGCONT");
  });

  test("ends its transaction with an error after a time, and nothing of it is stored", async () => {
    const transaction = nextNumber();
    const work = database.transaction(async (tx) => {
      const pid = await backendOf(tx);
      await tx`insert into steps values (${transaction}, 1)`;
      stop(pid);
      await tx`insert into steps values (${transaction}, 2)`;
    });
    expect(database.isUnavailable(await reasonOf(work))).toBe(true);
    await isHealthy();
    check([{ transaction, result: "given up" }], await stepsKept());
  });

  test("blocks only the statements sent to it, and not forever", async () => {
    await isHealthy();
    const [row] = await database.sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    stop(row?.pid ?? 0);
    const statements = Array.from({ length: 40 }, () => database.sql`select`.then(() => "answered" as const));
    const outcomes = await Promise.allSettled(statements);
    const lost = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(lost.length).toBeGreaterThan(0);
    expect(lost.length).toBeLessThan(40);
    expect(lost.every(({ reason }) => database.isUnavailable(reason))).toBe(true);
    await isHealthy();
  });
});

describe("more transactions than connections", () => {
  test("wait for a connection, but not forever", async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const holders = Array.from({ length: 4 }, () => database.transaction((tx) => stayIn(tx, held)));
    expect(database.databaseStats().transactions).toEqual({ running: 4, waiting: 0 });
    expect(database.isUnavailable(await reasonOf(database.transaction((tx) => tx`select`)))).toBe(true);
    const late = database.transaction((tx) => tx<{ one: number }[]>`select 1 as one`);
    release();
    await Promise.all(holders);
    expect([...(await late)]).toEqual([{ one: 1 }]);
  });
});
