import { once } from "node:events";
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";

export interface Answer {
  status: number;
  headers?: OutgoingHttpHeaders;
  body?: string;
  /** Cuts the connection in the middle of the body. */
  cut?: true;
}

/** An answer, or none: `hang` never answers a request, and `drop` cuts its connection. */
export type Reaction = Answer | "hang" | "drop";

function reply(response: ServerResponse, { status, headers, body = "", cut }: Answer): void {
  if (!cut) {
    response.writeHead(status, headers).end(body);
    return;
  }
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) + 1 });
  response.write(body, () => response.destroy());
}

/** A server that reads each request completely and reacts with `answer`. */
export async function startService(answer: (request: IncomingMessage, body: Buffer) => Reaction) {
  const arrivals: (() => void)[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const reaction = answer(request, Buffer.concat(chunks));
      arrivals.splice(0).forEach((arrived) => arrived());
      if (reaction === "drop") request.socket.destroy();
      else if (reaction !== "hang") reply(response, reaction);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the push service does not listen");
  return {
    url: `http://127.0.0.1:${address.port}`,
    /** Resolves when the next request has arrived. */
    arrival: () => new Promise<void>((resolve) => arrivals.push(resolve)),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
