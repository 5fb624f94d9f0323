import { openSession, type Session } from "../client/src/index.js";

/** A response of the service. */
export interface Reply {
  status: number;
  body: Record<string, unknown>;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

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

  /** For the client's operations. */
  get session(): Session {
    const headers = this.token === undefined ? {} : { authorization: `Bearer ${this.token}` };
    return { ...openSession({ baseUrl: this.base }), headers };
  }

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

  async #send(
    method: string,
    path: string,
    expected: number[],
    init: { headers?: Record<string, string>; body?: string },
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
      body: isRecord(parsed) ? parsed : {},
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
