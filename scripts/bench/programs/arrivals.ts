import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { ArrivalsPlan, type Arrivals } from "../messages.js";
import { answerParent } from "./answer.js";
import { nextId, signWith } from "./unique.js";

// Sends requests at a steady rate, as many clients do that know nothing of each other: the next one comes whether or not the last
// was answered. Each is measured from the time it was due. The connections are open before, as those of a proxy are: how long the
// system takes to open a thousand is no part of it.

type Stream = ArrivalsPlan["streams"][number];

/** Opens a connection that sends one request at a time; `send` resolves with the status, or with 0 without a response. */
async function open({ hostname, port }: URL) {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, "connect");
  let received = "";
  let answer: (status: number) => void = () => undefined;
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
    const end = received.indexOf("\r\n\r\n");
    if (end < 0) return;
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, end)) ?? [];
    if (length === undefined) socket.destroy();
    else if (received.length >= end + 4 + Number(length)) answer(Number(received.slice(9, 12)));
  });
  socket.once("close", () => answer(0));
  socket.once("error", () => socket.destroy());
  return {
    send: (request: string) =>
      new Promise<number>((resolve) => {
        if (socket.destroyed) resolve(0);
        received = "";
        answer = resolve;
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

type Connection = Awaited<ReturnType<typeof open>>;

const text = (method: string, path: string, headers: Readonly<Record<string, string>>, body: string) =>
  `${method} ${path} HTTP/1.1\r\nHost: bench\r\n${Object.entries({
    ...headers,
    "content-length": Buffer.byteLength(body),
  })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n${body}`;

/** Opens the connections of a stream, each with a request that is answered, so that the server has accepted it. */
async function openAll(url: URL, count: number): Promise<Connection[]> {
  const connections: Connection[] = [];
  for (let n = 0; n < count; n += 1) {
    const connection = await open(url);
    const status = await connection.send(text("GET", "/healthz", {}, ""));
    if (status !== 200) throw new Error(`a connection was answered ${status}`);
    connections.push(connection);
  }
  return connections;
}

async function send(
  { perSecond, requests, uniqueHeader, webhookSecret }: Stream,
  connections: readonly Connection[],
  seconds: number,
): Promise<Arrivals["streams"][number]> {
  const sign = webhookSecret === undefined ? null : signWith(webhookSecret);
  const prepare = (n: number): string => {
    const request = requests[n % requests.length];
    if (!request) throw new Error("there is no request to send");
    const { method, path, headers, body: template = "" } = request;
    const { body, headers: signature } = sign?.(template) ?? { body: template, headers: {} };
    const unique = uniqueHeader === undefined ? {} : { [uniqueHeader]: nextId() };
    return text(method, path, { ...headers, ...signature, ...unique }, body);
  };

  const free = [...connections];
  const waiting: ((connection: Connection) => void)[] = [];
  const found: Arrivals["streams"][number] = { taken: [], refused: [], failed: 0, seconds: 0 };
  const start = performance.now();
  const ask = async (n: number): Promise<void> => {
    const due = start + (n * 1_000) / perSecond;
    const connection = free.pop() ?? (await new Promise<Connection>((resolve) => waiting.push(resolve)));
    const status = await connection.send(prepare(n));
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
  for (const stream of streams) opened.push({ stream, connections: await openAll(new URL(url), stream.connections) });
  const before = process.cpuUsage();
  const start = performance.now();
  const found = await Promise.all(opened.map(({ stream, connections }) => send(stream, connections, seconds)));
  const { user, system } = process.cpuUsage(before);
  const passed = performance.now() - start;
  for (const { connections } of opened) for (const connection of connections) connection.close();
  return { streams: found, busy: (user + system) / 1_000 / passed };
}

answerParent(ArrivalsPlan, run);
