import { request, type Dispatcher } from "undici";
import { networkCode, neverSent } from "../outbound/network-error.js";
import { PrivateAddress } from "../outbound/public-address.js";
import type { PushAddress } from "./push-token.js";
import { retryAfterSeconds } from "../outbound/retry-after.js";

/** What a device is sent. */
export interface PushMessage {
  readonly notificationId: string;
  readonly kind: string;
  readonly title: string;
  readonly body: string;
  /** What an app needs to open the right screen: ids. */
  readonly data: Readonly<Record<string, string>>;
  /** A later message with the same one takes this one's place on a device; at most 32 of A–Z, a–z, 0–9, `-` and `_`. */
  readonly collapseKey: string;
  /** How long the push service may keep it for a device that is away. */
  readonly ttlSeconds: number;
  readonly urgency: "low" | "normal" | "high";
}

/**
 * The outcome of one message to one device.
 * - `sent`: the push service has it.
 * - `unknown`: it may have it, so it must not be sent again.
 * - `gone`: the device will never be reached again, and is to be deleted.
 * - `later`: it was certainly not taken; the service may have said when to try again.
 * - `unauthorized`: this service's key or configuration is at fault, whichever the device.
 * - `refused`: this message cannot be sent to this device, now or later.
 *
 * A `reason` may be logged and shown: it holds no address, no text and no key.
 */
export type PushOutcome =
  | { readonly result: "sent" }
  | { readonly result: "unknown" | "gone" | "unauthorized" | "refused"; readonly reason: string }
  | { readonly result: "later"; readonly reason: string; readonly retryAfterSeconds: number | null };

/** Sends a message to a device; never throws. */
export type PushSender = (device: PushAddress, message: PushMessage) => Promise<PushOutcome>;

export const later = (reason: string, retryAfterSeconds: number | null = null): PushOutcome => ({
  result: "later",
  reason,
  retryAfterSeconds,
});

/** Connections are given up after this time, and then certainly nothing was sent. */
export const CONNECT_TIMEOUT_MS = 5_000;
export const ANSWER_TIMEOUT_MS = 10_000;
/** What a sender needs before it can send, such as an access token, is waited for no longer than this part of that time. */
export const PREPARATION_SHARE = 0.5;
/** A sender has its outcome by then. */
export const LONGEST_SEND_MS = ANSWER_TIMEOUT_MS * (1 + PREPARATION_SHARE);
/** No push service is waited for longer. */
const LONGEST_WAIT_SECONDS = 24 * 60 * 60;
/** More than any push service has to say. */
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

/** Posts to a push service without following redirects; answers its answer, or the outcome when there was none. */
export async function callPushService(
  url: URL,
  { timeoutMs, ...options }: Call,
): Promise<{ answer: PushAnswer } | { outcome: PushOutcome }> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const { statusCode, headers, body } = await request(url, { ...options, method: "POST", signal });
    return {
      answer: {
        status: statusCode,
        // the status counts, also when the body is cut off
        text: await body.text().catch(() => ""),
        retryAfter: retryAfterSeconds(headers["retry-after"], new Date(), LONGEST_WAIT_SECONDS),
      },
    };
  } catch (error) {
    return { outcome: unanswered(error) };
  }
}

function unanswered(error: unknown): PushOutcome {
  if (error instanceof PrivateAddress) return { result: "refused", reason: error.message };
  const code = networkCode(error);
  if (neverSent(error)) return later(`the push service cannot be reached (${code})`);
  return { result: "unknown", reason: `no answer from the push service (${code})` };
}
