import { createHmac, randomBytes } from "node:crypto";
import type { Agent, Dispatcher } from "undici";
import { config } from "../process/config.js";
import { inSpan, type Span } from "../process/traces.js";
import { version } from "../process/version.js";
import { networkCode } from "./network-error.js";
import { PrivateAddress, publicLookup, requirePublicHost } from "./public-address.js";
import { retryAfterSeconds } from "./retry-after.js";

/** For all of a call: a receiver should store the event and answer, and work on it afterwards. */
const TIMEOUT_MS = 15_000;
/** Bytes of the answer that are read, and characters of them that are kept. */
const READ_BYTES = 1_024;
const KEPT_CHARACTERS = 500;
/** Longer waits that a receiver asks for are cut to this. */
const LONGEST_WAIT_SECONDS = 6 * 60 * 60;

/** Secrets of Standard Webhooks are base64 behind this, so that scanners for leaked secrets know them. */
const PREFIX = "whsec_";

/** Returns a new secret: 256 random bits. */
export const newWebhookSecret = (): string => PREFIX + randomBytes(32).toString("base64");

/** A message to a receiver. */
export interface Webhook {
  url: string;
  /** The same at every attempt: by it a receiver knows what it has already. */
  id: string;
  /** JSON. */
  body: string;
  /** Each signs: two while the receiver goes over to a new one. */
  secrets: readonly string[];
}

/** How a call ended. */
export interface WebhookOutcome {
  /** Null: there was no answer. */
  status: number | null;
  ms: number;
  /** How the answer begins, or why there is none; without addresses and secrets of ours. */
  answer: string;
  retryAfterSeconds: number | null;
}

/** Whether the receiver has the message. */
export const isAccepted = ({ status }: WebhookOutcome): boolean => status !== null && status >= 200 && status < 300;

/** Returns the headers of a message, signed as Standard Webhooks 1.0 wants it. */
function signedHeaders({ id, body, secrets }: Webhook, now: Date): Record<string, string> {
  const timestamp = String(Math.floor(now.getTime() / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

/** Reads how an answer begins, and leaves the rest. */
async function beginningOf(body: Dispatcher.ResponseData["body"]): Promise<string> {
  const read: Buffer[] = [];
  const chunks: AsyncIterable<unknown> = body.on("error", () => undefined);
  let length = 0;
  try {
    for await (const chunk of chunks) {
      if (!Buffer.isBuffer(chunk)) continue;
      read.push(chunk);
      length += chunk.length;
      // the rest is not read: the loop's end closes the connection
      if (length >= READ_BYTES) break;
    }
  } catch {
    // the status counts, also when the body is cut off
  }
  const text = Buffer.concat(read).subarray(0, READ_BYTES).toString("utf8");
  return text
    .replace(/[\p{Cc}\p{Cs}]+/gu, " ")
    .trim()
    .slice(0, KEPT_CHARACTERS)
    .toWellFormed();
}

/** Returns why an address may not be called; null when it may. */
export function refusalOfAddress(address: string): string | null {
  if (!URL.canParse(address)) return "the address is not one";
  const url = new URL(address);
  if (url.username !== "" || url.password !== "") return "the address has a password";
  if (url.protocol !== "https:" && !(config.ALLOW_PRIVATE_ADDRESSES && url.protocol === "http:"))
    return "the address is not https";
  try {
    requirePublicHost(url);
  } catch (error) {
    if (error instanceof PrivateAddress) return error.message;
    throw error;
  }
  return null;
}

/** Returns a function that posts messages to receivers: public addresses only, without redirects; it never throws. */
export function webhookCaller({ timeoutMs = TIMEOUT_MS, lookup = publicLookup } = {}) {
  let agent: Agent | undefined;

  async function post(
    webhook: Webhook,
    signal: AbortSignal,
    span: Span | undefined,
  ): Promise<Omit<WebhookOutcome, "ms">> {
    // loaded by the first call: most processes call no receiver
    const { Agent, request } = await import("undici");
    agent ??= new Agent({ connect: { lookup, timeout: timeoutMs } });
    const url = new URL(webhook.url);
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agent,
      method: "POST",
      headers: {
        "content-type": "application/json",
        "accept-encoding": "identity",
        "user-agent": `surplus-food/${version}`,
        ...signedHeaders(webhook, new Date()),
      },
      body: webhook.body,
      signal,
    });
    span?.set({ "server.address": url.host, "http.response.status_code": statusCode });
    return {
      status: statusCode,
      answer: await beginningOf(body),
      retryAfterSeconds: retryAfterSeconds(headers["retry-after"], new Date(), LONGEST_WAIT_SECONDS),
    };
  }

  return async (webhook: Webhook): Promise<WebhookOutcome> => {
    const began = performance.now();
    const unanswered = (answer: string) => ({ status: null, answer, retryAfterSeconds: null });
    const deadline = AbortSignal.timeout(timeoutMs);
    const call = () => inSpan("webhook", { kind: "client" }, (span) => post(webhook, deadline, span));
    const refusal = refusalOfAddress(webhook.url);
    const ended =
      refusal === null
        ? await call().catch((error: unknown) =>
            unanswered(
              deadline.aborted ? `no answer within ${timeoutMs / 1_000} seconds` : `no answer (${networkCode(error)})`,
            ),
          )
        : unanswered(refusal);
    return { ...ended, ms: Math.round(performance.now() - began) };
  };
}

/** Posts a message to its receiver. */
export const callWebhook = webhookCaller();
