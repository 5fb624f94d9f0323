import { beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { PermanentError, Snooze } from "../../lib/process/errors.js";
import { log } from "../../lib/process/log.js";
import { openQueue, openQueues } from "../../queues/broker.js";
import { DatabaseError, sql, transaction } from "../../sql/db.js";
import { replayJob } from "../../sql/operators/jobs.js";
import { resendJobs, stageJob, stageJobs } from "../../sql/outbox.js";
import type { Consumer } from "../../workers/consume.js";
import { checkSchedules } from "../../workers/schedules.js";
import { ended, startProcess } from "../support/processes.js";
import { allDone, stagedRow, stagedRows, trial } from "../support/trial.js";
import { emptyQueue, relay, serve, wipeBroker, type Run } from "../support/trial-queue.js";
import { until } from "../support/until.js";

/** The whole path from a staged job to a completed one, on the broker that the test file has configured. */
export function describeDelivery(broker: string): void {
  describe(`delivery through BullMQ on ${broker}`, () => {
    let handle: Run;
    let consumer: Consumer;

    /** The generation that each job began with. */
    const first = new Map<string, number>();
    const stage = (n: number, options = {}): Promise<string> =>
      transaction(async (tx) => {
        const id = await stageJob(tx, trial, { n }, options);
        const [row] = await tx<{ generation: number }[]>`select generation from staged_jobs where id = ${id}::bigint`;
        first.set(id, row?.generation ?? NaN);
        return id;
      });
    /** The generation of a job that was started anew so many times. */
    const nth = (id: string, times: number) => (first.get(id) ?? NaN) + times;
    const settled = (id: string) => until(() => stagedRow(id, ({ done, dead }) => done || dead));
    const done = (id: string) => until(() => stagedRow(id, ({ done }) => done));
    const dead = (id: string) => until(() => stagedRow(id, ({ dead }) => dead));
    const inBroker = (id: string, times = 0) => openQueue(trial).getJob(`${id}.${nth(id, times)}`);

    beforeAll(async () => {
      await sql`create table trial_starts (n integer not null)`;
      await sql`create table trial_effects (n integer not null)`;
    });

    beforeEach(async () => {
      await sql`truncate trial_starts, trial_effects`;
      handle = () => undefined;
      consumer = serve((task) => handle(task));
    });

    test("a staged job runs with its payload and its request id, and its row is completed", async () => {
      const seen: unknown[] = [];
      handle = ({ payload, requestId, attempt }) => void seen.push({ payload, requestId, attempt });
      const id = await stage(1, { requestId: "the-request" });
      expect(await done(id)).toMatchObject({ attempts: 1, generation: nth(id, 0), lastError: null });
      expect(seen).toEqual([{ payload: { n: 1 }, requestId: "the-request", attempt: 1 }]);
    });

    test("of the jobs that wait, those of a lower priority number run first, and a snoozed job may come back behind them", async () => {
      await consumer.close();
      const first = await stage(1);
      const others = [await stage(4, { priority: 7 }), await stage(3, { priority: 3 }), await stage(2)];
      for (const id of [first, ...others]) await until(() => inBroker(id));
      const order: number[] = [];
      handle = async ({ payload: { n } }) => {
        order.push(n);
        if (n === 1 && order.length === 1) throw new Snooze(new Date(), 5);
        if (n === 2) await until(() => inBroker(first, 1));
      };
      consumer = serve((task) => handle(task), 1);
      await allDone();
      expect(order).toEqual([1, 2, 3, 1, 4]);
    });

    test("more jobs than fit into one batch all run once", async () => {
      const runs = new Map<number, number>();
      handle = ({ payload: { n } }) => void runs.set(n, (runs.get(n) ?? 0) + 1);
      await stageJobs(
        sql,
        trial,
        Array.from({ length: 700 }, (_, n) => ({ payload: { n } })),
      );
      await allDone();
      expect([...runs.values()].filter((count) => count === 1)).toHaveLength(700);
    });

    test("a job with a run time waits for it in its row", async () => {
      const runAt = new Date(Date.now() + 1_500);
      const ranAt = new Map<number, number>();
      handle = ({ payload: { n } }) => void ranAt.set(n, Date.now());
      const id = await stage(1, { runAt });
      const tomorrow = await stage(2, { runAt: new Date(Date.now() + 24 * 3_600_000) });
      await done(await stage(3));
      await done(id);
      expect(await stagedRow(tomorrow, ({ done }) => !done)).toMatchObject({ sends: 0 });
      expect(ranAt.get(1)).toBeGreaterThanOrEqual(runAt.getTime());
    });

    test("a failing job is retried until it is dead, and its error is stored without personal data", async () => {
      handle = () => {
        throw new Error('no such user "Anna" at anna@example.org or +79161234567');
      };
      const id = await stage(1);
      const row = await dead(id);
      expect(row).toMatchObject({ attempts: trial.attempts, done: false });
      expect(row.lastError).toMatch(/^Error: no such user/);
      const job = await until(async () => (await openQueue(trial).getFailed())[0]);
      expect(job.attemptsMade).toBe(trial.attempts);
      for (const text of [row.lastError, job.failedReason, ...(job.stacktrace ?? [])])
        expect(text).not.toMatch(/Anna|anna|7916/);
    });

    test("a job that takes long shows in the broker how far it is, and a short one does not", async () => {
      let long = "";
      let shown: unknown;
      handle = async ({ payload: { n }, progress }) => {
        progress(n, 4);
        if (n === 1)
          await until(async () => {
            progress(n, 4);
            shown = (await inBroker(long))?.progress;
            return typeof shown === "object" && shown !== null;
          });
      };
      long = await stage(1);
      await done(long);
      expect(shown).toEqual({ done: 1, total: 4, progress: 25 });
      const short = await stage(2);
      await done(short);
      expect((await inBroker(short))?.progress ?? 0).toBe(0);
    });

    test("the log of a job that fails is in the broker too, of all its attempts, and that of one that succeeds is not", async () => {
      const before = log.level;
      log.level = "info";
      handle = ({ payload: { n }, log: jobLog, attempt }) => {
        jobLog.info({ phone: "+79161234567", attempt }, "looked for");
        if (n === 1 && attempt < trial.attempts) throw new Error("broken");
      };
      const linesOf = async (id: string, times = 0) =>
        (await openQueue(trial).getJobLogs(`${id}.${nth(id, times)}`)).logs.map((line) => line.replace(/^\S+ /, ""));
      const [failing, other] = [await stage(1), await stage(2)];
      await Promise.all([done(failing), done(other)]);
      log.level = before;
      expect(await linesOf(failing)).toEqual([
        'info looked for phone="[redacted]" attempt=1',
        'info looked for phone="[redacted]" attempt=2',
      ]);
      expect(await linesOf(other)).toEqual([]);
    });

    test("a dead job that is retried on the dashboard runs and is no longer dead", async () => {
      let broken = true;
      handle = () => {
        if (broken) throw new Error("not yet");
      };
      const id = await stage(1);
      await dead(id);
      const job = await until(async () => (await openQueue(trial).getFailed())[0]);
      await job.retry("failed");
      await until(() => stagedRow(id, ({ attempts }) => attempts === trial.attempts + 1));
      expect(await until(() => stagedRow(id, ({ dead }) => dead))).toMatchObject({ done: false });
      broken = false;
      await until(async () => (await openQueue(trial).getFailed())[0]);
      await job.retry("failed");
      expect(await done(id)).toMatchObject({ dead: false, lastError: null });
    });

    test("a replayed dead job has all its attempts again", async () => {
      handle = () => {
        throw new PermanentError("hopeless");
      };
      const id = await stage(1);
      expect(await dead(id)).toMatchObject({ attempts: 1 });
      let failures = 0;
      handle = () => {
        if (++failures < trial.attempts) throw new Error("not yet");
      };
      expect(await replayJob(sql, id)).toBe(true);
      expect(await done(id)).toMatchObject({ dead: false, generation: nth(id, 1), attempts: trial.attempts });
      expect(await replayJob(sql, id)).toBe(false);
    });

    test("a snoozed job runs at its time without losing an attempt", async () => {
      const attempts: number[] = [];
      const time = new Date(Date.now() + 1_000);
      handle = ({ attempt }) => {
        attempts.push(attempt);
        if (attempts.length <= trial.attempts) throw new Snooze(attempts.length === 1 ? time : new Date());
      };
      const id = await stage(1);
      expect(await done(id)).toMatchObject({ attempts: 1, generation: nth(id, trial.attempts) });
      expect(attempts).toEqual([1, 1, 1, 1]);
      expect(Date.now()).toBeGreaterThanOrEqual(time.getTime());
    });

    test("a job that gets no connection to Postgres runs later without losing an attempt", async () => {
      let runs = 0;
      handle = () => {
        runs += 1;
        if (runs <= 2 * trial.attempts) throw new DatabaseError("too many transactions are waiting", "53300");
      };
      const id = await stage(1);
      expect(await done(id)).toMatchObject({ attempts: 1, generation: nth(id, 2 * trial.attempts) });
    });

    test("a job that outages fail has three times its attempts, and then is dead", async () => {
      let runs = 0;
      handle = () => {
        runs += 1;
        if (runs < 3 * trial.attempts) throw new DatabaseError("the server closed it", "08006");
      };
      expect(await done(await stage(1))).toMatchObject({ attempts: 3 * trial.attempts });
      handle = () => {
        throw new DatabaseError("canceling statement due to statement timeout", "57014");
      };
      const id = await stage(2);
      expect(await until(() => stagedRow(id, ({ dead }) => dead))).toMatchObject({ attempts: 3 * trial.attempts });
    });

    test("a payload that breaks the contract makes the job dead without being logged", async () => {
      await sql`insert into staged_jobs (queue, payload) values (${trial.queue}, ${sql.json({ n: "secret" })})`;
      const row = await until(async () => (await stagedRows()).find(({ dead }) => dead));
      expect(row.lastError).toBe("PermanentError: the payload breaks the contract at n");
    });

    test("a job that is handed over again while BullMQ has it runs once", async () => {
      const atWork: (() => void)[] = [];
      handle = () => new Promise<void>((resolve) => atWork.push(resolve));
      const id = await stage(1);
      await until(() => atWork.length === 1);
      await sql`update staged_jobs set next_send_at = now()`;
      const later = await stage(2);
      await until(() => stagedRow(id, ({ sends }) => sends === 2));
      await until(() => atWork.length === 2);
      for (const goOn of atWork) goOn();
      expect(await done(id)).toMatchObject({ attempts: 1 });
      expect(await done(later)).toMatchObject({ attempts: 1 });
    });

    test("two concurrent runs of one job have one effect", async () => {
      const atWork: (() => void)[] = [];
      handle = async ({ payload: { n }, done }) => {
        await new Promise<void>((resolve) => atWork.push(resolve));
        await transaction(async (tx) => {
          await tx`insert into trial_effects (n) values (${n})`;
          await done(tx);
        });
      };
      const id = await stage(1);
      await until(() => atWork.length === 1);
      await emptyQueue();
      expect(await resendJobs(sql, [trial.queue])).toBe(1);
      await until(() => atWork.length === 2);
      for (const goOn of atWork) goOn();
      expect(await settled(id)).toMatchObject({ attempts: 2, done: true });
      await consumer.close();
      expect(await sql`select n from trial_effects`).toHaveLength(1);
    });

    test("an open row whose job has failed for good in BullMQ is run again", async () => {
      handle = () => {
        throw new PermanentError("hopeless");
      };
      const id = await stage(1);
      await dead(id);
      await until(async () => (await inBroker(id))?.isFailed());
      handle = () => undefined;
      // as if Postgres had been down when the last attempt failed
      await sql`update staged_jobs set dead_at = null, attempts = 0, next_send_at = now()`;
      expect(await done(id)).toMatchObject({ generation: nth(id, 1), attempts: 1 });
    });

    test("a job that is interrupted again and again is run, and becomes dead after three times its attempts", async () => {
      let runs = 0;
      handle = () => {
        runs++;
      };
      const stageInterrupted = (times: number) =>
        transaction(async (tx) => {
          const id = await stageJob(tx, trial, { n: 1 });
          await tx`update staged_jobs set attempts = ${times} where id = ${id}::bigint`;
          return id;
        });
      expect(await done(await stageInterrupted(3 * trial.attempts - 1))).toMatchObject({ dead: false });
      expect(runs).toBe(1);
      expect(await dead(await stageInterrupted(3 * trial.attempts))).toMatchObject({ done: false });
      expect(runs).toBe(1);
    });

    test("a job whose row a failover has lost is dropped, and leaves the row alone that gets its id", async () => {
      await consumer.close();
      const warn = jest.spyOn(log, "warn");
      const lost = await stage(1);
      const again = await stage(2);
      await until(() => stagedRow(again, ({ sends }) => sends === 1));
      await sql`delete from staged_jobs`;
      await sql`
        insert into staged_jobs (id, queue, payload) overriding system value
        values (${again}::bigint, ${trial.queue}, ${sql.json({ n: 3 })})`;
      // the broker has three jobs now, and the worker may start those of one id in one statement
      await until(() => stagedRow(again, ({ sends }) => sends === 1));
      const seen: number[] = [];
      handle = ({ payload: { n } }) => void seen.push(n);
      consumer = serve((task) => handle(task));
      await until(async () => (await inBroker(lost))?.isCompleted());
      await until(async () => (await inBroker(again))?.isCompleted());
      expect(await done(again)).toMatchObject({ attempts: 1, lastError: null });
      expect(seen).toEqual([3]);
      expect(warn.mock.calls.map(([facts, text]) => [facts, text])).toEqual([
        [{ queue: trial.queue, jobId: `${lost}.${nth(lost, 0)}` }, "a job was dropped, as its row is gone"],
      ]);
      warn.mockRestore();
    });

    test("a job that was added to BullMQ directly is refused", async () => {
      const job = await openQueue(trial).add("by-hand", { n: 1 });
      await until(() => job.isFailed());
    });

    test("a broker that lost everything gets it again: waiting, failed and delayed jobs, and the schedules", async () => {
      await checkSchedules();
      const scheduled = async () =>
        (await Promise.all(openQueues().map((queue) => queue.getJobSchedulers()))).flat().length;
      const schedules = await scheduled();
      expect(schedules).toBeGreaterThan(0);
      let working = false;
      handle = () => {
        if (!working) throw new Error("not yet");
      };
      const failed = await stage(1);
      await until(() => stagedRow(failed, ({ lastError }) => lastError !== null));
      await (await consumer.worker).pause();
      const waiting = await stage(2);
      await until(() => stagedRow(waiting, ({ sends }) => sends === 1));
      const delayed = await stage(3, { runAt: new Date(Date.now() + 1_000) });
      await wipeBroker();
      expect(await scheduled()).toBe(0);
      working = true;
      await checkSchedules();
      expect(await scheduled()).toBe(schedules);
      void (await consumer.worker).resume();
      expect(await done(failed)).toMatchObject({ generation: nth(failed, 0) });
      expect(await done(waiting)).toMatchObject({ attempts: 1 });
      expect(await done(delayed)).toMatchObject({ attempts: 1 });
    });

    test("jobs continue while every connection to Postgres is cut repeatedly", async () => {
      const insist = <T>(ask: () => Promise<T | undefined>) => until(() => ask().catch(() => undefined));
      for (let n = 0; n < 3; n++) {
        await insist(
          () => sql`
            select pg_terminate_backend(pid)
            from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()`,
        );
        const id = await insist(() => stage(n));
        expect(await insist(() => stagedRow(id, ({ done }) => done))).toMatchObject({ dead: false });
      }
    });

    test("a job of a killed worker is run by the next one, with one effect", async () => {
      await consumer.close();
      await relay.stop();
      const first = startProcess("trial-worker.ts", ["--hang"]);
      const id = await stage(1);
      await until(async () => (await sql`select n from trial_starts`).length === 1);
      first.kill("SIGKILL");
      await ended(first);
      const second = startProcess("trial-worker.ts");
      expect(await done(id)).toMatchObject({ attempts: 2 });
      expect(await sql`select n from trial_effects`).toHaveLength(1);
      second.kill("SIGKILL");
      await ended(second);
    });
  });
}
