import { z } from "zod";
import { enums } from "../../lib/domain/enums.js";
import { MAX_JSON_DEPTH } from "../../lib/process/parse-json.js";
import type { ApiError, FieldError } from "../../lib/process/errors.js";
import { apiKeyScopes } from "../../lib/security/api-key.js";
import { madeBy, refusal, refusalWith } from "./refusal.js";

// The reasons for which any endpoint may refuse a request. Sections declare their own.

export const unreadable = refusal(
  400,
  "BAD_REQUEST",
  "UNREADABLE",
  "The request could not be read.",
  "The request broke off, or its syntax, headers or compression are wrong. Send it again as HTTP/1.1 wants it.",
);
export const notJson = refusal(
  400,
  "BAD_REQUEST",
  "NOT_JSON",
  `The body is not valid JSON, or is nested deeper than ${MAX_JSON_DEPTH} levels.`,
  "Send the body as JSON in UTF-8.",
);
export const notSentAsJson = refusal(
  400,
  "BAD_REQUEST",
  "NOT_SENT_AS_JSON",
  "The body must be sent as application/json.",
  "Set the header `Content-Type: application/json`, without a charset other than UTF-8.",
);
export const outOfRange = refusal(
  400,
  "BAD_REQUEST",
  "OUT_OF_RANGE",
  "A value is out of range.",
  "A number or a date is beyond what can be stored. Send a usual one.",
);

export const FieldErrors = z.array(z.object({ path: z.string(), message: z.string() }).meta({ id: "FieldError" }));

const nameAll = ({ errors }: { errors: readonly FieldError[] }) =>
  errors
    .map(({ path, message }) => `${path || "body"}: ${message}`)
    .join("; ")
    .slice(0, 1_000);

/** The terms of a reason that names invalid fields. */
export const invalidTerms = {
  detail: nameAll,
  facts: { errors: FieldErrors },
  example: { errors: [{ path: "price", message: "must have at most two decimals" }] },
};

const mendFields = "Mend the fields in `errors`; a path names the field, with `query` or `headers` before it.";
const invalidInputs = {
  VALIDATION_ERROR: refusalWith(400, "VALIDATION_ERROR", "INVALID_INPUT", { ...invalidTerms, remedy: mendFields }),
  BAD_REQUEST: refusalWith(400, "BAD_REQUEST", "MALFORMED_INPUT", {
    ...invalidTerms,
    example: { errors: [{ path: "phone", message: "must be +7 followed by 10 digits" }] },
    remedy: mendFields,
  }),
};

/** The code of a section for an invalid body or query. */
export type InvalidCode = keyof typeof invalidInputs;

/** The reason for which a section refuses invalid input. */
export const invalidInputOf = (code: InvalidCode) => invalidInputs[code];

/** The part of the errors that an answer has room for. */
export const firstErrors = (errors: readonly FieldError[]): FieldError[] => errors.slice(0, 100);

/** Returns the 400 that names every invalid field. */
export const invalidFields = (code: InvalidCode, errors: readonly FieldError[]): ApiError =>
  invalidInputs[code]({ errors: firstErrors(errors) });

export const requestTooSlow = refusal(
  408,
  "BAD_REQUEST",
  "REQUEST_TOO_SLOW",
  "The request did not arrive in time.",
  "Send the request again, over a better connection; send a large file in parts.",
);
export const bodyTooLarge = refusal(
  413,
  "PAYLOAD_TOO_LARGE",
  "BODY_TOO_LARGE",
  "The body is larger than this endpoint accepts.",
  "Send less: 1 MB of JSON with a token, 4 KB where no token is needed.",
);
export const headersTooLarge = refusal(
  431,
  "BAD_REQUEST",
  "HEADERS_TOO_LARGE",
  "The headers of the request are too large.",
  "Send fewer or shorter headers; 16 KB is enough.",
);

export const tokenMissing = refusal(
  401,
  "UNAUTHORIZED",
  "TOKEN_MISSING",
  "This endpoint needs a bearer access token.",
  "Send `Authorization: Bearer` with an access token.",
);
export const tokenInvalid = refusal(
  401,
  "UNAUTHORIZED",
  "TOKEN_INVALID",
  "The access token is malformed, or not one of this service.",
  "Send the `accessToken` of a login as it came, after `Bearer` and a blank.",
);
export const tokenExpired = refusal(
  401,
  "UNAUTHORIZED",
  "TOKEN_EXPIRED",
  "The access token has expired.",
  "Exchange the refresh token for new tokens; if that is refused too, let the user log in again.",
);
export const sessionEnded = refusal(
  401,
  "UNAUTHORIZED",
  "SESSION_ENDED",
  "This account no longer exists, or this session has ended.",
  "Forget the tokens and let the user log in again.",
);
export const keyUnknown = refusal(
  401,
  "UNAUTHORIZED",
  "KEY_UNKNOWN",
  "The service key is unknown.",
  "The key was deleted or is misspelt. An admin makes a new one.",
);

const ofSentTokens = [tokenInvalid, tokenExpired, sessionEnded, keyUnknown].map(({ reason }) => reason);

/** Returns the `WWW-Authenticate` of a 401 (RFC 6750): what is wrong with the token, where one was sent. */
export const challengeOf = ({ reason, message }: ApiError): string =>
  ofSentTokens.includes(reason) ? `Bearer error="invalid_token", error_description="${message}"` : "Bearer";

export const keyScopeMissing = refusalWith(403, "FORBIDDEN", "KEY_SCOPE_MISSING", {
  detail: ({ scope }) => `This endpoint needs a service key with the scope ${scope}.`,
  remedy: "Use a key with this `scope`. An admin makes one.",
  facts: { scope: z.enum(apiKeyScopes) },
  example: { scope: "geo:write" },
});
export const adminsOnly = refusal(
  403,
  "FORBIDDEN",
  "ADMINS_ONLY",
  "This endpoint is for admins.",
  "Log in as an admin.",
);
export const operatorsOnly = refusal(
  403,
  "FORBIDDEN",
  "OPERATORS_ONLY",
  "This endpoint is for operators.",
  "Log in as an admin, or as a user whom `npm run grant-admin -- … --read-only` lets look.",
);
export const notTheOwner = refusal(
  403,
  "FORBIDDEN",
  "NOT_THE_OWNER",
  "This is for the partner's owner.",
  "Let the partner's owner do it.",
);
export const partnersOnly = refusal(
  403,
  "FORBIDDEN",
  "PARTNERS_ONLY",
  "This endpoint is for partners.",
  "Register a partner, or accept an invitation to a partner's staff.",
);
export const partnerNotActive = refusalWith(403, "FORBIDDEN", "PARTNER_NOT_ACTIVE", {
  detail: ({ partnerStatus }) => `This endpoint is for active partners; yours is ${partnerStatus}.`,
  remedy: "Wait until an admin has approved the partner.",
  facts: { partnerStatus: z.enum(enums.partnerStatus) },
  example: { partnerStatus: "PENDING_REVIEW" },
});

const missing = refusal(
  404,
  "NOT_FOUND",
  "NOT_FOUND",
  "This box was not found.",
  "It does not exist, no longer exists, or is not yours to see.",
);
/** The error for something that does not exist or is not the caller's to see. */
export const notFound = madeBy((what: string) => missing(`${what} was not found.`), missing);
/** The error for a path with a parameter that nothing can have, as it is malformed. */
export const malformedParameter = madeBy(
  ({ path, message }: FieldError) => missing(`No such ${path} exists: it ${message}.`),
  missing,
);

export const methodNotAllowed = refusalWith(405, "METHOD_NOT_ALLOWED", "METHOD_NOT_ALLOWED", {
  detail: ({ allowed }) => `This address takes only ${allowed.join(", ")}.`,
  remedy: "Use one of the methods in `allowed`.",
  facts: { allowed: z.array(z.string()) },
  example: { allowed: ["GET", "POST"] },
});

/** The fact of reasons that pass by themselves. */
export const retryFacts = {
  retryAfterSeconds: z.int().meta({ description: "as in the header `Retry-After`", example: 60 }),
};

export const tooManyRequests = refusalWith(429, "RATE_LIMIT", "TOO_MANY_REQUESTS", {
  detail: "Too many requests; slow down.",
  remedy: "Wait for `retryAfterSeconds`. The headers `RateLimit` tell beforehand how many requests are left.",
  facts: retryFacts,
  example: { retryAfterSeconds: 60 },
});

/** Declares a reason that passes by itself after some seconds. */
export function passing(
  reason: string,
  detail: string,
  seconds: number,
  remedy = "Try again after `retryAfterSeconds`.",
) {
  const example = { retryAfterSeconds: seconds };
  const declared = refusalWith(503, "UNAVAILABLE", reason, { detail, remedy, facts: retryFacts, example });
  return madeBy(() => declared(example), declared);
}

const maybeDone =
  "Try again after `retryAfterSeconds`. The change may have been made: read first, or send an `Idempotency-Key` where there is one.";
export const databaseUnreachable = passing(
  "DATABASE_UNREACHABLE",
  "The database is not reachable; try again shortly.",
  5,
  maybeDone,
);
export const overloaded = passing(
  "OVERLOADED",
  "More requests come than can be answered in time; try again shortly.",
  1,
  "Nothing was done. Send the same request again after `retryAfterSeconds`.",
);
export const databaseOverloaded = passing("DATABASE_OVERLOADED", "The database is overloaded; try again shortly.", 5);
export const databaseContended = passing(
  "DATABASE_CONTENDED",
  "Other requests are changing the same data; try again shortly.",
  5,
);
export const databaseTooSlow = passing(
  "DATABASE_TOO_SLOW",
  "The database took too long; try again shortly.",
  5,
  maybeDone,
);
export const storageUnreachable = passing(
  "STORAGE_UNREACHABLE",
  "The file storage is not reachable; try again shortly.",
  30,
);

export const internal = refusal(
  500,
  "INTERNAL",
  "INTERNAL",
  "Internal error; quote the request id when you report it.",
  "This is a fault of the service. Report the `requestId`.",
);
