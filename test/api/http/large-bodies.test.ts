import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Character } from "../../support/cast.js";

process.env["LARGE_BODIES_AT_ONCE"] = "2";

const { app } = await import("../../../api/app.js");
const { messageClasses } = await import("../../../api/http/message-classes.js");
const { closeDatabase } = await import("../../../sql/db.js");
const { closeSignals } = await import("../../../sql/signals.js");
const { Client, outcome } = await import("../../support/api.js");
const cast = await import("../../support/cast.js");
const { until } = await import("../../support/until.js");

const size = 100_000;
const received: IncomingMessage[] = [];
const server = createServer(messageClasses(app), app);
server.prependListener("request", (request: IncomingMessage) => void received.push(request));
let client: InstanceType<typeof Client>;
let port: number;
let anna: Character;
let boris: Character;

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  port = address !== null && typeof address === "object" ? address.port : 0;
  client = new Client(`http://127.0.0.1:${port}`);
  [anna, boris] = [await cast.user(client), await cast.user(client)];
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await closeSignals();
  await closeDatabase();
});

const plain = Buffer.from(`${'{"firstName":"Anna"'.padEnd(size - 1)}}`);
const bodies = { plain, compressed: gzipSync(plain) };
type Form = keyof typeof bodies;

/** Sends a large body but for its last byte; `end` sends that, `answer` is all that comes until the connection is closed. */
function begin(method: string, path: string, token: string | null, form: Form) {
  const body = bodies[form];
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  const head = [
    `${method} ${path} HTTP/1.1`,
    "Host: x",
    "Connection: close",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    ...(form === "compressed" ? ["Content-Encoding: gzip"] : []),
    ...(token === null ? [] : [`Authorization: Bearer ${token}`]),
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  socket.write(body.subarray(0, -1));
  const answer = text(socket).catch(() => "broken");
  return { answer, end: () => socket.write(body.subarray(-1)) };
}

/** How many of the requests are being read into memory. */
const kept = (): number => received.filter((request) => request.listenerCount("data") > 0).length;

test.each<[Form, string | null]>([
  ["plain", null],
  ["plain", "junk"],
  ["compressed", null],
  ["compressed", "junk"],
])("a large body is not kept for a caller who is refused (%s, token: %s)", async (form, token) => {
  received.length = 0;
  const requests = Array.from({ length: 5 }, () => begin("PUT", "/api/v1/users/me", token, form));
  await until(() => Promise.resolve(received.length === 5));
  expect(kept()).toBe(0);
  requests.forEach(({ end }) => end());
  for (const { answer } of requests) expect(await answer).toMatch(/^HTTP\/1\.1 401 /);
});

test.each([
  ["of a user", "plain", "PUT", "/api/v1/users/me", /^HTTP\/1\.1 200 /, (): string | null => anna.client.token],
  ["of a user", "compressed", "PUT", "/api/v1/users/me", /^HTTP\/1\.1 200 /, (): string | null => anna.client.token],
  [
    "from one address to webhooks",
    "plain",
    "POST",
    "/api/v1/pos/webhooks/generic",
    /^HTTP\/1\.1 401 /,
    (): string | null => null,
  ],
] as const)(
  "few large bodies %s are taken in at once, %s; others do not wait",
  async (_who, form, method, path, answered, token) => {
    received.length = 0;
    const requests = Array.from({ length: 5 }, () => begin(method, path, token(), form));
    await until(() => Promise.resolve(received.length === 5 && kept() >= 2));
    expect(outcome(await boris.client.put("/api/v1/users/me", { firstName: "B".repeat(100) }))).toBe("200");
    expect(outcome(await anna.client.put("/api/v1/users/me", { lastName: "small" }))).toBe("200");
    expect(kept()).toBe(2);
    requests.forEach(({ end }) => end());
    for (const { answer } of requests) expect(await answer).toMatch(answered);
  },
);
