import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** A TCP proxy that can be closed and opened again, for tests with an unreachable server. */
export interface Proxy {
  /** The server's address through the proxy. */
  url: string;
  /** Breaks every connection and refuses new ones. */
  close(): Promise<void>;
  /** Keeps connections open and accepts new ones, but forwards nothing. */
  freeze(): void;
  /** From the next request on that has this text, forwards nothing more to the client of that connection. */
  loseAnswerTo(text: string): void;
  /** Forwards everything again. */
  open(): Promise<void>;
}

/** Starts a proxy on a free port in front of the server that `target` names. */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let frozen = false;
  let unanswered: string | null = null;

  const onConnection = (near: Socket) => {
    const far = connect(Number(port), hostname);
    near.on("data", (bytes) => {
      if (unanswered === null || !bytes.includes(unanswered)) return;
      unanswered = null;
      far.removeAllListeners("data").resume();
    });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("error", () => undefined);
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on("data", (bytes) => to.write(bytes));
      if (frozen) from.pause();
    }
  };

  let server: Server;
  const listen = async (onPort: number): Promise<number> => {
    server = createServer(onConnection).listen(onPort, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy has no port");
    return address.port;
  };
  const ownPort = await listen(0);

  return {
    url: Object.assign(new URL(target), { hostname: "127.0.0.1", port: String(ownPort) }).href,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
    freeze: () => {
      frozen = true;
      for (const socket of sockets) socket.pause();
    },
    loseAnswerTo: (text) => void (unanswered = text),
    open: async () => {
      frozen = false;
      for (const socket of sockets) socket.resume();
      if (!server.listening) await listen(ownPort);
    },
  };
}
