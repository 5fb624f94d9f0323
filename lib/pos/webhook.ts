import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { sha256 } from "../security/crypto.js";
import { describeIssue } from "../process/input-errors.js";
import { MalformedWebhook, type WebhookCall } from "./adapter.js";

/** What sender's and receiver's clocks may differ by. */
export const toleranceMs = 5 * 60_000;

/** The one value of a header; null when it is missing, empty or sent several times. */
export function headerOf({ headers }: WebhookCall, name: string): string | null {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : null;
}

/** The body as JSON; undefined when it is none. */
export function jsonOf({ body }: WebhookCall): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return undefined;
  }
}

/** Whether two texts are the same, in a time that tells neither where they differ nor how long either is. */
export const sameText = (one: string, other: string): boolean => timingSafeEqual(sha256(one), sha256(other));

/** The seconds since 1970 that a signature names; null when they are written in any other way. */
export const instantOf = (seconds: string): number | null =>
  /^\d{1,12}$/.test(seconds) ? Number(seconds) * 1_000 : null;

/** Reads the body of a verified call, as `jsonOf` has it; throws MalformedWebhook, which names fields and no values. */
export function readCall<T>(schema: z.ZodType<T>, sent: unknown): T {
  if (sent === undefined) throw new MalformedWebhook([{ path: "", message: "is not valid JSON" }]);
  const read = schema.safeParse(sent, { error: describeIssue });
  if (read.success) return read.data;
  throw new MalformedWebhook(
    read.error.issues.map(({ path, message }) => ({ path: path.map(String).join("."), message })),
  );
}

const isValid = (text: string) => text.isWellFormed() && !text.includes("\u0000");
const mustBeValid = "must be valid text without NUL";

/** Text that can be kept: valid, and without a NUL. */
export const textOf = (max: number) => z.string().min(1).max(max).refine(isValid, mustBeValid);

/** Text that may be left out, as some systems do by leaving it blank; null then. */
export const optionalTextOf = (max: number) =>
  z
    .string()
    .max(max)
    .refine(isValid, mustBeValid)
    .nullish()
    .transform((text) => text?.trim() || null);

/** The name of an account, a thing or an event. */
export const Name = textOf(200);
