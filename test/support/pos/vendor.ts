import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";

/** What a vendor's menu has, in words that all of them share; `price` is in minor units. */
export interface StandInItem {
  id: string;
  name: string;
  category: string;
  price: number;
  description?: string;
  weightGrams?: number;
  available?: boolean;
}

/** A request as a vendor was sent it. */
export interface VendorRequest {
  method: string;
  /** Path and query. */
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  /** The body as JSON; null when there is none. */
  body: unknown;
}

export interface VendorAnswer {
  status?: number;
  headers?: Record<string, string>;
  /** Sent as it is when it is a string or bytes, as JSON when it is anything else. */
  body: unknown;
}

/** A webhook call, ready to be sent. */
export interface SignedCall {
  headers: Record<string, string>;
  body: string;
}

/** What goes wrong instead of an answer; `hang` never answers, `drop` cuts the connection, `slowly` trickles for ever. */
export type Trouble = VendorAnswer | "hang" | "drop" | "slowly";

export const ok = (body: unknown): VendorAnswer => ({ body });
export const refusal = (status: number, body: unknown = {}): VendorAnswer => ({ status, body });

async function read(request: IncomingMessage): Promise<VendorRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const path = request.url ?? "/";
  const { searchParams: query } = new URL(path, "http://vendor");
  const text = Buffer.concat(chunks).toString();
  const body: unknown = text === "" ? null : JSON.parse(text);
  return { method: request.method ?? "", path, query, headers: request.headers, body };
}

/** A POS vendor's server: it answers as `answer` says, and goes wrong as a test tells it to. */
export async function startVendor(answer: (request: VendorRequest) => VendorAnswer) {
  const requests: VendorRequest[] = [];
  const troubles: { trouble: Trouble; left: number; path: string }[] = [];
  let held: Promise<void> | null = null;

  const server = createServer((incoming, response) => {
    void (async () => {
      const request = await read(incoming);
      requests.push(request);
      await held;
      const found = troubles.findIndex(({ path }) => request.path.includes(path));
      const trouble = troubles[found];
      if (trouble && --trouble.left <= 0) troubles.splice(found, 1);
      const what = trouble ? trouble.trouble : answer(request);
      if (what === "hang") return;
      if (what === "drop") {
        incoming.socket.destroy();
        return;
      }
      if (what === "slowly") {
        response.writeHead(200, { "content-type": "application/json" });
        const timer = setInterval(() => response.write(" "), 20);
        response.on("close", () => clearInterval(timer));
        return;
      }
      const { status = 200, headers, body } = what;
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
    })();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the vendor does not listen");

  return {
    url: `http://127.0.0.1:${address.port}`,
    /** Every request, in order. */
    requests,
    /** Goes wrong this many times with the next requests whose path contains `path`. */
    trouble(trouble: Trouble, { times = 1, path = "" } = {}): void {
      troubles.push({ trouble, left: times, path });
    },
    /** Asks for patience, this many times. */
    limit(retryAfter: string, times = 1): void {
      troubles.push({
        trouble: { status: 429, headers: { "retry-after": retryAfter }, body: {} },
        left: times,
        path: "",
      });
    },
    /** Forgets what should go wrong, and what it was asked. */
    recover(): void {
      troubles.length = 0;
      requests.length = 0;
    },
    /** Answers nothing until the function that is given back is called. */
    hold(): () => void {
      let release = (): void => undefined;
      held = new Promise<void>((resolve) => (release = resolve));
      return () => {
        held = null;
        release();
      };
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Makes a webhook call as the vendor would. */
export const deliver = (to: string, { headers, body }: SignedCall): Promise<Response> =>
  fetch(to, { method: "POST", headers, body });
