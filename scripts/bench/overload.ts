import type { Measure } from "./chapter.js";
import { median, quantile } from "./compare.js";
import { placements, underLoad } from "./http.js";
import { Load, Pace, type LoadPlan, type PacePlan } from "./messages.js";
import { printGoal, printRow } from "./report.js";

const CONNECTIONS = 1_000;
const LONGEST_ANSWER_MS = 1_000;
const LEAST_GOODPUT = 0.9;
const PROBE_MS = 50;
/** The wait of requests for each other has to build up. */
const LEAST_SECONDS = 5;

/** Measures the answers when two and three times as many orders come as the service can take, from a thousand connections. */
export const orderTooMuch: Measure = async (lab, marketplace, { rounds, warmUpSeconds, ...effort }) => {
  const seconds = Math.max(effort.seconds, LEAST_SECONDS);
  const requests = await placements(marketplace);
  const [api, load, pace] = await Promise.all([
    lab.start("api/server"),
    lab.start("scripts/bench/programs/load"),
    lab.start("scripts/bench/programs/pace"),
  ]);
  const fitting = underLoad("as many as are answered", api, load, requests);
  await fitting.measure(warmUpSeconds);

  const overload = async (perSecond: number) => {
    const plan: LoadPlan = { url: api.url, connections: CONNECTIONS, seconds, perSecond, ...requests };
    const probe = [{ path: "/healthz", headers: {} }];
    const probes: PacePlan = { url: api.url, everyMs: PROBE_MS, seconds, requests: probe };
    const [answers, probed] = await Promise.all([load.ask(plan, Load), pace.ask(probes, Pace)]);
    const failed = answers.failed - answers.unavailable + probed.failed;
    if (failed > 0) throw new Error(`${failed} requests failed otherwise than with 503`);
    return { ...answers, probeMs: quantile(probed.latencies, 0.99) };
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
    const taken = of(({ perSecond }) => perSecond);
    const name = `${times} times as many`;
    printRow(name, [
      { name: "taken", value: taken, unit: "/s" },
      { name: "503", value: of(({ unavailable }) => unavailable / seconds), unit: "/s" },
      { name: "probe p99", value: of(({ probeMs }) => probeMs), unit: "ms" },
    ]);
    printGoal({
      name: `p99, ${name}`,
      value: of(({ p99Ms }) => p99Ms),
      unit: "ms",
      sign: "≤",
      goal: LONGEST_ANSWER_MS,
    });
    printGoal({
      name: `taken, of the best, ${name}`,
      value: median(answers.map(({ perSecond }, round) => perSecond / (best[round] ?? Number.NaN))),
      unit: "",
      sign: "≥",
      goal: LEAST_GOODPUT,
    });
  }
};
