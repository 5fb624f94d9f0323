import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";
import { z } from "zod";

const Body = z.object({
  type: z.string(),
  timestamp: z.iso.datetime(),
  version: z.int(),
  position: z.int(),
  partnerId: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
});

/** A message that a receiver got. */
export interface ReceivedWebhook extends z.output<typeof Body> {
  id: string;
}

type Answer = (response: ServerResponse, webhook: ReceivedWebhook) => void;

const accept: Answer = (response) => void response.writeHead(204).end();

/** A receiver that accepts messages with a valid signature, and answers as the test configures it. */
export async function startWebhookReceiver(secret: string) {
  const received: ReceivedWebhook[] = [];
  const refused: string[] = [];
  let [verifier, answer] = [new Webhook(secret), accept];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      try {
        const body = Body.parse(verifier.verify(Buffer.concat(chunks), headers));
        const webhook = { ...body, id: headers["webhook-id"] ?? "" };
        received.push(webhook);
        answer(response, webhook);
      } catch (error) {
        refused.push(String(error));
        response.writeHead(401).end();
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the receiver has no port");
  return {
    url: `http://127.0.0.1:${address.port}/events`,
    /** Oldest first. */
    received,
    /** The reasons of refused messages. */
    refused,
    /** Sets the response; without an argument all messages are accepted again. */
    answerWith: (next: Answer = accept) => {
      answer = next;
    },
    /** Verifies with this secret only from now on. */
    trust: (newer: string) => {
      verifier = new Webhook(newer);
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
