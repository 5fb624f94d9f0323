import { expect, test } from "@jest/globals";
import { faultOf, sql } from "../../../sql/db.js";
import { openPool } from "../../../sql/driver/pool.js";
import { until } from "../../support/until.js";

test("a pool has its own statement timeout, which does not end the session", async () => {
  const pool = openPool("searches", { connections: 1, timeoutMs: 200 });
  const session = () => pool.db`select pg_backend_pid() as pid, current_setting('application_name') as name`;
  const [before] = await session();
  expect(before).toMatchObject({ name: "surplus-food searches" });
  await expect(pool.db`select pg_sleep(60)`).rejects.toMatchObject({ code: "57014" });
  expect([...(await session())]).toEqual([before]);
  await pool.close();
});

test("a pool opens no more connections than its limit, and replaces lost ones", async () => {
  const pool = openPool("searches", { connections: 2 });
  const sessions = async () => {
    const one = () => pool.db<{ pid: number }[]>`select pg_backend_pid() as pid from pg_sleep(0.01)`;
    const answers = await Promise.all(Array.from({ length: 10 }, one));
    return new Set(answers.flat().map(({ pid }) => pid));
  };
  // what is asked while a connection is being opened goes through the other
  const two = async () => {
    const seen = await sessions().catch(() => undefined);
    return seen !== undefined && seen.size >= 2 ? seen : undefined;
  };
  const before = await until(two);
  expect(before.size).toBe(2);
  await sql`select pg_terminate_backend(pid) from unnest(${[...before]}::integer[]) as pid`;
  const after = await until(two);
  expect(after.size).toBe(2);
  expect([...after].filter((pid) => before.has(pid))).toEqual([]);
  await pool.close();
});

test("a session whose server became read-only answers nothing, so that the next may reach the primary", async () => {
  const pool = openPool("searches", { connections: 1 });
  await sql`create table written (id integer)`;
  await pool.db`select`;
  const refused = await pool.db`set default_transaction_read_only = on`.catch((error: unknown) => error);
  expect([faultOf(refused), String(refused)]).toEqual(["unreachable", expect.stringContaining("read-only")]);
  await pool.db`insert into written values (2)`;
  expect([...(await sql`select id from written`)]).toEqual([{ id: 2 }]);
  await pool.close();
});

test("gives each statement in flight the whole timeout, and the session of those that timed out before", async () => {
  const pool = openPool("searches", { connections: 1, timeoutMs: 400 });
  const session = async () => (await pool.db`select pg_backend_pid() as pid`)[0];
  const before = await session();
  // together far longer than the timeout and its grace on this side
  const slow = Array.from({ length: 5 }, () => pool.db`select pg_sleep(60)`.catch((error: unknown) => error));
  const next = session();
  expect(await Promise.all(slow)).toEqual(Array(5).fill(expect.objectContaining({ code: "57014" })));
  expect(await next).toEqual(before);
  await pool.close();
});

test("no statement gets the response of another when the server has to prepare some again", async () => {
  const pool = openPool("searches", { connections: 1 });
  await sql`create table changing (id integer)`;
  await sql`insert into changing select generate_series(0, 9)`;
  const read = async (id: number) => (await pool.db<{ id: number }[]>`select * from changing where id = ${id}`)[0]?.id;
  const echo = async (word: string) => (await pool.db<{ word: string }[]>`select ${word}::text as word`)[0]?.word;
  const changes = [
    () => sql`alter table changing add a text`,
    () => sql`alter table changing add b text`,
    () => sql`alter table changing add c text`,
  ];
  for (const change of changes) {
    await read(0);
    await echo("");
    await change();
    const replies = Array.from({ length: 20 }, async (_, n) => {
      // some are sent together, others when those before them have settled
      for (let step = 0; step < n % 4; step += 1) await echo("before").catch(() => undefined);
      return n % 2 === 0 ? read(n / 2) : echo(`word ${n}`);
    });
    const wrong = (await Promise.allSettled(replies)).flatMap((reply, n) => {
      if (reply.status === "rejected") return faultOf(reply.reason) === "unreachable" ? [] : [String(reply.reason)];
      return reply.value === (n % 2 === 0 ? n / 2 : `word ${n}`) ? [] : [`${n}: ${String(reply.value)}`];
    });
    expect(wrong).toEqual([]);
    expect(await read(9)).toBe(9);
  }
  await pool.close();
});

test("the rows of a statement have no gap for those of one that failed before it while it sent rows", async () => {
  const pool = openPool("searches", { connections: 1 });
  await pool.db`select`;
  const failing = pool.db`select 1 / (3 - n) from generate_series(1, 9) as n`.catch((error: unknown) => error);
  const next = pool.db`select n from generate_series(1, 3) as n`;
  expect(await failing).toMatchObject({ code: "22012" });
  expect([...(await next)]).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  await pool.close();
});

test("a stopped pool refuses new statements and completes running ones", async () => {
  const pool = openPool("searches", { connections: 1 });
  const running = pool.db`select pg_sleep(0.1)`;
  await until(() => pool.running() === 1);
  pool.stop();
  await expect(pool.db`select`).rejects.toMatchObject({ code: "08006" });
  await Promise.all([running, pool.close()]);
  expect(pool.running()).toBe(0);
});
