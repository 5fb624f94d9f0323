import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { PacePlan, type Pace } from "../messages.js";
import { answerParent } from "./answer.js";
import { getStatus } from "./get-status.js";

// Sends requests at a steady pace, however long the answers take, and measures each from the time it was due.

async function run({ url, everyMs, seconds, requests }: PacePlan): Promise<Pace> {
  const agent = new Agent({ keepAlive: true });
  const start = performance.now();
  const latencies: number[] = [];
  let failed = 0;
  const ask = async (turn: number) => {
    const due = start + turn * everyMs;
    await delay(Math.max(due - performance.now(), 0));
    const request = requests[turn % requests.length];
    if (!request) throw new Error("there is no request to send");
    const status = await getStatus(url + request.path, { agent, headers: request.headers });
    if (status !== 200) failed += 1;
    latencies.push(performance.now() - due);
  };
  await Promise.all(Array.from({ length: Math.floor((seconds * 1_000) / everyMs) }, (_, turn) => ask(turn)));
  agent.destroy();
  return { latencies, failed };
}

answerParent(PacePlan, run);
