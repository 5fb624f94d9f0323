import { describe, expect, test } from "@jest/globals";
import { changeQueue } from "../../api/common/operate.js";
import { openQueue } from "../../queues/broker.js";
import { sql } from "../../sql/db.js";
import { stageJob } from "../../sql/outbox.js";
import {
  updateQueueConcurrency,
  updateQueuePaused,
  updateQueueRate,
  updateQueueResumed,
} from "../../sql/queries/queue-settings.js";
import type { Consumer } from "../../workers/consume.js";
import { applySettings } from "../../workers/queue-settings.js";
import { checkSchedules } from "../../workers/schedules.js";
import { allDone, stagedRow, stagedRows, trial } from "../support/trial.js";
import { serve, wipeBroker } from "../support/trial-queue.js";
import { until } from "../support/until.js";

/** What operators set of a queue, from its row to the jobs, on the broker that the test file has configured. */
export function describeQueueSettings(broker: string): void {
  describe(`a queue of BullMQ on ${broker}`, () => {
    const stage = (n: number) => stageJob(sql, trial, { n });
    const handedOver = () => openQueue(trial).getJobs();
    const settle = (consumer: Consumer) => applySettings([{ contract: trial, consumer }], [trial]);

    test("that is paused is handed no job and starts none, also when the broker was wiped, and goes on without a lost attempt", async () => {
      await stage(1);
      await until(async () => (await handedOver()).length === 1);
      await updateQueuePaused(sql, trial.queue, "a vendor is down");
      await applySettings([], [trial]);
      let paused = true;
      const runs: unknown[] = [];
      const consumer = serve(({ payload: { n }, attempt }) => void runs.push({ n, attempt, paused }));
      const held = await stage(2);
      await until(() => stagedRow(held, ({ sends }) => sends === 1));
      expect(await handedOver()).toHaveLength(1);
      await wipeBroker();
      await settle(consumer);
      await checkSchedules();
      expect(await openQueue(trial).isPaused()).toBe(true);
      // as if the pause were long
      for (let sends = 2; sends < 2 * trial.attempts; sends++) {
        await sql`update staged_jobs set next_send_at = now()`;
        await until(() => stagedRow(held, (row) => row.sends >= sends));
      }
      const untouched = { attempts: 0, dead: false };
      expect(await stagedRows()).toMatchObject([untouched, untouched]);
      paused = false;
      await changeQueue(trial.queue, { paused: false }, { actorId: null, why: "it is back" });
      await settle(consumer);
      await allDone();
      expect(runs).toEqual(expect.arrayContaining([1, 2].map((n) => ({ n, attempt: 1, paused: false }))));
      expect(runs).toHaveLength(2);
    });

    test("that is resumed hands over what was held back, also when that fails at first", async () => {
      await updateQueuePaused(sql, trial.queue, "a vendor is down");
      await applySettings([], [trial]);
      const held = await stage(1);
      await until(() => stagedRow(held, ({ sends }) => sends === 1));
      // the relay would not look again before the test is over
      await sql`update staged_jobs set next_send_at = now() + interval '14 minutes'`;
      await updateQueueResumed(sql, trial.queue);
      await sql`alter function release_held_jobs (text, integer) rename to unknown_function`;
      await expect(applySettings([], [trial])).rejects.toThrow("release_held_jobs");
      await sql`alter function unknown_function (text, integer) rename to release_held_jobs`;
      await applySettings([], [trial]);
      await until(async () => (await handedOver()).length === 1);
    });

    test("runs as many jobs at once as is set, also when that is changed while they run", async () => {
      const atWork: (() => void)[] = [];
      const consumer = serve(() => new Promise<void>((resolve) => void atWork.push(resolve)));
      await updateQueueConcurrency(sql, trial.queue, 1);
      await settle(consumer);
      for (const n of [1, 2, 3, 4]) await stage(n);
      await until(() => atWork.length === 1);
      await until(async () => (await openQueue(trial).getWaitingCount()) === 3);
      expect(atWork).toHaveLength(1);
      await updateQueueConcurrency(sql, trial.queue, 3);
      await settle(consumer);
      // although none has ended
      await until(() => atWork.length === 3);
      await updateQueueConcurrency(sql, trial.queue, null);
      await settle(consumer);
      await until(() => atWork.length === 4);
      for (const goOn of atWork) goOn();
      await allDone();
    });

    test("starts jobs at the rate that is set, also when the broker was wiped, until it has no limit again", async () => {
      const runs: unknown[] = [];
      const consumer = serve(({ payload: { n }, attempt }) => void runs.push({ n, attempt }));
      await updateQueueRate(sql, trial.queue, 1);
      await settle(consumer);
      await wipeBroker();
      await settle(consumer);
      expect(await openQueue(trial).getGlobalRateLimit()).toEqual({ max: 1, duration: 60_000 });
      for (const n of [1, 2, 3]) await stage(n);
      await until(async () => (await stagedRows()).some((row) => row.done));
      await until(async () => (await openQueue(trial).getRateLimitTtl()) > 0);
      expect((await stagedRows()).filter((row) => row.done)).toHaveLength(1);
      await updateQueueRate(sql, trial.queue, 90);
      await settle(consumer);
      expect(await openQueue(trial).getGlobalRateLimit()).toEqual({ max: 1, duration: 667 });
      await updateQueueRate(sql, trial.queue, null);
      await settle(consumer);
      expect(await openQueue(trial).getGlobalRateLimit()).toBeNull();
      await allDone();
      // those that waited have spent no attempt
      expect(runs).toEqual(expect.arrayContaining([1, 2, 3].map((n) => ({ n, attempt: 1 }))));
      expect(runs).toHaveLength(3);
    });
  });
}
