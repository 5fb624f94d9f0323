import { newVapidKeys } from "../../lib/push-keys.js";
import { push } from "../../queues/index.js";
import { compare, type Contender, type Effort } from "./compare.js";
import type { Lab } from "./lab.js";
import type { Marketplace } from "./marketplace.js";
import { DeliveryRate, type DeliveryPlan } from "./messages.js";

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
