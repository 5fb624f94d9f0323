import type { Credential } from "firebase-admin/app";
import { importPKCS8, SignJWT } from "jose";
import { Agent } from "undici";
import { z } from "zod";
import { parseJson } from "../process/parse-json.js";
import type { ServiceAccount } from "../process/push-keys.js";
import { callPushService, CONNECT_TIMEOUT_MS, later, LONGEST_ANSWER, silent, type PushOutcome } from "./push-sender.js";

const SCOPE = "https://www.googleapis.com/auth/firebase.messaging";
const ASSERTION_SECONDS = 3_600;
/** A token is not used in its last minutes: clocks differ, and a send takes time. */
const TOKEN_MARGIN_MS = 5 * 60_000;

/** The connections to Google. */
export const toGoogle = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS }, maxResponseSize: LONGEST_ANSWER });

/** Why a message was not sent. firebase-admin passes on errors that are not its own. */
export class NotSent extends Error {
  constructor(readonly outcome: PushOutcome) {
    super(outcome.result);
  }
}

const Token = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });
interface Grant {
  readonly token: string;
  readonly until: number;
}

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
    dispatcher: toGoogle,
    timeoutMs,
  });
  // whatever the outcome of this call, the message itself was not sent
  if ("outcome" in called) throw new NotSent(silent("Google gives no access token"));
  const { status, text, retryAfter } = called.answer;
  const token = Token.safeParse(parseJson(text));
  if (status === 200 && token.success)
    return { token: token.data.access_token, until: Date.now() + token.data.expires_in * 1_000 };
  const reason = `Google answered ${status} to the request for an access token`;
  if (status >= 400 && status < 500 && status !== 408 && status !== 429)
    throw new NotSent({ result: "unauthorized", reason });
  throw new NotSent(later(reason, retryAfter));
}

export interface AccessTokens extends Credential {
  /** Discards this token, so that the next call requests a new one. */
  forget(token: string): void;
}

/**
 * Returns an account's access tokens: one is shared until it is about to expire, and only one is requested at a time. The
 * library's own credential repeats requests, and does not distinguish a refused key from an outage at Google.
 */
export function accessTokens(account: ServiceAccount, timeoutMs: number): AccessTokens {
  let known: Grant | undefined;
  let asked: Promise<Grant> | undefined;

  async function ask(): Promise<Grant> {
    try {
      return (known = await askForToken(account, timeoutMs));
    } finally {
      asked = undefined;
    }
  }

  return {
    async getAccessToken() {
      const fresh = known && known.until - TOKEN_MARGIN_MS > Date.now() ? known : undefined;
      const { token, until } = fresh ?? (await (asked ??= ask()));
      return { access_token: token, expires_in: Math.floor((until - Date.now()) / 1_000) };
    },
    forget(token) {
      if (known?.token === token) known = undefined;
    },
  };
}
