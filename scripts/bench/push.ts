import { newVapidKeys } from "../../lib/process/push-keys.js";
import { push } from "../../queues/index.js";
import { memoryUnderLoad, onEachBroker, type Measure } from "./chapter.js";
import { compare, printRow, type Contender, type Effort } from "./compare.js";
import { makeDatabase } from "./database.js";
import type { Lab } from "./lab.js";
import type { Marketplace } from "./marketplace.js";
import type { Program } from "./program.js";
import { DeliveryRate, Rate, type DeliveryPlan, type FanOutPlan, type PassPlan } from "./messages.js";

/** The same messages to the same push service on this machine, as many at once as one worker process sends. */
export async function deliverMessages(lab: Lab, _marketplace: Marketplace, effort: Effort): Promise<void> {
  const service = await lab.start("scripts/bench/programs/push-service");
  // the service on this machine has no public address
  const env = { ...newVapidKeys(), NODE_ENV: "development", LOG_LEVEL: "warn", ALLOW_PRIVATE_ADDRESSES: "1" };
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
  await compare(send("the push worker", "worker"), [{ against, atLeast: 0.8 }], effort);
}

/** Notifications all the way from their staged jobs to their settled rows, beside what BullMQ can pass at most. */
export const passNotifications: Measure = (lab, _marketplace, effort) =>
  onEachBroker(lab, async (env) => {
    // where there are no keys, development sends to the log
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
    await compare(pass("staged → relay → worker → settled", "service"), [{ against, atLeast: 0.05 }], effort);
    await program.stop();
  });

const FOLLOWERS_PER_SAMPLE = 400;

/** A new box of a bakery that very many like, beside one statement that writes as many rows; and what memory it takes. */
export const tellFollowers: Measure = async (lab, _marketplace, effort) => {
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
  await compare(worker, [{ against, atLeast: 0.3 }], effort);
  await program.stop();

  // a process that has done nothing else but connect
  const fresh = await lab.start("scripts/bench/programs/fan-out", env);
  await contender(fresh, "", "bare").measure(0);
  const before = fresh.memoryBytes();
  let perSecond = Number.NaN;
  const tell = contender(fresh, "", "worker");
  const measured = { ...tell, measure: async () => ({ perSecond } = await tell.measure(0)) };
  const peak = await memoryUnderLoad(measured, fresh, 0);
  const growth = peak === null || before === null ? "" : `+${(peak - before / 1e6).toFixed(0)} MB`;
  printRow(`${followers.toLocaleString("en")} followers, one worker`, [
    `${(followers / perSecond).toFixed(1)} s`,
    growth,
  ]);
};
