import { isNativeError } from "node:util/types";
import postgres from "postgres";

const CONNECTION_FAILURE = "08006";

/** SQLSTATEs that are not the statement's fault: it may succeed later, on another connection or alone. */
const TRY_AGAIN = [
  /^08/, // the connection failed
  /^53/, // the server has no connection, memory or disk left
  /^57/, // the server shuts down, starts, or has cancelled the statement (statement_timeout)
  /^25P0[34]$/, // the transaction was idle or open for too long
  /^40(001|P01)$/, // serialization failure, deadlock
  /^55P03$/, // lock not available
];

/** An error of the database, without the statement and its values, which may be personal data. */
export class DatabaseError extends Error {
  override name = "DatabaseError";
  constructor(
    message: string,
    /** The SQLSTATE. */
    readonly code: string,
    /** The constraint that was violated. */
    readonly constraint_name?: string | undefined,
  ) {
    super(message);
  }
}

/** Makes the error of a lost connection: the statement may or may not have run. */
export const connectionLost = (reason: string) =>
  new DatabaseError(`the database connection was lost: ${reason}`, CONNECTION_FAILURE);

/** Turns an error of postgres.js, which has the statement and its values in properties, into one that may be logged. */
export function asDatabaseError(error: unknown): unknown {
  if (error instanceof DatabaseError || !isNativeError(error)) return error;
  if (!(error instanceof postgres.PostgresError)) return Object.assign(new Error(error.message), { name: error.name });
  // messages of class 22 quote the value
  const message = error.code.startsWith("22") ? `a value was refused (${error.routine})` : error.message;
  return new DatabaseError(message, error.code, error.constraint_name);
}

/** Whether the database was unreachable or too busy for this statement: a later retry may succeed. */
export function isConnectionLost(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && TRY_AGAIN.some((code) => code.test(error.code));
}

/** Whether the statement was rolled back because of others that lock the same rows. */
export const isContended = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError && /^(40001|40P01|55P03)$/.test(error.code);

/** Whether the statement was cancelled because it took too long, and rolled back. */
export const isTimedOut = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError && error.code === "57014";

/** Whether a value cannot be stored: it is out of range, malformed or has a NUL. */
export function isDataException(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.code.startsWith("22");
}

/** Whether the row exists already, by this unique constraint or index, or by any. */
export function isUniqueViolation(error: unknown, constraint?: string): error is DatabaseError {
  return (
    error instanceof DatabaseError &&
    error.code === "23505" &&
    (constraint === undefined || error.constraint_name === constraint)
  );
}

/** Whether a referenced row does not exist. */
export const isForeignKeyViolation = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError && error.code === "23503";
