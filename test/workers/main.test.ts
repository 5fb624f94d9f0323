import type { ChildProcess } from "node:child_process";
import { readdir } from "node:fs/promises";
import { afterAll, afterEach, describe, expect, test } from "@jest/globals";
import { push, rollups } from "../../queues/index.js";
import { closeDatabase, sql, transaction, type Db } from "../../sql/db.js";
import { findHeartbeatAge } from "../../sql/queries/heartbeats.js";
import { stageJob } from "../../sql/outbox.js";
import { lockRows } from "../support/locks.js";
import { insertNotification, notificationStatus } from "../support/notifications.js";
import { complaints, ended, startProcess } from "../support/processes.js";
import { stagedRow } from "../support/trial.js";
import { until } from "../support/until.js";

let child: ChildProcess | undefined;

afterEach(async () => {
  child?.kill("SIGKILL");
  if (child) await ended(child);
});

afterAll(closeDatabase);

/** Collects the lines that a process logs. */
function outputOf(process: ChildProcess): () => string {
  let text = "";
  process.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  return () => text;
}

/** Starts a worker process and waits until it runs a job, whose notification is locked until `release` is called. */
async function busyWorker(): Promise<{ worker: ChildProcess; notificationId: string; release: () => Promise<void> }> {
  const notificationId = await insertNotification();
  let unlock = (): void => undefined;
  let held: Promise<void> | undefined;
  await new Promise<void>((locked, failed) => {
    held = transaction(async (tx: Db) => {
      await tx`select id from notifications where id = ${notificationId}::uuid for update`;
      const unlocked = new Promise<void>((resolve) => (unlock = resolve));
      locked();
      await unlocked;
    });
    held.catch(failed);
  });
  const id = await stageJob(sql, push, { notificationId });
  const worker = startProcess("worker.ts", ["push"], { LOG_LEVEL: "info" });
  await until(() => stagedRow(id, ({ attempts }) => attempts === 1));
  return {
    worker,
    notificationId,
    release: async () => {
      unlock();
      await held;
    },
  };
}

test("an unknown queue ends the process with one line that names it", async () => {
  child = startProcess("worker.ts", ["push", "pusch"]);
  expect(await complaints(child)).toMatch(
    /^There is no queue named pusch; the queues are ad-events, [^\n]*webhooks\n$/,
  );
  expect(await ended(child)).toMatchObject({ code: 1 });
});

test("a worker that cannot use the storage says so", async () => {
  child = startProcess("worker.ts", [], { STORAGE_DIR: "/dev/null/files", LOG_LEVEL: "error" });
  const output = outputOf(child);
  await until(() => output().includes("storage cannot be used"));
});

describe("a worker that starts before the migrations", () => {
  /** Takes the last migration back, for as long as `work` runs. */
  async function withoutLastMigration(
    work: (file: string, apply: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const files = await readdir(new URL("../../sql/migrations", import.meta.url));
    const file = files.sort().at(-1) ?? "";
    const version = Number.parseInt(file, 10);
    const [taken] = await sql<{ name: string; md5: string }[]>`
      delete from schema_versions where version = ${version}::bigint returning name, md5`;
    const apply = async () => {
      await sql`
        insert into schema_versions (version, name, md5)
        values (${version}::bigint, ${taken?.name ?? null}::text, ${taken?.md5 ?? null}::text)
        on conflict do nothing`;
    };
    try {
      await work(file, apply);
    } finally {
      await apply();
    }
  }

  const start = () => (child = startProcess("worker.ts", ["push"], { LOG_LEVEL: "info" }));

  test("names those that are pending in one line, and runs jobs once they are applied", async () => {
    await withoutLastMigration(async (file, apply) => {
      const id = await stageJob(sql, push, { notificationId: await insertNotification() });
      const output = outputOf(start());
      await until(() => output().includes("migrations are pending"));
      expect(output()).toContain(`"pending":["${file}"]`);
      expect(await stagedRow(id, ({ sends }) => sends === 0)).toBeDefined();
      await apply();
      await until(() => stagedRow(id, ({ done }) => done));
    });
  });

  test("is ended by SIGTERM meanwhile, with 0", async () => {
    await withoutLastMigration(async () => {
      const worker = start();
      const output = outputOf(worker);
      await until(() => output().includes("migrations are pending"));
      worker.kill("SIGTERM");
      expect(await ended(worker)).toEqual({ code: 0, signal: null });
      expect(output()).not.toContain("workers started");
    });
  });
});

test("a worker process runs its schedules, and SIGTERM ends it with 0", async () => {
  child = startProcess("worker.ts");
  await until(async () => (await findHeartbeatAge(sql, "canary")) !== undefined);
  const beats = () => sql<{ role: string }[]>`select role from processes where id like ${`%/${String(child?.pid)}/%`}`;
  await until(async () => (await beats())[0]?.role === "WORKER");
  child.kill("SIGTERM");
  expect(await ended(child)).toEqual({ code: 0, signal: null });
  expect(await beats()).toEqual([]);
});

test("SIGTERM ends a worker process that never reached Redis in the same way, and its jobs stay open", async () => {
  const id = await stageJob(sql, push, { notificationId: await insertNotification() });
  child = startProcess("worker.ts", [], { REDIS_URL: "redis://127.0.0.1:1", LOG_LEVEL: "info" });
  const output = outputOf(child);
  await until(() => stagedRow(id, ({ sends }) => sends === 1));
  await until(() => output().includes("the broker is in trouble"));
  child.kill("SIGTERM");
  expect(await ended(child)).toEqual({ code: 0, signal: null });
  expect(output()).not.toContain("jobs still running");
  expect(await stagedRow(id, ({ done, dead }) => !done && !dead)).toBeDefined();
});

test("SIGTERM lets the running job finish", async () => {
  const { worker, notificationId, release } = await busyWorker();
  child = worker;
  child.kill("SIGTERM");
  await release();
  expect(await ended(child)).toEqual({ code: 0, signal: null });
  expect(await notificationStatus(notificationId)).toMatchObject({ status: "SENT" });
});

test("SIGTERM does not wait for a rollup: Postgres finishes it, and its job stays open", async () => {
  const release = await lockRows((tx) => tx`select from pg_advisory_xact_lock(7306029)`);
  const id = await stageJob(sql, rollups, { day: "2026-03-10" });
  child = startProcess("worker.ts", ["rollups"], { WORKER_CONCURRENCY: "rollups=2" });
  await until(async () => {
    const waiting = await sql`
      select from pg_stat_activity
      where datname = current_database() and query like '%from roll_up(%' and wait_event = 'advisory'`;
    return waiting.length === 1;
  });
  child.kill("SIGTERM");
  expect(await ended(child)).toEqual({ code: 0, signal: null });
  expect(await stagedRow(id, ({ done, dead }) => !done && !dead)).toBeDefined();
  expect((await sql`select from rollup_days`).length).toBe(0);
  await release();
  await until(async () => (await sql`select from rollup_days where day = '2026-03-10'`).length === 1);
});

test("a second signal ends the process at once", async () => {
  const { worker, notificationId, release } = await busyWorker();
  child = worker;
  const output = outputOf(child);
  child.kill("SIGTERM");
  await until(() => output().includes("stopping"));
  child.kill("SIGTERM");
  expect(await ended(child)).toEqual({ code: 1, signal: null });
  await release();
  expect(await notificationStatus(notificationId)).toMatchObject({ status: "QUEUED" });
});
