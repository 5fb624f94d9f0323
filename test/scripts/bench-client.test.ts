import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { addressOf, openConnection, writerOf } from "../../scripts/bench/programs/client.js";

let received: { from: string | undefined; request: IncomingMessage; body: string }[] = [];
/** Its answers are larger than what a socket reads at once. */
const server = createServer((request, response) => {
  void text(request).then((body) => {
    received.push({ from: request.socket.remoteAddress, request, body });
    if (request.url === "/hang-up") request.socket.destroy();
    response.statusCode = request.url === "/refused" ? 503 : 200;
    response.end("я".repeat(500_000));
  });
});
let url = "";

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server does not listen");
  url = `http://127.0.0.1:${address.port}`;
});
afterAll(() => void server.close());

const get = (path: string) => ({ method: "GET" as const, path, headers: {} });

test("clients have addresses of their own, and each sends a request after the other on one connection", async () => {
  received = [];
  const write = writerOf({ requests: [get("/one"), get("/refused")] });
  const connections = await Promise.all([0, 300].map((client) => openConnection(url, client)));
  for (const connection of connections) {
    expect(await connection.send(write(0))).toBe(200);
    expect(await connection.send(write(1))).toBe(503);
    connection.close();
  }
  expect(received.map(({ from }) => from)).toEqual([0, 0, 300, 300].map(addressOf));
  expect(new Set(received.map(({ request }) => request.socket)).size).toBe(2);
});

test("a connection that the server closes answers 0", async () => {
  const connection = await openConnection(url, 0);
  expect(await connection.send(writerOf({ requests: [get("/hang-up")] })(0))).toBe(0);
  expect(await connection.send(writerOf({ requests: [get("/")] })(0))).toBe(0);
});

test("each request has what is to be new in it, and starts over after the last", async () => {
  received = [];
  const order = { method: "POST" as const, path: "/orders", headers: { "x-kind": "order" }, body: '{"name":"Хлеб"}' };
  const write = writerOf({ requests: [order, get("/boxes")], uniqueHeader: "idempotency-key" });
  const connection = await openConnection(url, 0);
  for (const n of [0, 1, 2]) await connection.send(write(n));
  connection.close();
  expect(received.map(({ request: { method, url }, body }) => [method, url, body])).toEqual([
    ["POST", "/orders", order.body],
    ["GET", "/boxes", ""],
    ["POST", "/orders", order.body],
  ]);
  expect(received[2]?.request.headers["x-kind"]).toBe("order");
  expect(new Set(received.map(({ request }) => request.headers["idempotency-key"])).size).toBe(3);
});
