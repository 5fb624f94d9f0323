/** A response of the service. */
export interface Reply {
  status: number;
  /** The address of the result, which may not be there yet. */
  location: string | null;
  body: Record<string, unknown>;
  list: Record<string, unknown>[];
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A file to upload. */
export interface FileBody {
  bytes: Uint8Array<ArrayBuffer>;
  type: string;
}

/** Polls until a worker's effect is visible; gives up after 30 seconds. */
export async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what}: not within 30 seconds. Is a worker running?`);
}

/** A client of the service, signed in or not. */
export class Caller {
  constructor(
    readonly base: string,
    readonly token?: string,
    readonly refreshToken?: string,
  ) {}

  /** Sends a request and returns the response; throws when its status is not among `expected`. */
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

  /** Uploads a file as a browser's form does, and returns the worker's result. */
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

  /**
   * Signs in with a development deployment's fixed code, and a refresh token of an earlier login where there was one. Waits
   * while the service sends no code, and says so.
   */
  async signIn(phone: string, code: string, earlier?: string): Promise<Caller> {
    for (;;) {
      const sent = await this.call("POST", "/auth/otp/send", { phone, refreshToken: earlier }, [200, 429]);
      if (sent.status === 200) break;
      const seconds = Number(sent.body["retryAfterSeconds"]);
      process.stderr.write(
        `       (${phone} gets no login code yet; waiting ${seconds} s: ${String(sent.body["detail"])})\n`,
      );
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    }
    const { body } = await this.call("POST", "/auth/otp/verify", { phone, code, refreshToken: earlier });
    return this.#signedIn(body);
  }

  /** Exchanges a refresh token for new tokens; undefined when its session has ended. */
  async renew(refreshToken: string): Promise<Caller | undefined> {
    const { status, body } = await this.call("POST", "/auth/token/refresh", { refreshToken }, [200, 401]);
    return status === 200 ? this.#signedIn(body) : undefined;
  }

  #signedIn({ accessToken, refreshToken }: Record<string, unknown>): Caller {
    return new Caller(this.base, String(accessToken), String(refreshToken));
  }
}
