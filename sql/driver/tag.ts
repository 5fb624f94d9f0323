import postgres from "postgres";
import { currentSpan, inSpan } from "../../lib/process/traces.js";
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

/** The names of statements, by their place in the source. */
const names = new WeakMap<TemplateStringsArray, string>();

/** Returns the name of the function that has a statement, such as `findOrder`, else of its file; `tag` is what that function called. */
function nameOf(template: TemplateStringsArray, tag: (...statement: never) => unknown): string {
  const known = names.get(template);
  if (known !== undefined) return known;
  const trace: { stack?: string } = {};
  Error.captureStackTrace(trace, tag);
  const [, line = ""] = (trace.stack ?? "").split("\n");
  const [, caller] = /^ +at (?:async )?(?:Object\.)?([\w$]+) \(/.exec(line) ?? [];
  const [, file = "statement"] = /([\w-]+)\.[jt]s:/.exec(line) ?? [];
  const [text = ""] = template;
  const name = /^(begin|commit|rollback)$/.test(text) ? text : (caller ?? file);
  names.set(template, name);
  return name;
}

/** Makes a tag that sends its statements through `run`. */
export function tag(run: Run): Db {
  async function db<T extends Rows>(template: TemplateStringsArray, ...parameters: readonly Parameter[]) {
    try {
      const values = parameters.map(asParameter);
      if (!currentSpan()?.sampled) return await run<T>(template, values);
      const attributes = { "db.system.name": "postgresql" };
      return await inSpan(nameOf(template, db), { kind: "client", attributes }, () => run<T>(template, values));
    } catch (error) {
      throw asDatabaseError(error);
    }
  }
  return Object.assign(db, { json: (value: postgres.JSONValue) => maker.json(value) });
}
