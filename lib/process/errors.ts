/** The API's error codes. Each has one or more reasons, which say more (`/docs/errors`). */
export type ErrorCode =
  | "BAD_REQUEST"
  | "VALIDATION_ERROR"
  | "INVALID_CODE"
  | "EXPIRED_CODE"
  | "INVALID_REFRESH_TOKEN"
  | "INVALID_TOKEN"
  | "INVALID_PROMO"
  | "INVALID_CREDENTIALS"
  | "INVALID_PUSH_TOKEN"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "PAYLOAD_TOO_LARGE"
  | "UNAUTHORIZED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "CONFLICT"
  | "DUPLICATE"
  | "RATE_LIMIT"
  | "UNAVAILABLE"
  | "INTERNAL";

/** A refused field of the input, by its path in the request. */
export interface FieldError {
  path: string;
  message: string;
}

/** An error for the caller, who is shown everything in it. The API declares the reasons that there are, and makes it. */
export class ApiError extends Error {
  override name = "ApiError";
  constructor(
    readonly status: number,
    readonly code: ErrorCode,
    /** Why, more exactly than the code. */
    readonly reason: string,
    detail: string,
    /** Further members of the problem document, such as `available` or `retryAfterSeconds`. */
    readonly facts: Record<string, unknown>,
  ) {
    super(detail);
  }
}

/** The job can never succeed: it is dead at once, without retries. */
export class PermanentError extends Error {
  override name = "PermanentError";
}

/**
 * The job must not run before `until`: it comes back then and no attempt is spent. `later` is added to its priority: a job that
 * lets others of its queue run first comes back behind them.
 */
export class Snooze extends Error {
  override name = "Snooze";
  constructor(
    readonly until: Date,
    readonly later = 0,
  ) {
    super(`snoozed until ${until.toISOString()}`);
  }
}
