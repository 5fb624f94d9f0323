import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";

/** A menu item in a form common to all vendors; `price` is in minor units. */
export interface StandInItem {
  id: string;
  name: string;
  category: string;
  price: number;
  description?: string;
  weightGrams?: number;
  available?: boolean;
}

/** A request that the vendor received. */
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
  /** A string or bytes are sent unchanged, other values as JSON. */
  body: unknown;
}

/** A webhook call to send. */
export interface SignedCall {
  headers: Record<string, string>;
  body: string;
}

/** A fault in place of an answer: `hang` never answers, `drop` cuts the connection, `slowly` sends a few bytes forever. */
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

/** A POS vendor's server, which answers with `answer` and has the faults that a test sets. */
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
    /** Fails the next requests whose path contains `path`, this many times. */
    trouble(trouble: Trouble, { times = 1, path = "" } = {}): void {
      troubles.push({ trouble, left: times, path });
    },
    /** Answers 429 with Retry-After this many times. */
    limit(retryAfter: string, times = 1): void {
      troubles.push({
        trouble: { status: 429, headers: { "retry-after": retryAfter }, body: {} },
        left: times,
        path: "",
      });
    },
    /** Clears the faults and the recorded requests. */
    recover(): void {
      troubles.length = 0;
      requests.length = 0;
    },
    /** Delays answers until the returned function is called. */
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

/** Sends a webhook call as the vendor would. */
export const deliver = (to: string, { headers, body }: SignedCall): Promise<Response> =>
  fetch(to, { method: "POST", headers, body });
