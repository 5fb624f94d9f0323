import { randomUUID } from "node:crypto";
import { initializeApp } from "firebase-admin/app";
import { FirebaseMessagingError, getMessaging, type Messaging, type TokenMessage } from "firebase-admin/messaging";
import { z } from "zod";
import { config } from "../process/config.js";
import { accessTokens, NotSent, toGoogle } from "./google-tokens.js";
import { parseJson } from "../process/parse-json.js";
import type { ServiceAccount } from "../process/push-keys.js";
import {
  ANSWER_TIMEOUT_MS,
  callPushService,
  later,
  PREPARATION_SHARE,
  type PushAnswer,
  type PushMessage,
  type PushOutcome,
  type PushSender,
} from "./push-sender.js";

/** Google's advice for a 429 without `Retry-After`. */
const QUOTA_WAIT_SECONDS = 60;

const apnsPriority = { high: "10", normal: "5", low: "5" } as const;

/** Builds the message; on each platform a later one with the same collapse key replaces it. */
const messageFor = (
  token: string,
  { notificationId, kind, title, body, data, collapseKey, ttlSeconds, urgency }: PushMessage,
): TokenMessage => ({
  token,
  notification: { title, body },
  data: { ...data, notificationId, kind },
  android: {
    collapseKey,
    ttl: ttlSeconds * 1_000,
    priority: urgency === "high" ? "high" : "normal",
    notification: { tag: collapseKey },
  },
  apns: {
    headers: {
      "apns-collapse-id": collapseKey,
      "apns-expiration": String(Math.floor(Date.now() / 1_000) + ttlSeconds),
      "apns-priority": apnsPriority[urgency],
    },
    payload: { aps: { sound: "default" } },
  },
  webpush: {
    headers: { TTL: String(ttlSeconds), Urgency: urgency, Topic: collapseKey },
    notification: { tag: collapseKey },
  },
});

const Refusal = z.object({
  error: z.object({
    message: z.string().catch(""),
    status: z.string().catch(""),
    details: z
      .array(
        z.object({
          errorCode: z.string().optional().catch(undefined),
          fieldViolations: z
            .array(z.object({ field: z.string().catch("") }))
            .optional()
            .catch(undefined),
        }),
      )
      .catch([]),
  }),
});

/** Returns FCM's error code, else Google's, and whether the registration token is at fault. */
function refusalOf(text: string): { code: string; namesToken: boolean } {
  const parsed = Refusal.safeParse(parseJson(text));
  if (!parsed.success) return { code: "", namesToken: false };
  const { message, status, details } = parsed.data.error;
  const violations = details.flatMap(({ fieldViolations = [] }) => fieldViolations);
  return {
    code: details.find(({ errorCode }) => errorCode !== undefined)?.errorCode ?? status,
    namesToken:
      violations.some(({ field }) => field === "message.token") ||
      (violations.length === 0 && /\bregistration token\b/i.test(message)),
  };
}

function outcomeOf({ status, text, retryAfter }: PushAnswer): PushOutcome {
  if (status === 200) return { result: "sent" };
  const { code, namesToken } = refusalOf(text);
  const reason = `FCM answered ${status} ${/^[A-Z_]{1,60}$/.test(code) ? code : ""}`.trimEnd();
  if (status === 404 && code === "UNREGISTERED") return { result: "gone", reason };
  if (status === 400) return namesToken ? { result: "gone", reason } : { result: "refused", reason };
  // a 404 that does not name the device means that the project does not exist
  if (status === 401 || status === 403 || status === 404) return { result: "unauthorized", reason };
  if (status === 429) return later(reason, retryAfter ?? QUOTA_WAIT_SECONDS);
  if (status === 408 || status >= 500) return later(reason, retryAfter);
  return { result: "refused", reason };
}

/** A request that firebase-admin passes to its HTTP client. */
interface LibraryRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: unknown;
}

/** The replacement of that client; `Messaging.send` throws what it throws. */
interface Transport {
  send(request: LibraryRequest): Promise<{ isJson(): boolean; data: object }>;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Makes firebase-admin send through `transport`; throws when its own client is not where it was. */
export function replaceTransport(messaging: Messaging, transport: Transport): void {
  const handler: unknown = Reflect.get(messaging, "messagingRequestHandler");
  const client: unknown = isObject(handler) ? Reflect.get(handler, "httpClient") : undefined;
  if (!isObject(handler) || !isObject(client) || typeof Reflect.get(client, "send") !== "function")
    throw new Error("this version of firebase-admin keeps its HTTP client elsewhere");
  Reflect.set(handler, "httpClient", transport);
}

/**
 * Sends to FCM registration tokens, each message once: firebase-admin checks and writes it, but its HTTP client would send
 * it up to five times when a response is lost, and hide FCM's `Retry-After`.
 */
export function fcmSender(
  account: ServiceAccount,
  { url = config.FCM_URL, timeoutMs = ANSWER_TIMEOUT_MS } = {},
): PushSender {
  const credential = accessTokens(account, timeoutMs * PREPARATION_SHARE);
  const app = initializeApp({ credential, projectId: account.project_id }, `fcm ${randomUUID()}`);
  const messaging = getMessaging(app);

  replaceTransport(messaging, {
    async send({ url: original, headers, data }) {
      const { access_token: token } = await credential.getAccessToken();
      const called = await callPushService(new URL(new URL(original).pathname, url), {
        headers: { ...headers, authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(data),
        dispatcher: toGoogle,
        timeoutMs,
      });
      if ("outcome" in called) throw new NotSent(called.outcome);
      // the token was revoked before it expired
      if (called.answer.status === 401) credential.forget(token);
      const outcome = outcomeOf(called.answer);
      if (outcome.result !== "sent") throw new NotSent(outcome);
      return { isJson: () => true, data: {} };
    },
  });

  return async ({ address }, message) => {
    try {
      await messaging.send(messageFor(address, message));
      return { result: "sent" };
    } catch (error) {
      if (error instanceof NotSent) return error.outcome;
      if (error instanceof FirebaseMessagingError)
        return { result: "refused", reason: `firebase-admin does not take the message (${error.code})` };
      throw error;
    }
  };
}
