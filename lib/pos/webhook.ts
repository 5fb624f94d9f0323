import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { sha256 } from "../crypto.js";
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

/** Reads the body of a verified call; throws MalformedWebhook, which names fields and no values. */
export function readCall<T>(schema: z.ZodType<T>, sent: unknown): T {
  const read = schema.safeParse(sent);
  if (read.success) return read.data;
  const fields = read.error.issues.map(({ path }) => path.filter((step) => typeof step === "string").join("."));
  throw new MalformedWebhook(
    `the event is not as documented: ${[...new Set(fields)].slice(0, 5).join(", ") || "body"}`,
  );
}

/** Text that can be kept: valid, and without a NUL. */
export const textOf = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((value) => value.isWellFormed() && !value.includes("\u0000"), "must be valid text without NUL");

/** The name of an account, a thing or an event. */
export const Name = textOf(200);
