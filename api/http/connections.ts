import type { IncomingMessage, Server as HttpServer, ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import { Counter } from "prom-client";
import { clientNetwork } from "./client-network.js";
import { Places } from "./places.js";
import { registry } from "./registry.js";

const refused = new Counter({
  name: "http_connections_refused_total",
  help: "Connections that were closed at once: the process had as many as it may have, or their address had.",
  registers: [registry],
});

/** Closes connections past `most` at once, and those past `perAddress` from one client address. */
export function limitConnections(server: Server, most: number, perAddress: number): void {
  const places = new Places();
  let all = 0;
  server.on("connection", (socket: Socket) => {
    const leave = all >= most ? null : places.take(clientNetwork(socket.remoteAddress ?? ""), perAddress);
    if (leave === null) {
      refused.inc();
      socket.destroy();
      return;
    }
    all += 1;
    socket.once("close", () => {
      all -= 1;
      leave();
    });
  });
}

/**
 * Tells responses that wait behind another one of their connection when it closes, as Node 20 does not: what they hold, such as a
 * file or the place of a stream, would be held for ever.
 */
export function closeWaitingResponses(server: HttpServer): void {
  const waiting = new WeakMap<Socket, Set<ServerResponse>>();
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (response.socket !== null) return;
    const known = waiting.get(socket);
    const responses = known ?? new Set();
    responses.add(response);
    response.once("close", () => responses.delete(response));
    if (known) return;
    waiting.set(socket, responses);
    socket.once("close", () => {
      for (const each of responses) {
        if (each.socket !== null) continue;
        each.destroy();
        each.emit("close");
      }
    });
  });
}
