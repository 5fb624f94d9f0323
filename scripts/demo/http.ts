/** What the service answered; a refusal the demo did not expect ends it with one line. */
export interface Reply {
  status: number;
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

  /** Uploads a file, as a browser's form does. */
  upload(path: string, { bytes, type }: FileBody, expected: number[] = [200, 201]): Promise<Reply> {
    const body = new FormData();
    body.append("file", new Blob([bytes], { type }), "file");
    return this.#send("POST", path, expected, { body });
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
