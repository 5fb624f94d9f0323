import postgres from "postgres";
import { asDatabaseError } from "./errors.js";
import { arrayLiteral } from "./types.js";

export type Rows = readonly (object | undefined)[];
type Parameter = postgres.SerializableParameter;

export type Statement = [template: TemplateStringsArray, parameters: readonly Parameter[]];

/** Carries out one statement. */
export type Run = <T extends Rows>(...statement: Statement) => Promise<postgres.RowList<T>>;

/**
 * What every query function takes first: `sql` for a statement of its own, or the handle that `transaction` gives.
 * As a tag it sends one whole statement, at once; an array is a parameter as any other value, to be cast where it is used.
 */
export interface Db {
  <T extends Rows = postgres.Row[]>(
    template: TemplateStringsArray,
    ...parameters: readonly Parameter[]
  ): Promise<postgres.RowList<T>>;
  /** A parameter of type jsonb. */
  json(value: postgres.JSONValue): postgres.Parameter;
}

/** Makes parameters, and never connects. */
const maker = postgres({ max: 1 });

function asParameter(value: Parameter | undefined): Parameter {
  if (value === undefined) throw new TypeError("a parameter of a statement is undefined");
  return Array.isArray(value) ? arrayLiteral(value) : value;
}

/** Makes the tag whose statements are carried out by `run`. */
export function tag(run: Run): Db {
  async function db<T extends Rows>(template: TemplateStringsArray, ...parameters: readonly Parameter[]) {
    try {
      return await run<T>(template, parameters.map(asParameter));
    } catch (error) {
      throw asDatabaseError(error);
    }
  }
  return Object.assign(db, { json: (value: postgres.JSONValue) => maker.json(value) });
}
