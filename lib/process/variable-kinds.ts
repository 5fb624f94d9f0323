import { validateHeaderName, validateHeaderValue } from "node:http";
import { z } from "zod";
import { adapterNames } from "../domain/adapter-names.js";
import { queueNames } from "../domain/queue-names.js";
import { isTimeZone } from "../domain/time-zones.js";
import { originFault } from "./origins.js";
import { parseJson } from "./parse-json.js";
import { readDatabaseUrl, UnusableAddress } from "./server-address.js";

/** A share from 0 to 1, written as a decimal; 1 without a value. */
export const ratio = z
  .string()
  .regex(/^(0(\.\d{1,9})?|1(\.0{1,9})?)$/, "must be a number from 0 to 1")
  .default("1")
  .transform(Number);

/** `1`, `true` and the like; off without a value. */
export const flag = z.stringbool().default(false);

/** Entries with commas between them; none without a value. */
export const list = z
  .string()
  .default("")
  .transform((value) =>
    value
      .split(",")
      .map((entry) => entry.trim())
      .filter(Boolean),
  );

/** A whole number from `min` to `max`; `fallback` without a value. */
export const count = (fallback: number, min = 1, max = 1_000_000) => {
  const error = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,13}$/, error)
    .default(String(fallback))
    .transform(Number)
    .refine((value) => value >= min && value <= max, error);
};

/** One of these words. */
export const oneOf = <const T extends readonly [string, ...string[]]>(...names: T) =>
  z.enum(names, { error: `must be one of ${names.join(", ")}` });

/** A URL with this protocol. The error for any other value names `example`. */
export const url = (protocol: RegExp, example: string) =>
  z.url({
    protocol,
    error: ({ input }) => `${input === undefined ? "is missing; it" : ""} must be an address such as ${example}`.trim(),
  });

/** Returns why `read` cannot use an address; null when it can. */
function flawOf(read: (text: string) => unknown, text: string): string | null {
  try {
    read(text);
    return null;
  } catch (error) {
    if (!(error instanceof UnusableAddress)) throw error;
    return error.message;
  }
}

/** Refuses an address that `read` cannot use. */
export const usable = (read: (text: string) => unknown) => (text: string, context: z.RefinementCtx) => {
  const message = flawOf(read, text);
  if (message !== null) context.addIssue({ code: "custom", message });
};

/** Refuses a list with an entry that is no address of Postgres, or one that cannot be used. */
export const eachUsable = (entries: readonly string[], context: z.RefinementCtx): void => {
  const flaws = entries.flatMap((entry, place) => {
    const isAddress = /^postgres(ql)?:/.test(entry) && URL.canParse(entry);
    const flaw = isAddress
      ? flawOf(readDatabaseUrl, entry)
      : "must be an address such as postgres://user:password@host:5432/name";
    return flaw === null ? [] : [`entry ${place + 1} ${flaw}`];
  });
  if (flaws.length > 0) context.addIssue({ code: "custom", message: flaws.join(", ") });
};

/** The URL of a POS vendor, without slashes at its end; `address` is the default. */
export const posUrl = (address: string) =>
  url(/^https?$/, address)
    .default(address)
    .transform((value) => value.replace(/\/+$/, ""));

/** Refuses entries under unknown names: misspelt, they would have no effect. */
export const known =
  (names: readonly string[], what: string) =>
  (entries: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void => {
    const unknown = Object.keys(entries).filter((name) => !names.includes(name));
    if (unknown.length === 0) return;
    const message = `names ${unknown.map((name) => JSON.stringify(name)).join(", ")}; the ${what} are ${names.join(", ")}`;
    context.addIssue({ code: "custom", message });
  };

/** Counts by the name of a queue, each from 1 to 9999. */
export const perQueue = z
  .string()
  .default("")
  .refine((value) => /^([a-z-]+=[1-9]\d{0,3}(,(?=.)|$))*$/.test(value), "must be a list such as push=20,sms=5")
  .transform((value): Readonly<Record<string, number>> => {
    const pairs = value.split(",").filter(Boolean);
    return Object.fromEntries(
      pairs.map((pair) => pair.split("=")).map(([queue = "", count]) => [queue, Number(count)]),
    );
  })
  .superRefine(known(queueNames, "queues"));

/** A required text. The error for a missing one ends with `hint`, which says how to get it. */
export const secret = (hint: string) => z.string({ error: `is missing; ${hint}` }).min(1, `is empty; ${hint}`);

/** Parses a variable; `parse` returns null for a wrong shape. */
export const shaped =
  <T>(parse: (value: string) => T | null, shape: string) =>
  (value: string, context: z.RefinementCtx): T => {
    const result = parse(value);
    if (result !== null) return result;
    context.addIssue({ code: "custom", message: `must be ${shape}` });
    return z.NEVER;
  };

/** Throws when these cannot be headers. `Headers` would load Node's HTTP client, of 5 MB, into processes that do not call with it. */
function checkHeaders(headers: Record<string, string>): void {
  for (const [name, text] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, text);
  }
}

/** Parses a JSON object of names and values; null when these cannot be headers. */
export function parseHeaders(value: string): Record<string, string> | null {
  try {
    const headers = z.record(z.string(), z.string()).parse(JSON.parse(value));
    checkHeaders(headers);
    return headers;
  } catch {
    return null;
  }
}

/** Parses headers in the form of W3C's baggage; null when these cannot be headers. */
export function parsePairs(value: string): Record<string, string> | null {
  try {
    const pairs = value.split(",").filter((pair) => pair.trim() !== "");
    const headers = Object.fromEntries(
      pairs.map((pair) => {
        const [, name = "", text = ""] = /^([^=]*)=(.*)$/.exec(pair) ?? [];
        return [name.trim(), decodeURIComponent(text.trim())];
      }),
    );
    checkHeaders(headers);
    return headers;
  } catch {
    return null;
  }
}

const LEAST_SECRET = 8;
const Secrets = z.record(z.string().min(1), z.array(z.string()).min(1)).readonly();

/** Parses a JSON object of lists of texts; null for another shape. */
export const parseSecrets = (value: string) => Secrets.safeParse(parseJson(value)).data ?? null;

/** Names the adapters that have a secret which is too short, never the secret. */
export const longEnough = (secrets: z.output<typeof Secrets>, context: z.RefinementCtx) => {
  const short = adapterNames.filter((name) => secrets[name]?.some(({ length }) => length < LEAST_SECRET));
  if (short.length === 0) return;
  context.addIssue({
    code: "custom",
    message: `has a secret of less than ${LEAST_SECRET} characters for ${short.join(", ")}`,
  });
};

/** Refuses origins that no browser sends. */
export const matchable = (origins: readonly string[], context: z.RefinementCtx) => {
  const faults = origins.flatMap((origin, place) => {
    const fault = originFault(origin);
    return fault === null ? [] : [`entry ${place + 1} ${fault}`];
  });
  if (faults.length > 0) context.addIssue({ code: "custom", message: faults.join(", ") });
};

/** The name of a time zone. */
export const zone = z.string().refine(isTimeZone, "must be an IANA time zone such as Europe/Moscow");
