import { Agent } from "node:http";
import { FloodPlan, type Flood } from "../messages.js";
import { answerParent } from "./answer.js";
import { addressOf } from "./client.js";
import { getStatus } from "./get-status.js";

// Keeps many connections busy, from one client address or several: each sends a request as soon as its last one is answered.

async function run({ url, connections, addresses, seconds, paths }: FloodPlan): Promise<Flood> {
  const statuses: Flood["statuses"] = {};
  const end = performance.now() + seconds * 1_000;
  const client = async (index: number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const localAddress = addressOf(index % addresses);
    for (let turn = index; performance.now() < end; turn += 1) {
      const status = await getStatus(`${url}${paths[turn % paths.length] ?? ""}`, { agent, localAddress });
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: connections }, (_, index) => client(index)));
  return { statuses };
}

answerParent(FloodPlan, run);
