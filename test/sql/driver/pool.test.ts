import { expect, test } from "@jest/globals";
import { sql } from "../../../sql/db.js";
import { openPool } from "../../../sql/driver/pool.js";
import { until } from "../../support/until.js";

test("a pool gives its statements its own time, and one that takes longer ends without its session", async () => {
  const pool = openPool("searches", { connections: 1, timeoutMs: 200 });
  const session = () => pool.db`select pg_backend_pid() as pid, current_setting('application_name') as name`;
  const [before] = await session();
  expect(before).toMatchObject({ name: "surplus-food searches" });
  await expect(pool.db`select pg_sleep(60)`).rejects.toMatchObject({ code: "57014" });
  expect([...(await session())]).toEqual([before]);
  await pool.close();
});

test("a pool opens no more connections than it may, and replaces those that are lost", async () => {
  const pool = openPool("searches", { connections: 2 });
  const sessions = async () => {
    const one = () => pool.db<{ pid: number }[]>`select pg_backend_pid() as pid from pg_sleep(0.01)`;
    const answers = await Promise.all(Array.from({ length: 10 }, one));
    return new Set(answers.flat().map(({ pid }) => pid));
  };
  const before = await sessions();
  expect(before.size).toBe(2);
  await sql`select pg_terminate_backend(pid) from unnest(${[...before]}::integer[]) as pid`;
  const after = await until(() => sessions().catch(() => undefined));
  expect(after.size).toBe(2);
  expect([...after].filter((pid) => before.has(pid))).toEqual([]);
  await pool.close();
});

test("a pool that stops refuses what comes, and carries out what runs", async () => {
  const pool = openPool("searches", { connections: 1 });
  const running = pool.db`select pg_sleep(0.1)`;
  expect(pool.running()).toBe(1);
  pool.stop();
  await expect(pool.db`select`).rejects.toMatchObject({ code: "08006" });
  await Promise.all([running, pool.close()]);
  expect(pool.running()).toBe(0);
});
