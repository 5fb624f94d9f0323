import { createHmac, randomBytes } from "node:crypto";
import type { Agent, Dispatcher } from "undici";
import { config } from "../process/config.js";
import { inSpan, type Span } from "../process/traces.js";
import { version } from "../process/version.js";
import { networkCode } from "./network-error.js";
import { PrivateAddress, publicLookup, requirePublicHost } from "./public-address.js";
import { retryAfterSeconds } from "./retry-after.js";

/** Timeout of a whole call: a receiver should store the event, answer, and process it afterwards. */
const TIMEOUT_MS = 15_000;
/** Bytes of a response that are read, and characters of them that are kept. */
const READ_BYTES = 1_024;
const KEPT_CHARACTERS = 500;
/** Maximum of a receiver's `Retry-After`. */
const LONGEST_WAIT_SECONDS = 6 * 60 * 60;

/** Prefix of Standard Webhooks secrets, by which scanners recognise leaked ones; base64 follows. */
const PREFIX = "whsec_";

/** Returns a new secret of 256 random bits. */
export const newWebhookSecret = (): string => PREFIX + randomBytes(32).toString("base64");

/** A message to a receiver. */
export interface Webhook {
  url: string;
  /** The same at every attempt, so that a receiver can detect duplicates. */
  id: string;
  /** JSON. */
  body: string;
  /** All of them sign: there are two during a rotation. */
  secrets: readonly string[];
}

/** The result of a call. */
export interface WebhookOutcome {
  /** Null without a response. */
  status: number | null;
  ms: number;
  /** The start of the response, or the error; without internal addresses and secrets. */
  answer: string;
  retryAfterSeconds: number | null;
}

/** Whether the receiver accepted the message. */
export const isAccepted = ({ status }: WebhookOutcome): boolean => status !== null && status >= 200 && status < 300;

/** Returns the headers of a message, with its Standard Webhooks 1.0 signature. */
function signedHeaders({ id, body, secrets }: Webhook, now: Date): Record<string, string> {
  const timestamp = String(Math.floor(now.getTime() / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

/** Reads the start of a response, and leaves the rest unread. */
async function beginningOf(body: Dispatcher.ResponseData["body"]): Promise<string> {
  const read: Buffer[] = [];
  const chunks: AsyncIterable<unknown> = body.on("error", () => undefined);
  let length = 0;
  try {
    for await (const chunk of chunks) {
      if (!Buffer.isBuffer(chunk)) continue;
      read.push(chunk);
      length += chunk.length;
      // the end of the loop closes the connection, so the rest is not read
      if (length >= READ_BYTES) break;
    }
  } catch {
    // the status counts even when the body is cut off
  }
  const text = Buffer.concat(read).subarray(0, READ_BYTES).toString("utf8");
  return text
    .replace(/[\p{Cc}\p{Cs}]+/gu, " ")
    .trim()
    .slice(0, KEPT_CHARACTERS)
    .toWellFormed();
}

/** Returns why webhooks may not call an address; null when they may. */
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

/** Returns a function that posts messages, to public addresses only and without redirects. It never throws. */
export function webhookCaller({ timeoutMs = TIMEOUT_MS, lookup = publicLookup } = {}) {
  let agent: Agent | undefined;

  async function post(
    webhook: Webhook,
    signal: AbortSignal,
    span: Span | undefined,
  ): Promise<Omit<WebhookOutcome, "ms">> {
    // loaded at the first call, because most processes call no receiver
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
