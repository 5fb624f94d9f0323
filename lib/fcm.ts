import { importPKCS8, SignJWT } from "jose";
import { Agent } from "undici";
import { z } from "zod";
import { config } from "./config.js";
import type { ServiceAccount } from "./push-keys.js";
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

const SCOPE = "https://www.googleapis.com/auth/firebase.messaging";
const ASSERTION_SECONDS = 3_600;
/** A token is not used in its last minutes: the two clocks may differ, and a message takes its time. */
const TOKEN_MARGIN_MS = 5 * 60_000;
/** Google's wish where it gives no time. */
const QUOTA_WAIT_SECONDS = 60;

const dispatcher = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS }, maxResponseSize: LONGEST_ANSWER });

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const Token = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });
type Grant = { token: string; until: number } | { outcome: PushOutcome };

/** Exchanges an assertion signed with the account's key for an access token (RFC 7523). */
async function askForToken(account: ServiceAccount, timeoutMs: number): Promise<Grant> {
  const assertion = await new SignJWT({ scope: SCOPE })
    .setProtectedHeader({ alg: "RS256", typ: "JWT" })
    .setIssuer(account.client_email)
    .setAudience(account.token_uri)
    .setIssuedAt()
    .setExpirationTime(`${ASSERTION_SECONDS}s`)
    .sign(await importPKCS8(account.private_key, "RS256"));
  const called = await callPushService(new URL(account.token_uri), {
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion }).toString(),
    dispatcher,
    timeoutMs,
  });
  // whatever became of this call, the message itself has not been sent
  if ("outcome" in called) return { outcome: later("Google gives no access token") };
  const { status, text, retryAfter } = called.answer;
  const token = Token.safeParse(parseJson(text));
  if (status === 200 && token.success)
    return { token: token.data.access_token, until: Date.now() + token.data.expires_in * 1_000 - TOKEN_MARGIN_MS };
  const reason = `Google answered ${status} to the request for an access token`;
  if (status >= 400 && status < 500 && status !== 408 && status !== 429)
    return { outcome: { result: "unauthorized", reason } };
  return { outcome: later(reason, retryAfter) };
}

const apnsPriority = { high: "10", normal: "5", low: "5" } as const;

/** The message as FCM takes it; on each platform a later one with the same collapse key takes its place. */
function bodyOf(token: string, message: PushMessage): string {
  const { notificationId, kind, title, body, data, collapseKey, ttlSeconds, urgency } = message;
  return JSON.stringify({
    message: {
      token,
      notification: { title, body },
      data: { ...data, notificationId, kind },
      android: {
        collapse_key: collapseKey,
        ttl: `${ttlSeconds}s`,
        priority: urgency === "high" ? "HIGH" : "NORMAL",
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
    },
  });
}

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

/** What FCM says is wrong: its own code or else Google's, and whether that is the registration token. */
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
  // 404 without a word of the device is said of a project that does not exist
  if (status === 401 || status === 403 || status === 404) return { result: "unauthorized", reason };
  if (status === 429) return later(reason, retryAfter ?? QUOTA_WAIT_SECONDS);
  if (status === 408 || status >= 500) return later(reason, retryAfter);
  return { result: "refused", reason };
}

/**
 * Sends to FCM registration tokens through the HTTP v1 API, each message once: nothing is tried again behind the caller's
 * back. All messages share an access token until it is about to expire.
 */
export function fcmSender(
  account: ServiceAccount,
  { url = config.FCM_URL, timeoutMs = ANSWER_TIMEOUT_MS } = {},
): PushSender {
  const address = new URL(`/v1/projects/${account.project_id}/messages:send`, url);
  let asked: { grant: Promise<Grant>; until: number } | undefined;

  /** Only one is asked for at a time; who comes in the meantime waits for it. */
  function accessToken(): Promise<Grant> {
    if (asked && asked.until > Date.now()) return asked.grant;
    const asking = {
      until: Infinity,
      grant: askForToken(account, timeoutMs).then((grant) => {
        asking.until = "token" in grant ? grant.until : 0;
        return grant;
      }),
    };
    asked = asking;
    return asking.grant;
  }

  return async (device, message) => {
    const grant = await accessToken();
    if ("outcome" in grant) return grant.outcome;
    const called = await callPushService(address, {
      headers: { authorization: `Bearer ${grant.token}`, "content-type": "application/json" },
      body: bodyOf(device.address, message),
      dispatcher,
      timeoutMs,
    });
    if ("outcome" in called) return called.outcome;
    // revoked before its time
    if (called.answer.status === 401 && (await asked?.grant) === grant) asked = undefined;
    return outcomeOf(called.answer);
  };
}
