import { isNativeError } from "node:util/types";
import postgres from "postgres";

const CONNECTION_FAILURE = "08006";

/** SQLSTATEs that say nothing about the statement: it may do better later, elsewhere or alone. */
const TRY_AGAIN = [
  /^08/, // the connection failed
  /^53/, // the server has no connection, memory or disk left
  /^57/, // it shuts down, starts, or has cancelled the statement (statement_timeout)
  /^25P0[34]$/, // the transaction was idle or open for too long
  /^40(001|P01)$/, // serialization failure, deadlock
  /^55P03$/, // lock not available
];

/** What the database refused, without the statement and its values: those may be personal. */
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

/** The statement may or may not have been carried out: its answer never came. */
export const connectionLost = (reason: string) =>
  new DatabaseError(`the database connection was lost: ${reason}`, CONNECTION_FAILURE);

/** Turns what postgres.js rejects with into what may be logged: it keeps the statement and its values in properties. */
export function asDatabaseError(error: unknown): unknown {
  if (error instanceof DatabaseError || !isNativeError(error)) return error;
  if (!(error instanceof postgres.PostgresError)) return Object.assign(new Error(error.message), { name: error.name });
  // class 22 quotes the value that it refuses
  const message = error.code.startsWith("22") ? `a value was refused (${error.routine})` : error.message;
  return new DatabaseError(message, error.code, error.constraint_name);
}

/** Whether the database was out of reach, or too busy for this statement; for whoever asked, trying again later may help. */
export function isConnectionLost(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && TRY_AGAIN.some((code) => code.test(error.code));
}

/** Whether the statement was given up for others that wanted the same rows; none of it was kept. */
export const isContended = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError && /^(40001|40P01|55P03)$/.test(error.code);

/** Whether the statement was cancelled, having taken too long; none of it was kept. */
export const isTimedOut = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError && error.code === "57014";

/** Whether a value could not be stored as it was: out of range, malformed, with a NUL. */
export function isDataException(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.code.startsWith("22");
}

/** Whether the row is there already, by this unique constraint or index, or by any. */
export function isUniqueViolation(error: unknown, constraint?: string): error is DatabaseError {
  return (
    error instanceof DatabaseError &&
    error.code === "23505" &&
    (constraint === undefined || error.constraint_name === constraint)
  );
}

/** Whether a row that this one refers to is not there. */
export const isForeignKeyViolation = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError && error.code === "23503";
