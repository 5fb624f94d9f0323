import type { Measure } from "./chapter.js";
import { median, quantile } from "./compare.js";
import { placements, underLoad } from "./http.js";
import { Arrivals, type ArrivalsPlan } from "./messages.js";
import { webhookCalls } from "./pos.js";
import { printGoal, printRow } from "./report.js";

const CONNECTIONS = 1_000;
const LONGEST_ANSWER_MS = 1_000;
const LEAST_GOODPUT = 0.9;
/** The wait of requests for each other has to build up. */
const LEAST_SECONDS = 5;

const get = (path: string) => ({ method: "GET" as const, path, headers: {} });
/** What comes beside the orders, and is to be refused last. */
const beside = { connections: 20, perSecond: 20 };

const p99 = (latencies: readonly number[]) => quantile(latencies, 0.99);

/**
 * Measures the answers when two and three times as many orders come as the service can take, from a thousand connections, and those
 * to health checks and webhooks beside them.
 */
export const orderTooMuch: Measure = async (lab, marketplace, { rounds, warmUpSeconds, ...effort }) => {
  const seconds = Math.max(effort.seconds, LEAST_SECONDS);
  const orders = await placements(marketplace);
  const webhooks = await webhookCalls(lab.databaseUrl, marketplace);
  const [api, load, arrivals] = await Promise.all([
    lab.start("api/server"),
    lab.start("scripts/bench/programs/load"),
    lab.start("scripts/bench/programs/arrivals"),
  ]);
  const fitting = underLoad("as many as are answered", api, load, orders);
  await fitting.measure(warmUpSeconds);

  const overload = async (perSecond: number) => {
    const streams: ArrivalsPlan["streams"] = [
      { connections: CONNECTIONS, perSecond, ...orders },
      { ...beside, requests: [get("/healthz"), get("/readyz")] },
      { ...beside, ...webhooks },
    ];
    const plan: ArrivalsPlan = { url: api.url, seconds, streams };
    const { streams: answers, busy } = await arrivals.ask(plan, Arrivals);
    const [placed, checks, events] = answers;
    if (!placed || !checks || !events) throw new Error("a stream was not answered");
    const failed = placed.failed + checks.failed + events.failed;
    if (failed > 0) throw new Error(`${failed} requests failed otherwise than with 503`);
    if (busy > 0.95) throw new Error("the load generator is the bottleneck: these figures would mean nothing");
    return {
      taken: placed.taken.length / placed.seconds,
      refused: placed.refused.length / placed.seconds,
      takenMs: p99(placed.taken),
      allMs: p99([...placed.taken, ...placed.refused]),
      checkMs: p99(checks.taken),
      webhookMs: p99(events.taken),
      besideRefused: checks.refused.length + events.refused.length,
    };
  };

  const best: number[] = [];
  const cases = [2, 3].map((times) => ({ times, answers: [] as Awaited<ReturnType<typeof overload>>[] }));
  for (let round = 0; round < rounds; round += 1) {
    const { perSecond } = await fitting.measure(seconds);
    best.push(perSecond);
    for (const { times, answers } of cases) answers.push(await overload(times * perSecond));
  }
  printRow(fitting.name, [{ value: median(best), unit: "/s" }]);
  for (const { times, answers } of cases) {
    const of = (figure: (each: (typeof answers)[number]) => number) => median(answers.map(figure));
    const name = `${times} times as many`;
    printRow(name, [
      { name: "taken", value: of(({ taken }) => taken), unit: "/s" },
      { name: "503", value: of(({ refused }) => refused), unit: "/s" },
      { name: "p99 of the taken", value: of(({ takenMs }) => takenMs), unit: "ms" },
    ]);
    const answered = (what: string, value: number) =>
      printGoal({ name: `p99 ${what}, ${name}`, value, unit: "ms", sign: "≤", goal: LONGEST_ANSWER_MS });
    answered(
      "of answers",
      of(({ allMs }) => allMs),
    );
    answered(
      "of health checks",
      of(({ checkMs }) => checkMs),
    );
    answered(
      "of webhooks",
      of(({ webhookMs }) => webhookMs),
    );
    const besideRefused = Math.max(...answers.map((each) => each.besideRefused));
    printGoal({ name: `refused of both, ${name}`, value: besideRefused, unit: "", sign: "≤", goal: 0 });
    printGoal({
      name: `taken, of the best, ${name}`,
      value: median(answers.map(({ taken }, round) => taken / (best[round] ?? Number.NaN))),
      unit: "",
      sign: "≥",
      goal: LEAST_GOODPUT,
    });
  }
};
