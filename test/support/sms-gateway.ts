import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A message that the gateway received. */
export interface ReceivedMessage {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A status to answer with; `hang` accepts the message and never answers, `drop` accepts it and cuts the connection. */
export type GatewayAnswer = number | "hang" | "drop";

/** An SMS gateway that records messages, with configurable answers. */
export async function startSmsGateway() {
  const received: ReceivedMessage[] = [];
  const accepted: ReceivedMessage[] = [];
  const answers: GatewayAnswer[] = [];
  const arrivals: (() => void)[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const message = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      };
      const answer = answers.shift() ?? 200;
      received.push(message);
      if (typeof answer === "string" || answer < 300) accepted.push(message);
      arrivals.splice(0).forEach((arrived) => arrived());
      if (answer === "drop") request.socket.destroy();
      else if (answer !== "hang")
        response.writeHead(answer, answer >= 300 && answer < 400 ? { Location: "/elsewhere" } : {}).end("ok");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    /** Those of them that it did not refuse. */
    accepted,
    /** Sets the answers to the next messages, in order; later ones get 200. */
    answerWith: (...next: GatewayAnswer[]) => {
      answers.splice(0, answers.length, ...next);
    },
    /** Resolves when the next message has arrived. */
    arrival: () => new Promise<void>((resolve) => arrivals.push(resolve)),
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
