import { z } from "zod";
import {
  accessTokenSeconds,
  newRefreshToken,
  refreshTokenDigest,
  refreshTokenSuccessors,
  signAccessToken,
} from "../../../lib/security/tokens.js";
import { sql } from "../../../sql/db.js";
import { revokeSession, rotateRefreshToken, type Session } from "../../../sql/queries/sessions.js";
import { findPrincipal } from "../../../sql/queries/users.js";
import { noContent, ok, section } from "../../http/endpoint.js";
import { refusal } from "../../http/refusal.js";
import { orNull, Phone } from "../../http/schemas.js";
import { expiredCode, invalidCode, openSession, sendCode, tooManyCodes, tooManyGuesses } from "../../common/sign-in.js";

export const auth = section({ prefix: "/auth", tag: "Authentication", invalid: "BAD_REQUEST" });

const Tokens = z
  .object({
    accessToken: z.string().meta({ description: "JWT" }),
    refreshToken: z.string().meta({ description: "opaque; valid for one exchange within 30 days" }),
    tokenType: z.literal("Bearer"),
    expiresIn: z.int().meta({ description: "lifetime of the access token in seconds" }),
  })
  .meta({ id: "Tokens" });

const RefreshToken = z.object({ refreshToken: z.string().min(1).max(512) });

const EarlierLogin = orNull(RefreshToken.shape.refreshToken).meta({
  description:
    "a refresh token that this device got for the phone, also one that was used or logged out: limits that strangers " +
    "use up do not apply to the device then",
});

const invalidRefreshToken = refusal(
  401,
  "INVALID_REFRESH_TOKEN",
  "INVALID_REFRESH_TOKEN",
  "The refresh token is unknown, expired, revoked or was used before.",
  "Forget the tokens and let the user log in again, with this refresh token in the request.",
);
const invalidToken = refusal(
  400,
  "INVALID_TOKEN",
  "INVALID_TOKEN",
  "The refresh token is unknown, expired or logged out already.",
  "Forget the tokens: the session has ended.",
);

/** Returns the response to a login or refresh; null when the account was deleted. */
async function tokensOf({ userId, sessionId }: Session, refreshToken: string) {
  const principal = await findPrincipal(sql, userId);
  if (principal === undefined) return null;
  const { isAdmin, partnerId } = principal;
  const scope = ["USER", partnerId !== null && "PARTNER", isAdmin && "ADMIN"].filter(Boolean).join(" ");
  const accessToken = await signAccessToken({ userId, sessionId, scope, ...(partnerId !== null && { partnerId }) });
  const tokens = { accessToken, refreshToken, tokenType: "Bearer" as const, expiresIn: accessTokenSeconds };
  return ok(tokens, { "Cache-Control": "no-store" });
}

auth.post(
  "/otp/send",
  {
    name: "sendLoginCode",
    summary: "Send a login code to a phone",
    description:
      "A code is valid for 5 minutes and replaces the previous one. At most 3 codes per phone in 5 minutes. The response does not reveal whether the phone is known.",
    auth: "ANYONE",
    body: z.object({ phone: Phone, refreshToken: EarlierLogin }),
    answers: {
      200: z.object({
        message: z.string(),
        retryAfterSeconds: z.int().meta({ description: "how long to wait before requesting another code" }),
      }),
    },
    errors: [tooManyCodes],
  },
  async ({ body: { phone, refreshToken }, ip, requestId }) => {
    const retryAfterSeconds = await sendCode(phone, { ip, refreshToken }, requestId);
    return ok({ message: "The code is on its way.", retryAfterSeconds });
  },
);

auth.post(
  "/otp/verify",
  {
    name: "logIn",
    summary: "Exchange a login code for tokens",
    description:
      "The first login of a phone creates its user. A code works once. 5 wrong guesses from an address void it there. After 50 " +
      "at a phone in a day a code takes one guess from the address that requested it and two from others; further ones, and " +
      "many wrong codes from an address, are 429. An address whose further guess was right, which the 429 does not reveal, " +
      "has one guess of later codes: who holds the phone enters the next code too.",
    auth: "ANYONE",
    body: z.object({ phone: Phone, code: z.string().max(32), refreshToken: EarlierLogin }),
    answers: { 200: Tokens },
    errors: [invalidCode, expiredCode, tooManyGuesses],
  },
  async ({ body: { phone, code, refreshToken }, ip }) => {
    const newToken = newRefreshToken();
    const session = await openSession(phone, code, { ip, refreshToken }, refreshTokenDigest(newToken), {
      forDashboard: false,
    });
    const tokens = await tokensOf(session, newToken);
    if (tokens === null) throw invalidCode();
    return tokens;
  },
);

auth.post(
  "/token/refresh",
  {
    name: "refreshTokens",
    summary: "Exchange a refresh token for new tokens",
    description:
      "A refresh token works once. Reuse ends its session, except once within 10 seconds, for a client that lost the response: it gets the same new refresh token.",
    auth: "ANYONE",
    body: RefreshToken,
    answers: { 200: Tokens },
    errors: [invalidRefreshToken],
  },
  async ({ body: { refreshToken } }) => {
    const successors = refreshTokenSuccessors(refreshToken).map((token) => ({
      token,
      digest: refreshTokenDigest(token),
    }));
    const rotation = await rotateRefreshToken(
      sql,
      refreshTokenDigest(refreshToken),
      successors.map(({ digest }) => digest),
    );
    const successor = successors.find(({ digest }) => rotation !== undefined && digest.equals(rotation.successor));
    const tokens = rotation && successor ? await tokensOf(rotation, successor.token) : null;
    if (tokens === null) throw invalidRefreshToken();
    return tokens;
  },
);

auth.post(
  "/logout",
  {
    name: "logOut",
    summary: "End the session of a refresh token",
    description: "Its access tokens stop working at once.",
    auth: "ANYONE",
    body: RefreshToken,
    answers: { 204: null },
    errors: [invalidToken],
  },
  async ({ body: { refreshToken } }) => {
    if (!(await revokeSession(sql, refreshTokenDigest(refreshToken), false))) {
      throw invalidToken();
    }
    return noContent();
  },
);
