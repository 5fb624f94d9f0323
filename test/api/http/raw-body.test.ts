import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import { expect, test } from "@jest/globals";
import { readRawBody } from "../../../api/http/raw-body.js";

/** Sends a request with `send`; returns the result of reading at most 10 bytes of it. */
async function read(
  headers: Record<string, string>,
  send: (call: ReturnType<typeof request>) => void,
): Promise<unknown> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const call = request({ port, host: "127.0.0.1", method: "POST", headers }).on("error", () => undefined);
  const arrived = new Promise<IncomingMessage>((resolve) => server.once("request", resolve));
  call.flushHeaders();
  const incoming = await arrived;
  const reading = readRawBody(incoming, 10).then(String, (error: unknown) => error);
  send(call);
  const outcome = await reading;
  call.destroy();
  server.closeAllConnections();
  server.close();
  return outcome;
}

test("a body up to the limit is read unchanged", async () => {
  expect(await read({}, (call) => call.end(" \r\n чай"))).toBe(" \r\n чай");
  expect(await read({}, (call) => call.end())).toBe("");
});

test("a body that exceeds the limit, or declares to, is refused before its end", async () => {
  const refusal = { status: 413, code: "PAYLOAD_TOO_LARGE" };
  expect(await read({}, (call) => call.write("x".repeat(11)))).toMatchObject(refusal);
  expect(await read({ "content-length": "11" }, () => undefined)).toMatchObject(refusal);
});

test("a body that breaks off is a client error", async () => {
  const outcome = await read({ "content-length": "10" }, (call) => {
    call.write("x");
    call.destroy();
  });
  expect(outcome).toMatchObject({ status: 400, code: "BAD_REQUEST" });
});
