import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** A TCP proxy whose connections can be disturbed, for tests with a network that fails. */
export interface Proxy {
  /** The servers' address through the proxy. */
  url: string;
  /** Connects new connections to these servers, in turn. */
  direct(...targets: string[]): void;
  /** Breaks every connection; new ones are accepted. */
  cut(): void;
  /** Breaks every connection and refuses new ones. */
  close(): Promise<void>;
  /** Tells the servers that their clients have gone, and not the clients: they get what is on its way, and then nothing. */
  halfClose(): void;
  /** Keeps connections open and accepts new ones, but forwards nothing. */
  freeze(): void;
  /** Forwards everything this much later. */
  slow(ms: number): void;
  /** Forwards nothing to the clients of connections whose first bytes have this text, also of new ones. */
  loseAnswers(greeting: string): void;
  /** From the next request on that has this text, forwards nothing more to the client of that connection. */
  loseAnswerTo(text: string): void;
  /** Ends all faults; a connection that has lost something stays as it is. */
  open(): Promise<void>;
  /** Returns the function that says whether a client has sent this text since. */
  watchFor(text: string): () => boolean;
}

interface Link {
  near: Socket;
  far: Socket;
  /** The first bytes from the client. */
  greeting: Buffer | null;
  /** Whether its client gets nothing any more. */
  deaf: boolean;
  /** Whether its client does not learn of its end. */
  forgotten: boolean;
}

const socketsOf = ({ near, far }: Link) => [near, far];

/** Starts a proxy on a free port in front of the servers that `targets` name. */
export async function startProxy(...targets: string[]): Promise<Proxy> {
  const links = new Set<Link>();
  let servers = targets;
  let connected = 0;
  let frozen = false;
  let slowMs = 0;
  let unheard: string | null = null;
  let unanswered: string | null = null;
  const watched = new Map<string, boolean>();

  function target(): URL {
    const [first = ""] = servers;
    return new URL(servers[connected++ % servers.length] ?? first);
  }

  /** Forwards what one end sends, in order. */
  function forward(from: Socket, to: Socket, isWanted: (bytes: Buffer) => boolean): void {
    let turn = Promise.resolve();
    from.on("data", (bytes: Buffer) => {
      if (!isWanted(bytes)) return;
      const due = performance.now() + slowMs;
      turn = turn.then(async () => {
        const early = due - performance.now();
        if (early > 0) await delay(early);
        to.write(bytes);
      });
    });
  }

  const onConnection = (near: Socket) => {
    const { hostname, port } = target();
    const far = connect(Number(port), hostname);
    const link: Link = { near, far, greeting: null, deaf: false, forgotten: false };
    links.add(link);
    forward(near, far, (bytes) => {
      link.greeting ??= bytes;
      if (unheard !== null && link.greeting.includes(unheard)) link.deaf = true;
      if (unanswered !== null && bytes.includes(unanswered)) {
        unanswered = null;
        link.deaf = true;
      }
      for (const text of watched.keys()) if (bytes.includes(text)) watched.set(text, true);
      return true;
    });
    forward(far, near, () => !link.deaf);
    near.on("close", () => {
      links.delete(link);
      far.destroy();
    });
    far.on("close", () => {
      if (!link.forgotten) near.destroySoon();
    });
    for (const socket of socketsOf(link)) {
      socket.on("error", () => undefined);
      if (frozen) socket.pause();
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
  const cut = () => {
    for (const socket of [...links].flatMap(socketsOf)) socket.destroy();
  };

  return {
    url: Object.assign(target(), { hostname: "127.0.0.1", port: String(ownPort) }).href,
    direct: (...next) => void (servers = next),
    cut,
    close: async () => {
      cut();
      server.close();
      await once(server, "close");
    },
    halfClose: () => {
      for (const link of links) {
        link.forgotten = true;
        link.far.end();
      }
    },
    freeze: () => {
      frozen = true;
      for (const socket of [...links].flatMap(socketsOf)) socket.pause();
    },
    slow: (ms) => void (slowMs = ms),
    loseAnswers: (greeting) => {
      unheard = greeting;
      for (const link of links) if (link.greeting?.includes(greeting)) link.deaf = true;
    },
    loseAnswerTo: (text) => void (unanswered = text),
    open: async () => {
      frozen = false;
      slowMs = 0;
      unheard = null;
      unanswered = null;
      for (const socket of [...links].flatMap(socketsOf)) socket.resume();
      if (!server.listening) await listen(ownPort);
    },
    watchFor: (text) => {
      watched.set(text, false);
      return () => watched.get(text) === true;
    },
  };
}
