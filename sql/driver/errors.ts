import { isNativeError } from "node:util/types";
import postgres from "postgres";

const CONNECTION_FAILURE = "08006";

/**
 * What an error of the database means: the server cannot be used now ("unreachable", "overloaded"); the statement lost to
 * others that lock the same rows ("contended") or ran for too long ("timeout"), and was rolled back; it has a value that cannot
 * be stored ("bad value"); or none of these ("other").
 */
export type Fault = "unreachable" | "overloaded" | "contended" | "timeout" | "bad value" | "other";

/** The faults by SQLSTATE; the first that matches counts. */
const faults: readonly [RegExp, Fault][] = [
  [/^08/, "unreachable"], // the connection failed
  [/^57P0/, "unreachable"], // the server shuts down, crashed or starts
  [/^28|^3D000$/, "unreachable"], // the password was changed, or the role or the database is not there
  [/^25006$/, "unreachable"], // a standby: the primary is elsewhere
  [/^53/, "overloaded"], // no connection, memory or disk left
  [/^40(001|P01)$/, "contended"], // serialization failure, deadlock
  [/^55P03$/, "contended"], // lock not available
  [/^57014$/, "timeout"], // statement_timeout
  [/^25P0[34]$/, "timeout"], // the transaction was idle or open for too long
  [/^22/, "bad value"], // out of range, malformed, with a NUL
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

/** Returns what an error of the database means; undefined for any other error. */
export function faultOf(error: unknown): Fault | undefined {
  if (!(error instanceof DatabaseError)) return undefined;
  return faults.find(([code]) => code.test(error.code))?.[1] ?? "other";
}

/** Whether the server cannot be used now, whatever the statement: a later retry may succeed. */
export function isUnavailable(error: unknown): boolean {
  const fault = faultOf(error);
  return fault === "unreachable" || fault === "overloaded";
}

/** Whether the statement may have failed for what others did, or for an outage: it says little about the statement itself. */
export function isPassing(error: unknown): boolean {
  const fault = faultOf(error);
  return fault !== undefined && fault !== "bad value" && fault !== "other";
}

/** Whether there was no connection for the work: it has not begun, and nothing is wrong with it. */
export const hadNoConnection = (error: unknown): boolean => error instanceof DatabaseError && error.code === "53300";

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
