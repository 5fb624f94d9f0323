import { onEachBroker, type Measure } from "./chapter.js";
import { percentiles, quantile } from "./compare.js";
import { Arrived, type WebhooksPlan } from "./messages.js";
import { printGoal, printRow } from "./report.js";

const ENDPOINTS = 1_000;
const HANGING = 50;
/** Fewer than one process can send on a small machine, so that nothing but endpoints makes events wait. */
const EVENTS_PER_SECOND = 40;
/** Longer than calls to an endpoint that does not answer take. */
const LEAST_SECONDS = 30;
const LONGEST_DELIVERY_MS = 5_000;

/** Measures from commit to arrival at new endpoints, while some of them never answer. */
export const sendBesideSilence: Measure = (lab, _marketplace, { rounds, seconds }) =>
  onEachBroker(lab, async (env) => {
    for (const [name, hanging] of [
      ["all answer", 0],
      [`${HANGING} of them never answer`, HANGING],
    ] as const) {
      // receivers listen on this machine
      const local = { NODE_ENV: "development", LOG_LEVEL: "error", ALLOW_PRIVATE_ADDRESSES: "1" };
      const program = await lab.start("scripts/bench/programs/webhooks-out", { ...env, ...local });
      const plan: WebhooksPlan = {
        endpoints: ENDPOINTS,
        hanging,
        perSecond: EVENTS_PER_SECOND,
        seconds: Math.max(LEAST_SECONDS, rounds * seconds),
      };
      const { latencies } = await program.ask(plan, Arrived);
      await program.stop();
      const title = `${ENDPOINTS.toLocaleString("en")} endpoints, ${name}`;
      printRow(title, percentiles(latencies));
      const p99 = { name: `p99, ${title}`, value: quantile(latencies, 0.99), unit: "ms" };
      if (hanging > 0) printGoal({ ...p99, sign: "≤", goal: LONGEST_DELIVERY_MS });
    }
  });
