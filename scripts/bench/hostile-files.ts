import { createServer } from "node:http";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import sharp from "sharp";
import type { Measure } from "./chapter.js";
import { percentiles, quantile } from "./compare.js";
import { authorizationOf } from "./http.js";
import type { Lab } from "./lab.js";
import type { Program } from "./program.js";
import { printGoal, printRow } from "./report.js";

const FILES = 200;
const USERS = 20;
const UPLOADS_AT_ONCE = 20;
const CODE_EVERY_MS = 100;
const CODES_ALONE = 100;
const MOST_WORKER_MB = 400;
/** Beside conversions, which take all cores, a code may take this much longer. */
const MOST_MORE_MS = 100;

interface HostileFile {
  name: string;
  type: string;
  bytes: Buffer;
}

const blank = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background: "#336699" } });

/** A text that a browser would run, at the end of a picture. */
const script = Buffer.from("<html><script>alert(document.cookie)</script></html>");

/** Files of a few kilobytes that cost seconds or gigabytes to decode, or are not what they seem to be. */
async function makeHostileFiles(): Promise<HostileFile[]> {
  const png = { compressionLevel: 9 };
  const jpeg = await blank(600, 400).jpeg().toBuffer();
  const files: [name: string, type: string, bytes: Buffer | Promise<Buffer>][] = [
    ["wide", "image/png", blank(1_000_000, 49).toColourspace("rgb16").png(png).toBuffer()],
    ["high", "image/png", blank(49, 1_000_000).toColourspace("rgb16").png(png).toBuffer()],
    [
      "deep",
      "image/png",
      blank(4_900, 4_900, 4)
        .toColourspace("rgb16")
        .png({ ...png, progressive: true })
        .toBuffer(),
    ],
    ["deep and large", "image/png", blank(6_000, 6_000, 4).toColourspace("rgb16").png(png).toBuffer()],
    ["slow codec", "image/avif", blank(7_000, 7_000).avif({ effort: 0, quality: 1 }).toBuffer()],
    ["lossless", "image/webp", blank(7_000, 7_000).webp({ effort: 0, lossless: true }).toBuffer()],
    ["progressive", "image/jpeg", blank(7_000, 7_000).jpeg({ progressive: true }).toBuffer()],
    ["animated", "image/gif", animatedGif(4_000, 4_000, 10_000)],
    ["polyglot", "image/jpeg", Buffer.concat([jpeg, script])],
    ["cut off", "image/jpeg", jpeg.subarray(0, jpeg.length / 2)],
  ];
  return Promise.all(files.map(async ([name, type, bytes]) => ({ name, type, bytes: await bytes })));
}

/** An animated GIF, each of whose frames changes one pixel. */
function animatedGif(width: number, height: number, frames: number): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt16LE(width, 0);
  size.writeUInt16LE(height, 2);
  // a table of two colours
  const header = [Buffer.from("GIF89a"), size, Buffer.from([0x80, 0, 0, 255, 0, 0, 0, 0, 255])];
  const frame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]);
  return Buffer.concat([...header, ...Array<Buffer>(frames).fill(frame), Buffer.from([0x3b])]);
}

/** An SMS gateway that says when it got each phone's message. */
async function startGateway() {
  const arrivals = new Map<string, (at: number) => void>();
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      const at = performance.now();
      const [phone = ""] = /\+7\d{10}/.exec(body) ?? [];
      arrivals.get(phone)?.(at);
      response.end("ok");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the SMS gateway does not listen");
  return {
    url: `http://127.0.0.1:${address.port}`,
    arrival: (phone: string) => new Promise<number>((resolve) => arrivals.set(phone, resolve)),
    stop: () => server.close(),
  };
}

type Gateway = Awaited<ReturnType<typeof startGateway>>;

let phones = 0;

/** Asks for a code; returns how long it takes until the gateway has it, in ms. */
async function sendCode({ url }: Program, gateway: Gateway): Promise<number> {
  const phone = `+79${String((phones += 1)).padStart(9, "0")}`;
  const arrival = gateway.arrival(phone);
  const start = performance.now();
  const { status } = await fetch(`${url}/api/v1/auth/otp/send`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ phone }),
  });
  if (status !== 200) throw new Error(`a code was answered with ${status}`);
  return (await arrival) - start;
}

/** Sends a code every 100 ms, however long each takes, until `enough`. */
async function sendCodes(api: Program, gateway: Gateway, enough: (sent: number) => boolean): Promise<number[]> {
  const codes: Promise<number>[] = [];
  while (!enough(codes.length)) {
    codes.push(sendCode(api, gateway));
    await delay(CODE_EVERY_MS);
  }
  return Promise.all(codes);
}

/** Uploads a file and waits until it is converted or refused; returns the status of the response. */
async function upload({ url }: Program, headers: Record<string, string>, { type, bytes }: HostileFile) {
  const form = new FormData();
  form.append("file", new Blob([new Uint8Array(bytes)], { type }), "picture");
  const response = await fetch(`${url}/api/v1/files/upload`, { method: "POST", headers, body: form });
  await response.arrayBuffer();
  return response.status;
}

/** The most memory, in MB, that a worker and any one of its converters held until the signal. */
async function watchMemory(worker: Program, ended: AbortSignal): Promise<{ own: number; converter: number }> {
  const most = { own: 0, converter: 0 };
  while (!ended.aborted) {
    const [own = 0, ...converters] = worker.memoryOfEach().map((bytes) => bytes / 1e6);
    most.own = Math.max(most.own, own);
    most.converter = Math.max(most.converter, ...converters);
    await delay(50);
  }
  return most;
}

/** Starts what sends codes and converts images, with an SMS gateway. */
async function startService(lab: Lab, gateway: Gateway) {
  const env = {
    SMS_HTTP_URL: gateway.url,
    OTP_SENDS_PER_ADDRESS: "1000000",
    OTP_SENDS_TOTAL: "1000000",
    ...(lab.redisUrl !== null && { REDIS_URL: lab.redisUrl }),
  };
  // this module reads the configuration on import, so the lab must have set it
  const { prepareBroker } = await import("../../queues/broker.js");
  await prepareBroker();
  return Promise.all([lab.start("api/server", env), lab.start("workers/main", env)]);
}

/** Measures how long codes take by SMS while users upload files that are hard to convert. */
export const sendCodesBesideBombs: Measure = async (lab, { userIds }, { samples }) => {
  const gateway = await startGateway();
  const [api, worker] = await startService(lab, gateway);
  const kinds = await makeHostileFiles();
  const files = Array.from({ length: Math.min(samples, FILES) }, (_, n) => kinds[n % kinds.length]).filter(
    (file) => file !== undefined,
  );
  const users = await Promise.all(userIds.slice(0, USERS).map(authorizationOf));
  await sendCodes(api, gateway, (sent) => sent === 20);
  const alone = await sendCodes(api, gateway, (sent) => sent === CODES_ALONE);

  const uploaded = new AbortController();
  const watching = watchMemory(worker, uploaded.signal);
  const coding = sendCodes(api, gateway, () => uploaded.signal.aborted);
  const statuses: Record<string, number> = {};
  const start = performance.now();
  const waiting = [...files.entries()];
  const client = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [n, file] = next;
      const status = await upload(api, users[n % users.length] ?? {}, file);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, client));
  const seconds = (performance.now() - start) / 1_000;
  uploaded.abort();
  const beside = await coding;
  const memory = await watching;
  gateway.stop();

  const answers = Object.entries(statuses).map(([status, count]) => ({ name: `${status} ×`, value: count, unit: "" }));
  printRow(`${files.length} files`, [{ value: seconds, unit: "s" }, ...answers]);
  for (const [name, values] of [
    ["codes alone", alone],
    ["codes beside the files", beside],
  ] as const)
    printRow(`${values.length} ${name}`, percentiles(values));
  const more = quantile(beside, 0.99) - quantile(alone, 0.99);
  printGoal({ name: "p99 beyond that of codes alone", value: more, unit: "ms", sign: "≤", goal: MOST_MORE_MS });
  const { own, converter } = memory;
  if (own === 0) return;
  printGoal({ name: "memory of the worker", value: own, unit: "MB", sign: "≤", goal: MOST_WORKER_MB });
  printRow("memory of its largest converter", [{ value: converter, unit: "MB" }]);
};
