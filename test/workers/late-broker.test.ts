import { randomUUID } from "node:crypto";
import { afterAll, expect, test } from "@jest/globals";
import { closeBroker, prepareBroker } from "../../queues/broker.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { stageJob } from "../../sql/outbox.js";
import { closeSignals } from "../../sql/signals.js";
import { consume } from "../../workers/consume.js";
import { startRelay } from "../../workers/relay.js";
import { push } from "../../queues/index.js";
import { stagedRow } from "../support/trial.js";
import { until } from "../support/until.js";

const away = (isAway: boolean) =>
  isAway ? sql`alter schema bullmq rename to bullmq_away` : sql`alter schema bullmq_away rename to bullmq`;

afterAll(async () => {
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
});

test("workers that start before the broker's tables exist begin when they do, and can be closed before", async () => {
  await prepareBroker();
  await away(true);
  const { signal } = new AbortController();
  const done: string[] = [];
  const early = consume(push, () => Promise.resolve(), { concurrency: 1, signal });
  const consumer = consume(push, ({ payload }) => Promise.resolve(void done.push(payload.notificationId)), {
    concurrency: 1,
    signal,
  });
  await early.close();
  await expect(early.worker).rejects.toThrow();

  await away(false);
  const relay = startRelay([push]);
  const notificationId = randomUUID();
  const id = await stageJob(sql, push, { notificationId });
  await until(() => stagedRow(id, (row) => row.done));
  expect(done).toEqual([notificationId]);
  await Promise.all([relay.stop(), consumer.close()]);
});
