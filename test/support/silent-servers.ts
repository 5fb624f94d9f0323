import { once } from "node:events";
import { createServer, type Socket } from "node:net";

/** Servers at origins of their own that accept connections and never answer. */
export async function startSilentServers(count: number) {
  const open = new Set<Socket>();
  let most = 0;
  const servers = Array.from({ length: count }, () =>
    createServer((socket) => {
      open.add(socket);
      most = Math.max(most, open.size);
      socket.on("error", () => undefined).on("close", () => open.delete(socket));
      socket.resume();
    }).listen(0, "127.0.0.1"),
  );
  await Promise.all(servers.map((server) => once(server, "listening")));
  return {
    urls: servers.map((server) => {
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("a silent server does not listen");
      return `http://127.0.0.1:${address.port}`;
    }),
    /** The number of open calls. */
    open: () => open.size,
    /** The most calls that were open at once. */
    most: () => most,
    stop: async () => {
      for (const socket of open) socket.destroy();
      for (const server of servers) server.close();
      await Promise.all(servers.map((server) => once(server, "close")));
    },
  };
}
