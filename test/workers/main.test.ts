import type { ChildProcess } from "node:child_process";
import { afterAll, afterEach, expect, test } from "@jest/globals";
import { push } from "../../queues/index.js";
import { closeDatabase, sql, transaction, type Db } from "../../sql/db.js";
import { findHeartbeatAge } from "../../sql/queries/heartbeats.js";
import { stageJob } from "../../sql/outbox.js";
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
  expect(await complaints(child)).toMatch(/^There is no queue named pusch; the queues are ad-events, [^\n]*upkeep\n$/);
  expect(await ended(child)).toMatchObject({ code: 1 });
});

test("a worker that cannot use the storage says so", async () => {
  child = startProcess("worker.ts", [], { STORAGE_DIR: "/dev/null/files", LOG_LEVEL: "error" });
  const output = outputOf(child);
  await until(() => output().includes("storage cannot be used"));
});

test("a worker process runs its schedules, and SIGTERM ends it with 0", async () => {
  child = startProcess("worker.ts");
  await until(async () => (await findHeartbeatAge(sql, "canary")) !== undefined);
  child.kill("SIGTERM");
  expect(await ended(child)).toEqual({ code: 0, signal: null });
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
