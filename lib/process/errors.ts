/** The error codes a caller may meet; each is documented with the endpoints that answer it. */
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

/** One field of the input that was refused, by its path in the request. */
export interface FieldError {
  path: string;
  message: string;
}

/** A refusal meant for the caller: everything in it may be shown to them. */
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

/** A job that can never succeed: it is kept as failed at once, without retries. */
export class PermanentError extends Error {
  override name = "PermanentError";
}

/** A job that must not run before `until`: it is put back and no attempt is spent. */
export class Snooze extends Error {
  override name = "Snooze";
  constructor(readonly until: Date) {
    super(`snoozed until ${until.toISOString()}`);
  }
}

export const notFound = (what: string) => new ApiError(404, "NOT_FOUND", `${what} was not found.`);
export const conflict = (detail: string, members?: Record<string, unknown>) =>
  new ApiError(409, "CONFLICT", detail, members);
export const unavailable = (detail: string, retryAfterSeconds = 5, members?: Record<string, unknown>) =>
  new ApiError(503, "UNAVAILABLE", detail, { ...members, retryAfterSeconds });
