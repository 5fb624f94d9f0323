import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeEach, expect, test } from "@jest/globals";
import { webhookReceiver } from "../../scripts/demo/webhook-receiver.js";

// the receiver is on this machine
process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const { callWebhook, newWebhookSecret } = await import("../../lib/outbound/webhook.js");

const secret = newWebhookSecret();
const id = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";
const event = { type: "order.placed", data: { orderId: id, note: "ещё тёплый" } };
const stored = new Map<string, unknown>();
let fails = false;

const receiver = createServer(
  webhookReceiver(secret, (name, sent) => {
    if (fails) return Promise.reject(new Error("the disk is full"));
    stored.set(name, sent);
    return Promise.resolve();
  }),
).listen(0, "127.0.0.1");
await once(receiver, "listening");
const address = receiver.address();
const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/events`;

beforeEach(() => {
  stored.clear();
  fails = false;
});

afterAll(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await once(receiver, "close");
});

const send = async (...secrets: string[]) =>
  (await callWebhook({ url, id, body: JSON.stringify(event), secrets })).status;

test("the receiver of the guide takes what the service signs, once however often it comes, also with two secrets", async () => {
  expect(await send(secret)).toBe(204);
  expect(await send(newWebhookSecret(), secret)).toBe(204);
  expect([...stored]).toEqual([[id, event]]);
});

test("it refuses what another secret signed, and what is unsigned", async () => {
  expect(await send(newWebhookSecret())).toBe(401);
  expect((await fetch(url, { method: "POST", body: JSON.stringify(event) })).status).toBe(401);
  expect(stored.size).toBe(0);
});

test("it has the event sent again when it cannot store it", async () => {
  fails = true;
  expect(await send(secret)).toBe(500);
});
