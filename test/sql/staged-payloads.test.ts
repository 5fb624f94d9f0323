import { expect, test } from "@jest/globals";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { events } from "../../queues/fan-out.js";
import { contracts } from "../../queues/index.js";

const UUID = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";

async function read(folder: string, ending: string): Promise<{ file: string; text: string }[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(ending)).sort();
  return Promise.all(
    names.map(async (name) => ({ file: join(folder, name), text: await readFile(join(folder, name), "utf8") })),
  );
}

const functions = await read("sql/functions", ".sql");
const code = (await Promise.all(["api", "sql", "workers"].map((folder) => read(folder, ".ts")))).flat();

/** The arguments of a call whose parenthesis opens before `start`. */
function argumentsAt(text: string, start: number): string[] {
  const found: string[] = [];
  let [argument, depth] = ["", 0];
  for (const [token] of text.slice(start).matchAll(/'[^']*'|[\s\S]/g)) {
    if (depth === 0 && ",)".includes(token)) {
      found.push(argument.trim());
      argument = "";
      if (token === ")") break;
    } else {
      argument += token;
      if ("([{".includes(token)) depth += 1;
      if (")]}".includes(token)) depth -= 1;
    }
  }
  return found;
}

const literal = (sql: string): string | undefined => /^'([^']*)'$/.exec(sql)?.[1];

/** The values that an expression in a payload may have; interpolated ones are checked by their type, ids are left open. */
function literalsOf(expression: string): string[] {
  if (/^\$\{.*\}::text$/.test(expression)) return [events[0]];
  return [...expression.matchAll(/(?:^|\bthen |\belse )'([^']*)'/g)].flatMap(([, value]) => value ?? []);
}

/** The payloads that a jsonb_build_object may produce, with `id` for everything that is not a literal. */
function payloadsOf(expression: string, id: string | number): Record<string, unknown>[] {
  const [built] = /^jsonb_build_object\(/.exec(expression) ?? [];
  if (built === undefined) return [];
  const parts = argumentsAt(expression, built.length);
  return parts.reduce<Record<string, unknown>[]>(
    (payloads, key, n) => {
      if (n % 2 === 1) return payloads;
      const literals = literalsOf(parts[n + 1] ?? "");
      const values = literals.length > 0 ? literals : [id];
      return payloads.flatMap((payload) => values.map((value) => ({ ...payload, [literal(key) ?? ""]: value })));
    },
    [{}],
  );
}

const calls = [...functions, ...code].flatMap(({ file, text }) =>
  [...text.matchAll(/(?<!function )\bstage_jobs?\(/g)].map((call) => {
    const [queue = "", payload = ""] = argumentsAt(text, call.index + call[0].length);
    // many jobs have an aggregate of their payloads
    const one = /^jsonb_agg\((.*)\)$/s.exec(payload)?.[1] ?? payload;
    return { file, queue: literal(queue), payload: one.replaceAll(/\s+/g, " ") };
  }),
);
/** The calls that do not pass on a contract's own payload. */
const written = calls.filter(({ file }) => file !== join("sql", "outbox.ts"));

test.each(written)("$file stages a payload that the contract of $queue accepts: $payload", ({ queue, payload }) => {
  const contract = contracts.find((known) => known.queue === queue);
  expect(contract).toBeDefined();
  const fits = (candidate: Record<string, unknown>) => {
    const parsed = contract!.payload.safeParse(candidate);
    return parsed.success && Object.keys(candidate).every((key) => key in parsed.data);
  };
  const [ofUuids, ofNumbers] = [payloadsOf(payload, UUID), payloadsOf(payload, 1)];
  expect(ofUuids).not.toEqual([]);
  expect(ofUuids.filter((candidate, n) => !fits(candidate) && !fits(ofNumbers[n]!))).toEqual([]);
});

test("the calls in SQL were found", () => {
  expect(written.length).toBeGreaterThanOrEqual(15);
});

test.each(events)("%s has a producer that names it", (event) => {
  const producers = [...functions, ...code].filter(({ file, text }) =>
    // in that file kinds of notifications have the same names
    file.endsWith("recipients.ts")
      ? text.includes(`event: "${event}"`)
      : [`"${event}"`, `'${event}'`].some((name) => text.includes(name)),
  );
  expect(producers).not.toEqual([]);
});

test("only the outbox's SQL functions name its table", () => {
  const naming = functions.filter(({ text }) => text.includes("staged_jobs")).map(({ file }) => file);
  expect(naming).toEqual([join("sql", "functions", "operators.sql"), join("sql", "functions", "outbox.sql")]);
});
