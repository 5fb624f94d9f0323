import { afterAll, beforeAll, expect, test } from "@jest/globals";
import postgres from "postgres";
import { startOwnPostgres, type OwnPostgres } from "../../support/own-postgres.js";

// How postgres.js itself behaves when a connection is lost or hangs. A test that fails here after an upgrade means that it
// has improved: sql/driver/README.md says which of our workarounds can then go.

const TIMEOUT_MS = 500;

let server: OwnPostgres;
let sql: typeof import("../../../sql/db.js").sql;

beforeAll(async () => {
  server = await startOwnPostgres();
  Object.assign(process.env, { DATABASE_URL: server.url, DATABASE_TIMEOUT_MS: String(TIMEOUT_MS) });
  ({ sql } = await import("../../../sql/db.js"));
});

afterAll(() => server.stop());

const plainPool = () =>
  postgres(server.url, { max: 1, onnotice: () => undefined, connection: { statement_timeout: TIMEOUT_MS } });

const isPending = (work: Promise<unknown>) =>
  Promise.race([
    work.then(
      () => false,
      () => false,
    ),
    new Promise<true>((resolve) => setImmediate(resolve, true)),
  ]);

test("it continues a transaction on the next connection, without the statements before", async () => {
  await server.ask("create table steps (step integer)");
  const pool = plainPool();
  let work: Promise<void> | undefined;
  const transaction = pool.begin(
    (tx) =>
      (work = (async () => {
        await tx`insert into steps values (1)`;
        const [session] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
        await server.ask("select pg_terminate_backend($1)", [session?.pid]);
        // another caller, for whom it reconnects
        await pool`select`;
        await tx`insert into steps values (2)`;
      })()),
  );
  await expect(transaction).rejects.toThrow();
  await work;
  expect(await server.ask("select step from steps")).toEqual([{ step: 2 }]);
  await pool.end();
});

test("it leaves statements unsettled when the server has to prepare two in flight again", async () => {
  await server.ask("create table changing (id integer)");
  const pool = plainPool();
  const read = (id: number) => pool`select * from changing where id = ${id}`.execute();
  await read(1);
  await server.ask("alter table changing add column name text");
  const waiting = Promise.all([read(1), read(2)]);
  // answered once the server gives up waiting for the rest of the first
  await pool`select`;
  expect(await isPending(waiting)).toBe(true);
  waiting.catch(() => undefined);
  await pool.end({ timeout: 0 });
});

test("it leaves a gap in the rows of a statement, for those of one that failed before it", async () => {
  const pool = plainPool();
  const failing = pool`select 1 / (3 - n) from generate_series(1, 9) as n`.catch((error: unknown) => error);
  const next = pool`select 'next' as word`;
  expect(await failing).toMatchObject({ code: "22012" });
  expect(Object.keys(await next)).toEqual(["2"]);
  await pool.end();
});

test("it waits forever for a hung server process, while our connection gives up", async () => {
  const pool = plainPool();
  const stopped: number[] = [];
  const stop = ([row]: readonly { pid: number }[]) => {
    process.kill(row?.pid ?? 0, "SIGSTOP");
    stopped.push(row?.pid ?? 0);
  };
  try {
    stop(await pool<{ pid: number }[]>`select pg_backend_pid() as pid`);
    stop(await sql<{ pid: number }[]>`select pg_backend_pid() as pid`);
    const waiting = pool`select`.execute();
    await expect(sql`select`).rejects.toMatchObject({ code: "08006" });
    expect(await isPending(waiting)).toBe(true);
  } finally {
    for (const pid of stopped) process.kill(pid, "SIGCONT");
  }
  await pool.end();
});
