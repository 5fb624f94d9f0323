import type { Problem } from "./operations.js";

/** What every operation answers: one member of a union, told apart by `status`, and for refusals by `data.reason`. */
export interface Answer {
  status: number;
  data?: unknown;
  headers: Headers;
}

/** The answers of an operation that did what was asked. */
export type Done<A extends Answer> = Extract<A, { status: 200 | 201 | 202 | 204 }>;

/** An answer that is no success, thrown by the helpers that return a result. */
export class Refused extends Error {
  override readonly name = "Refused";

  constructor(
    readonly status: number,
    /** Says why, by its `reason`; null when something between the app and the API answered. */
    readonly problem: Problem | null,
  ) {
    super(problem?.detail ?? `The answer was ${status}.`);
  }
}

// a later API may have reasons that this version does not know
const isProblem = (data: unknown): data is Problem =>
  typeof data === "object" && data !== null && "reason" in data && "detail" in data;

/** Returns the error for an answer that is no success. */
export const refusalOf = ({ status, data }: Pick<Answer, "status" | "data">) =>
  new Refused(status, isProblem(data) ? data : null);

const isDone = <A extends Answer>(answer: A): answer is A & Done<A> => answer.status >= 200 && answer.status < 300;

/** Returns an answer that is a success; throws `Refused` for any other. */
export async function succeeded<A extends Answer>(answering: Promise<A>): Promise<Done<A>> {
  const answer = await answering;
  if (!isDone(answer)) throw refusalOf(answer);
  return answer;
}

/** Returns the result of an operation: `await done(readBox({ id }, session))`. Throws `Refused` without one. */
export async function done<A extends Answer>(answering: Promise<A>): Promise<Done<A>["data"]> {
  return (await succeeded(answering)).data;
}
