import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { closeWaitingResponses } from "../../../api/http/connections.js";
import { until } from "../../support/until.js";

const responses: ServerResponse[] = [];
/** How often each has told that it is closed. */
let closed: number[] = [];
const server = createServer((_request, response) => {
  const index = responses.push(response) - 1;
  closed.push(0);
  response.on("close", () => (closed[index] = (closed[index] ?? 0) + 1));
});
closeWaitingResponses(server);

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
});

beforeEach(() => {
  responses.length = 0;
  closed = [];
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

/** Asks for several responses at once, on one connection. */
async function ask(count: number): Promise<Socket> {
  const address = server.address();
  const socket = connect(address !== null && typeof address === "object" ? address.port : 0, "127.0.0.1");
  socket.resume().write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(count));
  await until(() => Promise.resolve(responses.length === count));
  return socket;
}

test("responses that wait behind another one of their connection are closed with it", async () => {
  const socket = await ask(20);
  expect(closed).toEqual(Array(20).fill(0));
  socket.destroy();
  await until(() => Promise.resolve(!closed.includes(0)));
  for (const response of responses) response.end("too late");
  expect(closed).toEqual(Array(20).fill(1));
});

test("those that had their turn are closed once, when they are sent", async () => {
  const socket = await ask(3);
  for (const response of responses.slice(0, 2)) response.end();
  await until(() => Promise.resolve(closed[1] === 1));
  expect(closed).toEqual([1, 1, 0]);
  socket.destroy();
  await until(() => Promise.resolve(closed[2] === 1));
  expect(closed).toEqual([1, 1, 1]);
});
