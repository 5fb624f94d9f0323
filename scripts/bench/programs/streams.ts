import { connect } from "node:net";
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { StreamsPlan, type StreamDelays } from "../messages.js";
import { answerParent } from "./answer.js";

// Keeps many live streams open over bare connections, and measures how long after its request an order comes on one.

const OPENED_AT_ONCE = 50;
const ORDER = /"type":"order\.placed".*?"orderId":"([^"]+)"/g;
const Placed = z.object({ orderId: z.string() });

/** When each order came, on the first stream that had it. */
const arrivals = new Map<string, number>();
let open = 0;

/** Opens a stream; resolves when its first message has come, and rejects when it is refused. */
function openStream(url: string, path: string, authorization: string): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let head: string | null = "";
    socket.write(`GET ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: ${authorization}\r\n\r\n`);
    socket.on("data", (bytes: Buffer) => {
      const text = bytes.toString("latin1");
      if (head === null) {
        for (const [, orderId = ""] of text.matchAll(ORDER))
          if (!arrivals.has(orderId)) arrivals.set(orderId, performance.now());
        return;
      }
      head += text;
      if (!head.includes("event: start")) return;
      if (!head.startsWith("HTTP/1.1 200")) reject(new Error(`a stream was refused: ${head.slice(0, 200)}`));
      head = null;
      open += 1;
      resolve();
    });
    socket.once("error", reject);
    socket.once("close", () => {
      open -= 1;
      reject(new Error(`a stream was closed: ${head ?? ""}`));
    });
  });
}

const agent = new Agent({ keepAlive: true });

/** Places an order; returns its id. */
const place = (url: string, { path, headers, body }: StreamsPlan["orders"][number]) =>
  new Promise<string>((resolve, reject) => {
    const sent = request(url + path, { agent, method: "POST", headers }, (response) => {
      let text = "";
      response.on("data", (part: Buffer) => (text += part.toString()));
      response.on("end", () => {
        if (response.statusCode === 201) resolve(Placed.parse(JSON.parse(text)).orderId);
        else reject(new Error(`an order was refused: ${text}`));
      });
    });
    sent.once("error", reject);
    sent.end(body);
  });

async function run({ url, streams, orders, everyMs }: StreamsPlan): Promise<StreamDelays> {
  for (let from = 0; from < streams.length; from += OPENED_AT_ONCE)
    await Promise.all(
      streams.slice(from, from + OPENED_AT_ONCE).map(({ path, authorization }) => openStream(url, path, authorization)),
    );
  const start = performance.now();
  const sent = await Promise.all(
    orders.map(async (order, turn) => {
      await delay(Math.max(start + turn * everyMs - performance.now(), 0));
      const at = performance.now();
      return { at, orderId: await place(url, order) };
    }),
  );
  const deadline = performance.now() + 30_000;
  while (sent.some(({ orderId }) => !arrivals.has(orderId)) && performance.now() < deadline) await delay(50);
  const delays = sent.map(({ at, orderId }) => (arrivals.get(orderId) ?? Number.POSITIVE_INFINITY) - at);
  return { open, delays: delays.filter(Number.isFinite), lost: delays.filter((each) => !Number.isFinite(each)).length };
}

answerParent(StreamsPlan, run);
