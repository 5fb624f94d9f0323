import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
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

/** Sends a large body but for its last byte; `end` sends that, `answer` is all that comes until the connection is closed. */
function begin(method: string, path: string, token: string | null) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  const head = [
    `${method} ${path} HTTP/1.1`,
    "Host: x",
    "Connection: close",
    "Content-Type: application/json",
    `Content-Length: ${size}`,
    ...(token === null ? [] : [`Authorization: Bearer ${token}`]),
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  socket.write('{"firstName":"Anna"'.padEnd(size - 1));
  const answer = text(socket).catch(() => "broken");
  return { answer, end: () => socket.write("}") };
}

/** How many of the requests are being read into memory. */
const kept = (): number => received.filter((request) => request.listenerCount("data") > 0).length;

test.each([null, "junk"])("a large body is not kept for a caller who is refused (token: %s)", async (token) => {
  received.length = 0;
  const requests = Array.from({ length: 5 }, () => begin("PUT", "/api/v1/users/me", token));
  await until(() => Promise.resolve(received.length === 5));
  expect(kept()).toBe(0);
  requests.forEach(({ end }) => end());
  for (const { answer } of requests) expect(await answer).toMatch(/^HTTP\/1\.1 401 /);
});

test.each([
  ["of a user", "PUT", "/api/v1/users/me", /^HTTP\/1\.1 200 /, (): string | null => anna.client.token],
  [
    "from one address to webhooks",
    "POST",
    "/api/v1/pos/webhooks/generic",
    /^HTTP\/1\.1 401 /,
    (): string | null => null,
  ],
] as const)(
  "few large bodies %s are taken in at once; others do not wait",
  async (_who, method, path, answered, token) => {
    received.length = 0;
    const requests = Array.from({ length: 5 }, () => begin(method, path, token()));
    await until(() => Promise.resolve(received.length === 5 && kept() >= 2));
    expect(outcome(await boris.client.put("/api/v1/users/me", { firstName: "B".repeat(100) }))).toBe("200");
    expect(outcome(await anna.client.put("/api/v1/users/me", { lastName: "small" }))).toBe("200");
    expect(kept()).toBe(2);
    requests.forEach(({ end }) => end());
    for (const { answer } of requests) expect(await answer).toMatch(answered);
  },
);
