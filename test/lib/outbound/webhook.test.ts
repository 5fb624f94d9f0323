import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { afterAll, afterEach, describe, expect, jest, test } from "@jest/globals";
import { Webhook as Verifier, WebhookVerificationError } from "standardwebhooks";
import { until } from "../../support/until.js";

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  path: string;
}

const received: Received[] = [];
const accept = (response: ServerResponse): void => void response.writeHead(204).end();
let answer = accept;
let closed = 0;

const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString(), path: request.url ?? "" });
    answer(response);
  });
  response.on("close", () => (closed += 1));
}).listen(0, "127.0.0.1");
await once(receiver, "listening");
const address = receiver.address();
const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/events`;

/** Imports the module with or without access to private addresses. */
async function load(allowed: boolean) {
  process.env["ALLOW_PRIVATE_ADDRESSES"] = allowed ? "1" : "";
  jest.resetModules();
  return import("../../../lib/outbound/webhook.js");
}

const guarded = await load(false);
const { publicLookupBy } = await import("../../../lib/outbound/public-address.js");
const { callWebhook, isAccepted, newWebhookSecret, webhookCaller } = await load(true);
const hasty = webhookCaller({ timeoutMs: 300 });

afterEach(() => {
  answer = accept;
  received.length = 0;
});

afterAll(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await once(receiver, "close");
});

const [secret, newer] = [newWebhookSecret(), newWebhookSecret()];
const id = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";
const body = JSON.stringify({ type: "order.placed", data: { orderId: id, note: "ещё тёплый" } });
const message = { url, id, body, secrets: [secret] };

/** Verifies the last message with this secret and returns it; throws when the signature is wrong. */
function verified(by: string, changed?: string): unknown {
  const last = received.at(-1)!;
  const headers = Object.fromEntries(Object.entries(last.headers).map(([name, value]) => [name, String(value)]));
  return new Verifier(by).verify(changed ?? last.body, headers);
}

describe("a message", () => {
  test("is signed so that other software verifies it", async () => {
    expect(isAccepted(await callWebhook(message))).toBe(true);
    expect(verified(secret)).toEqual(JSON.parse(body));
    expect(received[0]).toMatchObject({
      body,
      headers: {
        "webhook-id": id,
        "content-type": "application/json",
        "user-agent": expect.stringMatching(/^surplus-food\//),
      },
    });
    expect(() => verified(newer)).toThrow(WebhookVerificationError);
    expect(() => verified(secret, body.replace("order", "Order"))).toThrow(WebhookVerificationError);
  });

  test("has two signatures while the secret is rotated", async () => {
    await callWebhook({ ...message, secrets: [newer, secret] });
    expect(verified(newer)).toEqual(verified(secret));
  });

  test("has secrets of 32 bytes, each another", () => {
    expect(Buffer.from(secret.replace(/^whsec_/, ""), "base64")).toHaveLength(32);
    expect(secret).not.toBe(newer);
  });
});

describe("an answer", () => {
  test("counts by its status, and its beginning is kept, fit to be shown", async () => {
    answer = (response) => void response.writeHead(500).end(`стой\u0000\r\n\u001b[31m ${"x".repeat(2_000)}`);
    const outcome = await callWebhook(message);
    expect(outcome).toMatchObject({ status: 500, retryAfterSeconds: null });
    expect(isAccepted(outcome)).toBe(false);
    expect(outcome.answer).toMatch(/^стой \[31m x+$/);
    expect(outcome.answer).toHaveLength(500);
  });

  test("that does not end is left", async () => {
    answer = (response) => {
      response.writeHead(200);
      const send = (): void => void (response.destroyed || response.write("x".repeat(4_096), () => setImmediate(send)));
      send();
    };
    const before = closed;
    expect(isAccepted(await callWebhook(message))).toBe(true);
    await until(() => closed > before);
  });

  test("that redirects is not followed", async () => {
    answer = (response) => void response.writeHead(307, { location: "/elsewhere" }).end();
    const outcome = await callWebhook(message);
    expect([outcome.status, isAccepted(outcome)]).toEqual([307, false]);
    expect(received.map(({ path }) => path)).toEqual(["/events"]);
  });

  test.each([
    ["120", 120],
    ["999999999", 6 * 60 * 60],
    ["soon", null],
  ])("may ask for patience: Retry-After %s", async (header, seconds) => {
    answer = (response) => void response.writeHead(429, { "retry-after": header }).end();
    expect(await callWebhook(message)).toMatchObject({ status: 429, retryAfterSeconds: seconds });
  });

  test("that breaks off counts by its status", async () => {
    answer = (response) => {
      response.writeHead(202, { "content-length": "100" });
      response.write("half", () => response.destroy());
    };
    expect(await callWebhook(message)).toMatchObject({ status: 202, answer: "half" });
  });
});

describe("no answer", () => {
  test("in time, or none at all, is an outcome with its reason", async () => {
    answer = () => undefined;
    expect(await hasty(message)).toMatchObject({ status: null, answer: "no answer within 0.3 seconds" });
    answer = (response) => void response.destroy();
    const broken = await callWebhook(message);
    expect(broken).toMatchObject({ status: null, answer: expect.stringMatching(/^no answer \(\w+\)$/) });
  });
});

describe("an address that is not to be called", () => {
  test.each([
    ["https://127.0.0.1/events", "the address is not a public one"],
    ["https://[::ffff:169.254.169.254]/", "the address is not a public one"],
    ["http://example.com/events", "the address is not https"],
    ["https://user:word@example.com/", "the address has a password"],
    ["events", "the address is not one"],
  ])("%s", async (given, reason) => {
    expect(guarded.refusalOfAddress(given)).toBe(reason);
    expect(await guarded.callWebhook({ ...message, url: given })).toMatchObject({ status: null, answer: reason });
  });

  test("is also one whose name leads to a private address", async () => {
    const named = url.replace("http:", "https:").replace("127.0.0.1", "receiver.example.com");
    const lookup = publicLookupBy((_name, _options, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]));
    const outcome = await guarded.webhookCaller({ lookup })({ ...message, url: named });
    expect(outcome).toMatchObject({ status: null, answer: "no answer (ENOTFOUND)" });
    expect(received).toEqual([]);
  });
});
