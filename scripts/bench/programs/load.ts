import { quantile } from "../compare.js";
import { LoadPlan, type Load } from "../messages.js";
import { answerParent } from "./answer.js";
import { openConnection, writerOf, type Connection } from "./client.js";

// The load generator: its clients send a plan's requests, each as soon as its last one is answered.

async function run({ url, connections, seconds, ...plan }: LoadPlan): Promise<Load> {
  const write = writerOf(plan);
  const opened = await Promise.all(Array.from({ length: connections }, (_, client) => openConnection(url, client)));
  const latencies: number[] = [];
  let failed = 0;
  const before = process.cpuUsage();
  const start = performance.now();
  const client = async (connection: Connection, first: number) => {
    for (let n = first; performance.now() < start + seconds * 1_000; n += connections) {
      const sent = performance.now();
      const status = await connection.send(write(n));
      if (status >= 200 && status < 300) latencies.push(performance.now() - sent);
      else failed += 1;
      // the server has closed the connection
      if (status === 0) return;
    }
  };
  await Promise.all(opened.map(client));
  const passed = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(before);
  for (const connection of opened) connection.close();
  return {
    perSecond: latencies.length / passed,
    p99Ms: quantile(latencies, 0.99),
    failed,
    busy: (user + system) / 1e6 / passed,
  };
}

answerParent(LoadPlan, run);
