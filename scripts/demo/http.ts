/** What the service answered; a refusal the demo did not expect ends it with one line. */
export interface Reply {
  status: number;
  body: Record<string, unknown>;
  list: Record<string, unknown>[];
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** One caller of the service. */
export class Caller {
  constructor(
    readonly base: string,
    readonly token?: string,
  ) {}

  /** Sends a request and answers what came back; throws when the status is none of `expected`. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    expected: number[] = [200, 201, 204],
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const response = await fetch(`${this.base}/api/v1${path}`, {
      method,
      headers: {
        ...headers,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!expected.includes(response.status)) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    const parsed: unknown = text === "" ? {} : JSON.parse(text);
    return {
      status: response.status,
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
