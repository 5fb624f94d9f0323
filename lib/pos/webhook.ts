import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { sha256 } from "../security/crypto.js";
import { parseDescribed } from "../process/input-errors.js";
import { parseJson, parseJsonBody } from "../process/parse-json.js";
import { MalformedWebhook, type WebhookCall } from "./adapter.js";

/** How much the clocks of sender and receiver may differ. */
export const toleranceMs = 5 * 60_000;

/** Returns a header's value; null when it is missing, empty or repeated. */
export function headerOf({ headers }: WebhookCall, name: string): string | null {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : null;
}

/** Parses the body as JSON; undefined when it is not. */
export const jsonOf = ({ body }: WebhookCall): unknown => parseJsonBody(body);

/** More bytes than the longest name of an account has, escaped. */
const MOST_BYTES_OF_NAME = 2_000;

/**
 * Returns the text of the first field with this name, at any depth; null without one. Does not parse the body: until it is
 * verified, anyone may have sent it. The events that are read after the verification name their accounts themselves.
 */
export function firstText({ body }: WebhookCall, field: string): string | null {
  const name = `"${field}"`;
  const at = body.indexOf(name);
  if (at < 0) return null;
  const after = body.subarray(at + name.length, at + name.length + MOST_BYTES_OF_NAME).toString();
  const [, value = ""] = /^\s*:\s*("(?:[^"\\]|\\.)*")/.exec(after) ?? [];
  const text = parseJson(value);
  return typeof text === "string" ? text : null;
}

/** Whether two texts are equal, in constant time whatever their lengths. */
export const sameText = (one: string, other: string): boolean => timingSafeEqual(sha256(one), sha256(other));

/** Whether a signature is the one that `sign` makes with one of the secrets. */
export const isSignedBy = (signature: string, secrets: readonly string[], sign: (secret: string) => string): boolean =>
  secrets.some((secret) => secret !== "" && sameText(signature, sign(secret)));

/** Converts a signature's Unix seconds to milliseconds; null when they are not plain digits. */
export const instantOf = (seconds: string): number | null =>
  /^\d{1,12}$/.test(seconds) ? Number(seconds) * 1_000 : null;

/** Parses the body of a verified call, as `jsonOf` returns it; throws MalformedWebhook, which names fields without values. */
export function readCall<T>(schema: z.ZodType<T>, sent: unknown): T {
  if (sent === undefined) throw new MalformedWebhook([{ path: "", message: "is not valid JSON" }]);
  const read = parseDescribed(schema, sent);
  if (read.success) return read.data;
  throw new MalformedWebhook(
    read.error.issues.map(({ path, message }) => ({ path: path.map(String).join("."), message })),
  );
}

const isValid = (text: string) => text.isWellFormed() && !text.includes("\u0000");
const mustBeValid = "must be valid text without NUL";

/** Text that Postgres can store: valid, and without NUL. */
export const textOf = (max: number) => z.string().min(1).max(max).refine(isValid, mustBeValid);

/** Optional text; null when it is missing or blank. */
export const optionalTextOf = (max: number) =>
  z
    .string()
    .max(max)
    .refine(isValid, mustBeValid)
    .nullish()
    .transform((text) => text?.trim() || null);

/** The name of an account, an item or an event. */
export const Name = textOf(200);
