/** The API's error codes; each is documented at the endpoints that answer it. */
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

/** An error for the caller, who is shown everything in it. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: ErrorCode,
    detail: string,
    /** Further members of the problem document, such as `available` or `retryAfterSeconds`. */
    readonly members: Record<string, unknown> = {},
  ) {
    super(detail);
    this.name = "ApiError";
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

export const notFound = (what: string) => new ApiError(404, "NOT_FOUND", `${what} was not found.`);
export const conflict = (detail: string, members?: Record<string, unknown>) =>
  new ApiError(409, "CONFLICT", detail, members);
export const unavailable = (detail: string, retryAfterSeconds = 5, members?: Record<string, unknown>) =>
  new ApiError(503, "UNAVAILABLE", detail, { ...members, retryAfterSeconds });
