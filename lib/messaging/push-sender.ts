import { request, type Dispatcher } from "undici";
import { inSpan } from "../process/traces.js";
import { networkCode, neverSent } from "../outbound/network-error.js";
import type { PushAddress } from "./push-token.js";
import { retryAfterSeconds } from "../outbound/retry-after.js";

/** A message to one device. */
export interface PushMessage {
  readonly notificationId: string;
  readonly kind: string;
  readonly title: string;
  readonly body: string;
  /** Ids by which an app opens the right screen. */
  readonly data: Readonly<Record<string, string>>;
  /** A later message with the same key replaces this one on a device; at most 32 of A–Z, a–z, 0–9, `-` and `_`. */
  readonly collapseKey: string;
  /** How long the push service may keep it for a device that is offline. */
  readonly ttlSeconds: number;
  readonly urgency: "low" | "normal" | "high";
}

/**
 * The outcome of one message to one device.
 * - `sent`: the push service accepted it.
 * - `unknown`: the push service may have accepted it, so it must not be sent again.
 * - `gone`: the device can never be reached again and is to be deleted.
 * - `later`: it was certainly not accepted; the push service may have said when to try again.
 * - `unauthorized`: the deployment's key or configuration is wrong, for every device.
 * - `refused`: this message cannot be sent to this device, now or later.
 *
 * It is `silent` when the push service gave no response. A `reason` may be logged and shown: it contains no address, text or key.
 */
export type PushOutcome =
  | { readonly result: "sent" }
  | { readonly result: "gone" | "unauthorized" | "refused"; readonly reason: string }
  | { readonly result: "unknown"; readonly reason: string; readonly silent?: true }
  | {
      readonly result: "later";
      readonly reason: string;
      readonly retryAfterSeconds: number | null;
      readonly silent?: true;
    };

/** Sends a message to a device; never throws. */
export type PushSender = (device: PushAddress, message: PushMessage) => Promise<PushOutcome>;

export const later = (reason: string, retryAfterSeconds: number | null = null): PushOutcome => ({
  result: "later",
  reason,
  retryAfterSeconds,
});

/** The message was certainly not sent: the push service could not be reached, or the server of access tokens did not answer. */
export const silent = (reason: string): PushOutcome => ({
  result: "later",
  reason,
  retryAfterSeconds: null,
  silent: true,
});

/** The limit on connecting; when it passes, certainly nothing was sent. */
export const CONNECT_TIMEOUT_MS = 5_000;
export const ANSWER_TIMEOUT_MS = 10_000;
/** The share of ANSWER_TIMEOUT_MS that preparation, such as getting an access token, may take. */
export const PREPARATION_SHARE = 0.5;
/** Every send has its outcome by then. */
export const LONGEST_SEND_MS = ANSWER_TIMEOUT_MS * (1 + PREPARATION_SHARE);
/** Longer waits that a push service asks for are cut to this. */
const LONGEST_WAIT_SECONDS = 24 * 60 * 60;
/** Bytes; more than any push service answers. */
export const LONGEST_ANSWER = 64 * 1_024;

export interface PushAnswer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: number | null;
}

interface Call {
  readonly headers: Record<string, string>;
  readonly body: string | Buffer;
  readonly dispatcher: Dispatcher;
  readonly timeoutMs: number;
}

/** Posts to a push service without following redirects; returns its response, or the outcome when there was none. */
export const callPushService = (
  url: URL,
  { timeoutMs, ...options }: Call,
): Promise<{ answer: PushAnswer } | { outcome: PushOutcome }> =>
  inSpan("push service", { kind: "client", attributes: { "server.address": url.host } }, async (span) => {
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const { statusCode, headers, body } = await request(url, { ...options, method: "POST", signal });
      span?.set({ "http.response.status_code": statusCode });
      return {
        answer: {
          status: statusCode,
          // the status counts, also when the body is cut off
          text: await body.text().catch(() => ""),
          retryAfter: retryAfterSeconds(headers["retry-after"], new Date(), LONGEST_WAIT_SECONDS),
        },
      };
    } catch (error) {
      span?.fail(networkCode(error));
      return { outcome: outcomeOfError(error) };
    }
  });

function outcomeOfError(error: unknown): PushOutcome {
  const code = networkCode(error);
  if (neverSent(error)) return silent(`the push service cannot be reached (${code})`);
  return { result: "unknown", reason: `no answer from the push service (${code})`, silent: true };
}
