import { memoryUnderLoad, onEachBroker, type Measure } from "./chapter.js";
import { compare, percentiles, quantile, type Contender, type Effort } from "./compare.js";
import { importMenus } from "./csv.js";
import {
  assertSameAnswer,
  boxReads,
  CLIENTS,
  nearbySearches,
  offerLists,
  placements,
  profileReads,
  underLoad,
  type Requests,
} from "./http.js";
import { compareEvents } from "./events.js";
import { convertImages, uploadFiles } from "./files.js";
import { readBesideSearches } from "./searches.js";
import { sendCodesBesideBombs } from "./hostile-files.js";
import type { Lab } from "./lab.js";
import { followOrders } from "./life.js";
import { measureMachinery } from "./machinery.js";
import { PRICE } from "./marketplace.js";
import { Latencies, Rate, type HandOverPlan, type HotRowPlan, type PickUpPlan } from "./messages.js";
import { goThroughPooler } from "./pooler.js";
import { pullMenus, takeWebhooks } from "./pos.js";
import { compareOrderSql } from "./order-sql.js";
import { orderTooMuch } from "./overload.js";
import type { Program } from "./program.js";
import { deliverBesideSilence, deliverMessages, processNotifications, notifyFollowers } from "./push.js";
import { replayBesideOrders } from "./replay-all.js";
import { print, printGoal, printRow } from "./report.js";
import { rollUpDays } from "./rollups.js";
import { makeStatementsOfMonth } from "./settlement.js";
import { measureStarts } from "./start.js";
import { sendBesideSilence } from "./webhooks-out.js";
import { holdStreams } from "./streams.js";
import { addWorkers } from "./workers.js";

const startApi = (lab: Lab, env?: NodeJS.ProcessEnv) => lab.start("api/server", env);
const startBare = (lab: Lab, env?: NodeJS.ProcessEnv) => lab.start("scripts/bench/programs/bare", env);
const startLoad = (lab: Lab) => lab.start("scripts/bench/programs/load");

/** Compares public reads with a minimal hand-written server. */
async function againstBare(lab: Lab, effort: Effort, requests: Requests, atLeast: number): Promise<void> {
  const [api, bare, load] = await Promise.all([startApi(lab), startBare(lab), startLoad(lab)]);
  await assertSameAnswer(api, bare, requests);
  const against = underLoad("bare Express + postgres.js", bare, load, requests);
  await compare(underLoad("the service", api, load, requests), [{ against, atLeast }], effort);
}

const readBox: Measure = (lab, marketplace, effort) => againstBare(lab, effort, boxReads(marketplace), 1.4);
const listOffers: Measure = (lab, _marketplace, effort) => againstBare(lab, effort, offerLists, 1.3);
const searchNearby: Measure = (lab, _marketplace, effort) => againstBare(lab, effort, nearbySearches, 1.3);

/** Compares with two hand-written servers: one verifies every token's signature, the other caches tokens as the service does. */
async function againstBareWithTokens(
  lab: Lab,
  effort: Effort,
  requests: Awaited<ReturnType<typeof profileReads>>,
  atLeast: number,
  check: (api: Program, bare: Program) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const [api, verifying, caching, load] = await Promise.all([
    startApi(lab),
    startBare(lab),
    startBare(lab, { CACHE_TOKENS: "1" }),
    startLoad(lab),
  ]);
  await check(api, verifying);
  const goals = [
    { against: underLoad("bare, each token verified", verifying, load, requests), atLeast },
    { against: underLoad("bare, tokens cached", caching, load, requests), atLeast },
  ];
  await compare(underLoad("the service", api, load, requests), goals, effort);
}

const readProfile: Measure = async (lab, marketplace, effort) => {
  const requests = await profileReads(marketplace);
  await againstBareWithTokens(lab, effort, requests, 1.4, (api, bare) => assertSameAnswer(api, bare, requests));
};

const placeOrders: Measure = async (lab, marketplace, effort) => {
  await againstBareWithTokens(lab, effort, await placements(marketplace), 1.05);
};

const orderHotBox: Measure = async (lab, { userIds, boxes }, effort) => {
  const [box] = boxes;
  if (!box) throw new Error("the marketplace has no boxes");
  const requests = await placements({ userIds, boxes: [box] });
  const [api, hotRow, load] = await Promise.all([
    startApi(lab),
    lab.start("scripts/bench/programs/hot-row"),
    startLoad(lab),
  ]);
  const totalMinor = Math.round(PRICE * 100);
  const against: Contender = {
    name: "the statement alone, from postgres.js",
    measure: (seconds) => {
      const { id: boxId, partnerId } = box;
      return hotRow.ask<Rate>(
        { clients: CLIENTS, seconds, userIds, boxId, partnerId, totalMinor } satisfies HotRowPlan,
        Rate,
      );
    },
  };
  await compare(underLoad("the service, over HTTP", api, load, requests), [{ against, atLeast: 0.85 }], effort);
};

const relay: Measure = (lab, _marketplace, effort) =>
  onEachBroker(lab, async (env, broker) => {
    const program = await lab.start("scripts/bench/programs/relay", env);
    const handOver = (name: string, how: HandOverPlan["how"]): Contender => ({
      name,
      measure: (seconds) => program.ask({ how, batches: Math.ceil(seconds * 8) } satisfies HandOverPlan, Rate),
    });
    const against = handOver("addBulk of 500", "addBulk");
    const atLeast = { Redis: 0.85, Postgres: 0.75 }[broker];
    await compare(handOver("the relay, batches of 500", "relay"), [{ against, atLeast }], effort);
    await program.stop();
  });

const pickUp: Measure = (lab, _marketplace, { samples }) =>
  onEachBroker(lab, async (env) => {
    const program = await lab.start("scripts/bench/programs/pick-up", env);
    await program.ask({ samples: 20 } satisfies PickUpPlan, Latencies);
    const { staged, bare } = await program.ask({ samples } satisfies PickUpPlan, Latencies);
    await program.stop();
    printRow("commit → job started", percentiles(staged));
    printRow("BullMQ: add → completed", percentiles(bare));
    for (const [name, q, most] of [
      ["p50", 0.5, 5],
      ["p99", 0.99, 20],
    ] as const) {
      const more = quantile(staged, q) - quantile(bare, q);
      printGoal({ name: `${name} beyond BullMQ's`, value: more, unit: "ms", sign: "≤", goal: most });
    }
  });

const memory: Measure = async (lab, marketplace, { seconds, rounds }) => {
  const mix = [boxReads(marketplace), await profileReads(marketplace), await placements(marketplace)];
  const [api, bare, load] = await Promise.all([startApi(lab), startBare(lab), startLoad(lab)]);
  const most: number[] = [];
  for (const [name, server] of [
    ["the service", api],
    ["bare Express + postgres.js", bare],
  ] as const) {
    const peaks: (number | null)[] = [];
    for (const requests of mix) {
      peaks.push(await memoryUnderLoad(underLoad(name, server, load, requests), server, (seconds * rounds) / 3));
    }
    const [peak] = peaks.filter((each) => each !== null).sort((one, other) => other - one);
    if (peak === undefined) {
      print("  skipped: this system has no /proc");
      return;
    }
    most.push(peak);
    printRow(name, [{ value: peak, unit: "MB" }]);
  }
  const [service = Number.NaN, bareServer = Number.NaN] = most;
  printGoal({ name: "of bare Express + postgres.js", value: service / bareServer, unit: "", sign: "≤", goal: 1.4 });
};

/** A process compiles its hot code by then. Before, a request costs up to three times as much. */
const WARM_UP_REQUESTS = 8_000;

/** Several servers under load at the same time, as one contender. */
const together = (name: string, contenders: readonly Contender[]): Contender => ({
  name,
  measure: async (seconds) => {
    const samples = await Promise.all(contenders.map((each) => each.measure(seconds)));
    const perSecond = samples.reduce((sum, each) => sum + each.perSecond, 0);
    const cpuMicros =
      samples.reduce((sum, each) => sum + (each.cpuMicros ?? Number.NaN) * each.perSecond, 0) / perSecond;
    return { perSecond, ...(Number.isNaN(cpuMicros) ? {} : { cpuMicros }) };
  },
});

/**
 * The gain of a second API process. On small machines the load generator and Postgres compete with it for cores; there the
 * ratio by CPU time means more, as it counts each process's CPU time per request. Each process has as many clients, and has
 * served as many requests before: two processes that share those of one would be compared while they still compile. Two
 * services that share nothing but Postgres compete for the cores in the same way, so the ratio to them is what sharing costs.
 */
const processes: Measure = async (lab, marketplace, effort) => {
  const requests = boxReads(marketplace);
  const server = async (name: string, count: number): Promise<Contender> => {
    const [api, load] = await Promise.all([startApi(lab, { WEB_CONCURRENCY: String(count) }), startLoad(lab)]);
    const contender = underLoad(name, api, load, requests, count * CLIENTS);
    for (let served = 0; served < count * WARM_UP_REQUESTS; served += (await contender.measure(1)).perSecond);
    return contender;
  };
  const [one, other, two] = [
    await server("WEB_CONCURRENCY=1", 1),
    await server("", 1),
    await server("WEB_CONCURRENCY=2", 2),
  ];
  const goals = [
    { against: one, atLeast: 1.6, byCpuAtLeast: 0.9 },
    { against: together("two services of one process each", [one, other]), atLeast: 0.9, byCpuAtLeast: 0.95 },
  ];
  await compare(two, goals, effort);
};

export const chapters: Record<string, { title: string; measure: Measure }> = {
  orders: { title: "Place an order over HTTP", measure: placeOrders },
  life: { title: "Place orders, and do all the work that they cause", measure: followOrders },
  "order-sql": {
    title: "Place an order in Postgres, against one statement that checks nothing",
    measure: compareOrderSql,
  },
  events: { title: "Place an order in Postgres with and without its event", measure: compareEvents },
  "hot-box": { title: "All clients order the same box", measure: orderHotBox },
  overload: { title: "Place more orders than can be answered", measure: orderTooMuch },
  "replay-all": { title: "Replay 100,000 dead jobs from the console while orders go on", measure: replayBesideOrders },
  box: { title: "Read one box", measure: readBox },
  list: { title: "List 20 boxes of a city", measure: listOffers },
  nearby: { title: "List 20 partners around a place", measure: searchNearby },
  searches: { title: "Read profiles while 600 connections search for boxes", measure: readBesideSearches },
  profile: { title: "Read one's own profile, with a token", measure: readProfile },
  webhook: { title: "Receive a POS webhook: verify, store, answer", measure: takeWebhooks },
  "pos-sync": { title: "Sync a POS menu of 20,000 items", measure: pullMenus },
  relay: { title: "Hand staged jobs over to BullMQ", measure: relay },
  "pick-up": { title: "From commit to the start of a job, on an idle system", measure: pickUp },
  images: { title: "Convert photographs of 12 megapixels", measure: convertImages },
  "hostile-files": { title: "Send codes by SMS while users upload hostile files", measure: sendCodesBesideBombs },
  uploads: { title: "Upload documents of 9 MB, 20 at once", measure: uploadFiles },
  csv: { title: "Import menus of a partner as CSV", measure: importMenus },
  push: { title: "Deliver a notification through Web Push", measure: deliverMessages },
  isolation: { title: "Deliver a notification while push services do not answer", measure: deliverBesideSilence },
  "webhooks-out": {
    title: "Send events to a thousand endpoints while some do not answer",
    measure: sendBesideSilence,
  },
  notifications: {
    title: "Process notifications from the staged job to the final status",
    measure: processNotifications,
  },
  "fan-out": { title: "Notify a bakery's followers of a new box", measure: notifyFollowers },
  rollups: { title: "Roll up days, and read a year's dashboard", measure: rollUpDays },
  settlement: { title: "Make the statements of a month", measure: makeStatementsOfMonth },
  machinery: { title: "Gains of optimisations that a simple service would leave out", measure: measureMachinery },
  pooler: { title: "Read profiles and place orders through PgBouncer", measure: goThroughPooler },
  streams: { title: "Hold live streams open, and place orders among them", measure: holdStreams },
  memory: { title: "Memory of one API process under load", measure: memory },
  start: { title: "Start a process, and everything", measure: measureStarts },
  processes: { title: "Two API processes against one", measure: processes },
  workers: { title: "Sixteen worker processes against one", measure: addWorkers },
};
