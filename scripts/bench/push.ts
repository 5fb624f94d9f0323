import { newVapidKeys } from "../../lib/process/push-keys.js";
import { push } from "../../queues/index.js";
import { memoryUnderLoad, onEachBroker, type Measure } from "./chapter.js";
import { compare, percentiles, quantile, type Contender, type Effort } from "./compare.js";
import { makeDatabase } from "./database.js";
import type { Lab } from "./lab.js";
import type { Marketplace } from "./marketplace.js";
import type { Program } from "./program.js";
import {
  DeliveryRate,
  Durations,
  Rate,
  type DeliveryPlan,
  type FanOutPlan,
  type IsolationPlan,
  type PassPlan,
} from "./messages.js";
import { printGoal, printRow } from "./report.js";

/** The configuration for a push service on this machine, which has no public address. */
const toLocalService = ({ url }: Program) => ({
  ...newVapidKeys(),
  NODE_ENV: "development",
  LOG_LEVEL: "warn",
  ALLOW_PRIVATE_ADDRESSES: "1",
  PUSH_SERVICES: new URL(url).host,
});

/** Sends the same messages to the same local push service, as many at once as one worker process does. */
export async function deliverMessages(lab: Lab, _marketplace: Marketplace, effort: Effort): Promise<void> {
  const service = await lab.start("scripts/bench/programs/push-service");
  const env = {
    ...toLocalService(service),
    // enough slots that the service's share of them is as many as are sent at once
    WORKER_CONCURRENCY: `push=${push.concurrency * 2}`,
  };
  const program = await lab.start("scripts/bench/programs/push", env);
  const send = (name: string, how: DeliveryPlan["how"]): Contender => ({
    name,
    measure: (seconds) => {
      const plan: DeliveryPlan = {
        how,
        service: service.url,
        messages: Math.ceil(seconds * 500),
        atOnce: push.concurrency,
      };
      return program.ask(plan, DeliveryRate);
    },
  });
  const against = send("web-push alone", "bare");
  await compare(send("the push worker", "worker"), [{ against, atLeast: 0.9 }], effort);
}

const SILENT_MESSAGES = 200;
const LONGEST_DELIVERY_MS = 1_000;

/** Measures deliveries while 200 messages are for push services that never answer. */
export const deliverBesideSilence: Measure = (lab, _marketplace, { samples }) =>
  onEachBroker(lab, async (env) => {
    const [known, other] = await Promise.all([
      lab.start("scripts/bench/programs/push-service"),
      lab.start("scripts/bench/programs/push-service"),
    ]);
    for (const [name, silentServices] of [
      ["alone", 0],
      ["beside 1 silent one", 1],
      ["beside 50 silent ones", 50],
    ] as const) {
      const program = await lab.start("scripts/bench/programs/isolation", { ...env, ...toLocalService(known) });
      const plan: IsolationPlan = {
        services: [known.url, other.url],
        silentServices,
        silentMessages: SILENT_MESSAGES,
        samples,
      };
      const { latencies } = await program.ask(plan, Durations);
      await program.stop();
      for (const [index, service] of ["known service", "other service"].entries()) {
        const values = latencies[index] ?? [];
        const title = `${service}, ${name}`;
        printRow(title, percentiles(values));
        const p99 = { name: `p99, ${title}`, value: quantile(values, 0.99), unit: "ms" };
        if (silentServices > 0) printGoal({ ...p99, sign: "≤", goal: LONGEST_DELIVERY_MS });
      }
    }
  });

/** Compares notifications, from staged job to final status, with the most jobs that BullMQ alone can pass. */
export const processNotifications: Measure = (lab, _marketplace, effort) =>
  onEachBroker(lab, async (env, broker) => {
    // without keys, development sends to the log
    const program = await lab.start("scripts/bench/programs/notifications", {
      ...env,
      NODE_ENV: "development",
      LOG_LEVEL: "warn",
    });
    const pass = (name: string, how: PassPlan["how"]): Contender => ({
      name,
      measure: (seconds) => program.ask({ how, jobs: Math.ceil(seconds * 1_000) } satisfies PassPlan, Rate),
    });
    const against = pass("BullMQ alone, with nothing to do", "bare");
    const atLeast = { Redis: 0.4, Postgres: 0.8 }[broker];
    await compare(pass("staged → relay → worker → final status", "service"), [{ against, atLeast }], effort);
    await program.stop();
  });

const FOLLOWERS_PER_SAMPLE = 400;

/** Compares a fan-out to very many followers with one statement that writes as many rows, and measures its memory. */
export const notifyFollowers: Measure = async (lab, _marketplace, effort) => {
  const followers = effort.samples * FOLLOWERS_PER_SAMPLE;
  const env = {
    DATABASE_URL: await makeDatabase(lab.databaseUrl, "bench_fans"),
    DATABASE_TIMEOUT_MS: "600000",
  };
  const contender = (program: Program, name: string, how: FanOutPlan["how"]): Contender => ({
    name,
    measure: () => program.ask({ how, followers } satisfies FanOutPlan, Rate),
  });
  const program = await lab.start("scripts/bench/programs/fan-out", env);
  const worker = contender(program, "the fan-out worker, with staged pushes", "worker");
  const against = contender(program, "insert … select alone", "bare");
  await compare(worker, [{ against, atLeast: 0.8 }], effort);
  await program.stop();

  // a process that has only connected
  const fresh = await lab.start("scripts/bench/programs/fan-out", env);
  await contender(fresh, "", "bare").measure(0);
  const before = fresh.memoryBytes();
  let perSecond = Number.NaN;
  const freshWorker = contender(fresh, "", "worker");
  const measured = { ...freshWorker, measure: async () => ({ perSecond } = await freshWorker.measure(0)) };
  const peak = await memoryUnderLoad(measured, fresh, 0);
  printRow(`${followers.toLocaleString("en")} followers, one worker`, [
    { value: followers / perSecond, unit: "s" },
    ...(peak === null || before === null ? [] : [{ name: "growth", value: peak - before / 1e6, unit: "MB" }]),
  ]);
};
