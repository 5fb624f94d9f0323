import { setTimeout as delay } from "node:timers/promises";
import { ArrivalsPlan, type Arrivals } from "../messages.js";
import { answerParent } from "./answer.js";
import { openConnection, writerOf, type Connection } from "./client.js";

// Sends requests at a steady rate, as many clients do that know nothing of each other: the next one comes whether or not the last
// was answered. Each is measured from the time it was due. The connections are open before, as those of a proxy are: how long the
// system takes to open a thousand is no part of it.

type Stream = ArrivalsPlan["streams"][number];

/** Opens the connections of a stream, each with a request that is answered, so that the server has accepted it. */
async function openAll(url: string, count: number): Promise<Connection[]> {
  const connections: Connection[] = [];
  for (let client = 0; client < count; client += 1) {
    const connection = await openConnection(url, client);
    const status = await connection.send("GET /healthz HTTP/1.1\r\nHost: bench\r\n\r\n");
    if (status !== 200) throw new Error(`a connection was answered ${status}`);
    connections.push(connection);
  }
  return connections;
}

async function send(
  { perSecond, ...plan }: Stream,
  connections: readonly Connection[],
  seconds: number,
): Promise<Arrivals["streams"][number]> {
  const write = writerOf(plan);
  const free = [...connections];
  const waiting: ((connection: Connection) => void)[] = [];
  const found: Arrivals["streams"][number] = { taken: [], refused: [], failed: 0, seconds: 0 };
  const start = performance.now();
  const ask = async (n: number): Promise<void> => {
    const due = start + (n * 1_000) / perSecond;
    const connection = free.pop() ?? (await new Promise<Connection>((resolve) => waiting.push(resolve)));
    const status = await connection.send(write(n));
    const ms = performance.now() - due;
    const next = waiting.shift();
    if (next) next(connection);
    else free.push(connection);
    if (status >= 200 && status < 300) found.taken.push(ms);
    else if (status === 503) found.refused.push(ms);
    else found.failed += 1;
  };

  const count = Math.floor(seconds * perSecond);
  const asked: Promise<void>[] = [];
  while (asked.length < count) {
    const due = Math.min(count, ((performance.now() - start) * perSecond) / 1_000);
    while (asked.length < due) asked.push(ask(asked.length));
    await delay(1);
  }
  await Promise.all(asked);
  return { ...found, seconds: (performance.now() - start) / 1_000 };
}

async function run({ url, seconds, streams }: ArrivalsPlan): Promise<Arrivals> {
  const opened: { stream: Stream; connections: Connection[] }[] = [];
  for (const stream of streams) opened.push({ stream, connections: await openAll(url, stream.connections) });
  const before = process.cpuUsage();
  const start = performance.now();
  const found = await Promise.all(opened.map(({ stream, connections }) => send(stream, connections, seconds)));
  const { user, system } = process.cpuUsage(before);
  const passed = performance.now() - start;
  for (const { connections } of opened) for (const connection of connections) connection.close();
  return { streams: found, busy: (user + system) / 1_000 / passed };
}

answerParent(ArrivalsPlan, run);
