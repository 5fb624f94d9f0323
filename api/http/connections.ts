import type { Server, Socket } from "node:net";
import { Counter } from "prom-client";
import { clientNetwork } from "./client-network.js";
import { registry } from "./registry.js";

const refused = new Counter({
  name: "http_connections_refused_total",
  help: "Connections that were closed at once: the process had as many as it may have, or their address had.",
  registers: [registry],
});

/** Closes connections past `most` at once, and those past `perAddress` from one client address. */
export function limitConnections(server: Server, most: number, perAddress: number): void {
  const open = new Map<string, number>();
  let all = 0;
  server.on("connection", (socket: Socket) => {
    const address = clientNetwork(socket.remoteAddress ?? "");
    const ofAddress = open.get(address) ?? 0;
    if (all >= most || ofAddress >= perAddress) {
      refused.inc();
      socket.destroy();
      return;
    }
    all += 1;
    open.set(address, ofAddress + 1);
    socket.once("close", () => {
      all -= 1;
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  });
}
