import postgres from "postgres";
import type { Statement } from "./connection.js";
import { asDatabaseError } from "./errors.js";
import { arrayLiteral } from "./types.js";

/** A client that writes statements and never connects: each statement is given to a connection to carry it out. */
const writer = postgres({ max: 1 });

export type Parameter = postgres.SerializableParameter | postgres.Fragment;

/**
 * What every query function takes first: `sql` for a statement of its own, or the handle that `transaction` gives.
 * As a tag it takes one whole statement; an array is a parameter as any other value, to be cast where it is used.
 */
export interface Db {
  <T extends readonly (object | undefined)[] = postgres.Row[]>(
    template: TemplateStringsArray,
    ...parameters: readonly Parameter[]
  ): postgres.PendingQuery<T>;
  /** A parameter of type jsonb. */
  json(value: postgres.JSONValue): postgres.Parameter;
}

/** Where each statement stands in the code: the one thing a log needs of it. */
const origins = new WeakMap<object, string>();

function originOf(template: object): string {
  const known = origins.get(template);
  if (known !== undefined) return known;
  const origin = (new Error().stack ?? "").split("\n").slice(3, 6).join("\n");
  origins.set(template, origin);
  return origin;
}

const isTemplate = (value: unknown): value is TemplateStringsArray => Array.isArray(value) && "raw" in value;

function asParameter(value: Parameter | undefined): Parameter {
  if (value === undefined) throw new TypeError("a parameter of a statement is undefined");
  return Array.isArray(value) ? arrayLiteral(value) : value;
}

/** Makes the tag whose statements are carried out by `run`, when they are awaited. */
export function tag(run: (statement: Statement) => void): Db {
  return new Proxy(writer, {
    apply(write, _self, [template, ...values]: [unknown, ...(Parameter | undefined)[]]) {
      if (!isTemplate(template)) throw new TypeError("a statement is written as a tagged template");
      const statement = write(template, ...values.map(asParameter));
      const origin = originOf(template);
      // postgres.js would have the writing client carry it out
      Reflect.set(statement, "handler", (started: Statement) => {
        const { reject } = started;
        started.reject = (error) => reject(asDatabaseError(error, origin));
        run(started);
      });
      return statement;
    },
  });
}
