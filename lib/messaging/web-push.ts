import { Agent } from "undici";
import webPush from "web-push";
import { config } from "../process/config.js";
import { publicLookup, requirePublicHost, PrivateAddress } from "../outbound/public-address.js";
import {
  ANSWER_TIMEOUT_MS,
  callPushService,
  CONNECT_TIMEOUT_MS,
  later,
  LONGEST_ANSWER,
  type PushAnswer,
  type PushMessage,
  type PushOutcome,
  type PushSender,
} from "./push-sender.js";
import type { VapidKeys } from "../process/push-keys.js";

/** What is left of 4,096 bytes after the header, the padding's delimiter and the tag of RFC 8291. */
const LONGEST_PAYLOAD = 3_993;
/** Push services refuse tokens that are valid for more than a day (RFC 8292, section 2). */
const TOKEN_SECONDS = 12 * 60 * 60;
/** Signing a token costs more than the rest of a send, so tokens are reused. */
const TOKEN_REUSED_SECONDS = 60 * 60;
/** There are a handful of push services; clients may invent more, so the cache is bounded. */
const MOST_TOKENS = 1_000;

/** Devices name their push service, so only public addresses are connected to. */
const dispatcher = new Agent({
  connect: { lookup: publicLookup, timeout: CONNECT_TIMEOUT_MS },
  maxResponseSize: LONGEST_ANSWER,
});

/** Returns the message for the app's service worker: enough for `showNotification(title, { body, tag, data })`. */
const payloadOf = ({ notificationId, kind, title, body, data, collapseKey }: PushMessage) =>
  Buffer.from(JSON.stringify({ title, body, tag: collapseKey, data: { ...data, notificationId, kind } }));

function outcomeOf({ status, retryAfter }: PushAnswer): PushOutcome {
  const reason = `the push service answered ${status}`;
  if (status >= 200 && status < 300) return { result: "sent" };
  if (status === 404 || status === 410) return { result: "gone", reason };
  if (status === 401 || status === 403) return { result: "unauthorized", reason };
  if (status === 408 || status === 429 || status >= 500) return later(reason, retryAfter);
  return { result: "refused", reason };
}

/** Encrypts a message for one browser; undefined when its keys are invalid. */
function encrypted(payload: Buffer, { p256dh, auth }: { p256dh: string; auth: string }): Buffer | undefined {
  try {
    return webPush.encrypt(p256dh, auth, payload, "aes128gcm").cipherText;
  } catch {
    return undefined;
  }
}

/** Returns a function from a push service's origin to an authorization header (RFC 8292), cached for an hour. */
function authorizer({ subject, publicKey, privateKey }: VapidKeys): (origin: string) => string {
  const tokens = new Map<string, { authorization: string; until: number }>();
  return (origin) => {
    const now = Math.floor(Date.now() / 1_000);
    const known = tokens.get(origin);
    if (known && now < known.until) return known.authorization;
    const expiration = now + TOKEN_SECONDS;
    const headers = webPush.getVapidHeaders(origin, subject, publicKey, privateKey, "aes128gcm", expiration);
    if (tokens.size >= MOST_TOKENS) tokens.clear();
    tokens.set(origin, { authorization: headers.Authorization, until: now + TOKEN_REUSED_SECONDS });
    return headers.Authorization;
  };
}

/** Sends to Web Push subscriptions, each message encrypted for its browser (RFC 8291) and signed with the VAPID key (RFC 8292). */
export function webPushSender(vapid: VapidKeys, { timeoutMs = ANSWER_TIMEOUT_MS } = {}): PushSender {
  const authorizationFor = authorizer(vapid);
  return async ({ address, keys }, message) => {
    const url = new URL(address);
    try {
      requirePublicHost(url);
    } catch (error) {
      if (error instanceof PrivateAddress) return { result: "refused", reason: error.message };
      throw error;
    }
    if (url.protocol !== "https:" && !config.ALLOW_PRIVATE_ADDRESSES)
      return { result: "refused", reason: "the address is not https" };
    if (!keys) return { result: "refused", reason: "the subscription has no keys" };
    const payload = payloadOf(message);
    if (payload.length > LONGEST_PAYLOAD)
      return { result: "refused", reason: `the message has ${payload.length} bytes, of at most ${LONGEST_PAYLOAD}` };

    const body = encrypted(payload, keys);
    if (!body) return { result: "refused", reason: "nothing can be encrypted with the subscription's keys" };
    const called = await callPushService(url, {
      headers: {
        authorization: authorizationFor(url.origin),
        "content-type": "application/octet-stream",
        "content-encoding": "aes128gcm",
        ttl: String(message.ttlSeconds),
        urgency: message.urgency,
        topic: message.collapseKey,
      },
      body,
      dispatcher,
      timeoutMs,
    });
    return "outcome" in called ? called.outcome : outcomeOf(called.answer);
  };
}
