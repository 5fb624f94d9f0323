import postgres from "postgres";
import { asDatabaseError } from "./errors.js";
import { arrayLiteral } from "./types.js";

export type Rows = readonly (object | undefined)[];
type Parameter = postgres.SerializableParameter;

export type Statement = [template: TemplateStringsArray, parameters: readonly Parameter[]];

/** Runs one statement. */
export type Run = <T extends Rows>(...statement: Statement) => Promise<postgres.RowList<T>>;

/**
 * The first parameter of every query function: `sql` for a single statement, or the handle of a `transaction`. As a template
 * tag it sends one statement at once. An array is one parameter, which the statement casts.
 */
export interface Db {
  <T extends Rows = postgres.Row[]>(
    template: TemplateStringsArray,
    ...parameters: readonly Parameter[]
  ): Promise<postgres.RowList<T>>;
  /** A parameter of type jsonb. */
  json(value: postgres.JSONValue): postgres.Parameter;
}

/** Only makes parameters; it never connects. */
const maker = postgres({ max: 1 });

function asParameter(value: Parameter | undefined): Parameter {
  if (value === undefined) throw new TypeError("a parameter of a statement is undefined");
  return Array.isArray(value) ? arrayLiteral(value) : value;
}

/** Makes a tag that sends its statements through `run`. */
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
