import { z } from "zod";
import { ApiError, type ErrorCode } from "../../lib/process/errors.js";

/**
 * A reason for which requests are refused. Declared once, it is the function that makes the error, the schema and the example in
 * the OpenAPI document, and an entry of the page at `/docs/errors`.
 */
export interface Refusal {
  reason: string;
  status: number;
  code: ErrorCode;
  /** What the caller does about it. */
  remedy: string;
  /** The names of the members that only this reason has. */
  facts: readonly string[];
  /** The problem document. */
  schema: z.ZodObject;
  example: Readonly<Record<string, unknown>>;
}

type Shape = Record<string, z.ZodType>;
type FactsOf<S extends Shape> = z.output<z.ZodObject<S>>;

interface Terms<S extends Shape> {
  detail: string | ((facts: FactsOf<S>) => string);
  remedy: string;
  facts: S;
  /** True facts, for the example. */
  example: FactsOf<S>;
}

const titles: Readonly<Record<number, string>> = {
  400: "Bad request",
  401: "Not authenticated",
  403: "Not allowed",
  404: "Not found",
  405: "Method not allowed",
  408: "Request timeout",
  409: "Conflict",
  410: "Gone",
  413: "Too large",
  429: "Too many requests",
  431: "Request header fields too large",
  500: "Internal error",
  503: "Unavailable",
};

const declared: Refusal[] = [];

/** Returns every reason that is declared, by name: the order in which modules declare them depends on the version of Node. */
export const declaredRefusals = (): Refusal[] => declared.toSorted((a, b) => a.reason.localeCompare(b.reason, "en"));

/** Returns the problem document (RFC 9457) of an error. */
export const problemOf = ({ status, code, reason, message, facts }: ApiError, requestId: string) => ({
  type: `/docs/errors#${reason}`,
  title: titles[status] ?? "Error",
  status,
  detail: message,
  code,
  reason,
  requestId,
  ...facts,
});

const schemaName = (reason: string) =>
  `${reason.replace(/(?:^|_)([A-Z])([A-Z]*)/g, (_word, first: string, rest: string) => first + rest.toLowerCase())}Problem`;

function declare(error: ApiError, remedy: string, facts: Shape): Refusal {
  const { status, code, reason } = error;
  const example = problemOf(error, "0b7c5b1e-6f4d-4a55-9d0c-2f3f5a1f7a10");
  const schema = z
    .object({
      type: z.literal(example.type).meta({ description: "explains the reason, below the API's address" }),
      title: z.literal(example.title),
      status: z.literal(status),
      detail: z.string().meta({ description: "for people; its wording may change", example: error.message }),
      code: z.literal(code),
      reason: z.literal(reason),
      requestId: z.string(),
      ...facts,
    })
    .meta({ id: schemaName(reason), description: remedy });
  const refusal = { reason, status, code, remedy, facts: Object.keys(facts), schema, example };
  declared.push(refusal);
  return refusal;
}

/** Returns `make` as another function that makes the error of a declared reason. */
export const madeBy = <Make extends object>(
  make: Make,
  { reason, status, code, remedy, facts, schema, example }: Refusal,
): Make & Refusal => Object.assign(make, { reason, status, code, remedy, facts, schema, example });

/** Declares a reason without facts; returns the function that makes its error. */
export function refusal(status: number, code: ErrorCode, reason: string, detail: string, remedy: string) {
  const make = (text = detail) => new ApiError(status, code, reason, text, {});
  return Object.assign(make, declare(make(), remedy, {}));
}

/** Declares a reason with facts, which become members of the problem document; returns the function that makes its error. */
export function refusalWith<S extends Shape>(
  status: number,
  code: ErrorCode,
  reason: string,
  { detail, remedy, facts, example }: Terms<S>,
) {
  const describe = (known: FactsOf<S>) => (typeof detail === "string" ? detail : detail(known));
  const make = (known: FactsOf<S>, text = describe(known)) => new ApiError(status, code, reason, text, { ...known });
  return Object.assign(make, declare(make(example), remedy, facts));
}
