/** What the service answered; a refusal the demo did not expect ends it with one line. */
export interface Reply {
  status: number;
  /** Where its result will be, or is. */
  location: string | null;
  body: Record<string, unknown>;
  list: Record<string, unknown>[];
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A file to send as it is. */
export interface FileBody {
  bytes: Uint8Array<ArrayBuffer>;
  type: string;
}

/** Asks again until what a worker does in the background is there to see; gives up after half a minute. */
export async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what}: not within 30 seconds. Is a worker running?`);
}

/** One caller of the service. */
export class Caller {
  constructor(
    readonly base: string,
    readonly token?: string,
  ) {}

  /** Sends a request and answers what came back; throws when the status is none of `expected`. */
  call(
    method: string,
    path: string,
    body?: unknown,
    expected: number[] = [200, 201, 204],
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    return this.#send(method, path, expected, {
      headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** Uploads a file, as a browser's form does, and answers what a worker has made of it. */
  async upload(path: string, { bytes, type }: FileBody): Promise<Reply> {
    const body = new FormData();
    body.append("file", new Blob([bytes], { type }), "file");
    const reply = await this.#send("POST", path, [200, 201, 202], { body });
    const { location } = reply;
    if (reply.status !== 202 || location === null) return reply;
    return until(`the result at ${location}`, async () => {
      const found = await this.call("GET", location.replace(/^\/api\/v1/, ""), undefined, [200, 202]);
      const isDone = found.status === 200 && !["QUEUED", "RUNNING"].includes(String(found.body["status"]));
      return isDone ? found : undefined;
    });
  }

  async #send(
    method: string,
    path: string,
    expected: number[],
    init: { headers?: Record<string, string>; body?: string | FormData },
  ): Promise<Reply> {
    const response = await fetch(`${this.base}/api/v1${path}`, {
      ...init,
      method,
      headers: { ...init.headers, ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }) },
    });
    const text = await response.text();
    if (!expected.includes(response.status)) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    const parsed: unknown = text === "" ? {} : JSON.parse(text);
    return {
      status: response.status,
      location: response.headers.get("location"),
      body: isRecord(parsed) ? parsed : {},
      list: Array.isArray(parsed) ? parsed.filter(isRecord) : [],
    };
  }

  /** Signs in with the one-time code of a development deployment; a phone that has had its three codes waits for the next. */
  async signIn(phone: string, code: string): Promise<Caller> {
    for (;;) {
      const sent = await this.call("POST", "/auth/otp/send", { phone }, [200, 429]);
      if (sent.status === 200) break;
      const seconds = Number(sent.body["retryAfterSeconds"]);
      process.stdout.write(`       (${phone} has had its codes for now; the next one in ${seconds} s…)\n`);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    }
    const { body } = await this.call("POST", "/auth/otp/verify", { phone, code });
    return new Caller(this.base, String(body["accessToken"]));
  }
}
