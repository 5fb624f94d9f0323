import { z } from "zod";
import type { Payload } from "../../queues/contract.js";

const words = new Map<string, Payload[string]>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

function valueOf(text: string): Payload[string] {
  const word = words.get(text);
  if (word !== undefined) return word;
  return /^-?(0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text;
}

/** A field of a job's payload, as `name=value`. Numbers, `true`, `false` and `null` are parsed; other values are text. */
export const Argument = z
  .string()
  .trim()
  .max(200)
  .regex(/^\w{1,64}=./, "must be name=value, such as partnerId=01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f")
  .refine((text) => !text.includes("\u0000") && text.isWellFormed(), "must be valid text without NUL characters")
  .transform((text): Payload => {
    const [name = ""] = text.split("=", 1);
    return { [name]: valueOf(text.slice(name.length + 1)) };
  });

/** Formats an argument as an operator enters it. */
export const argumentText = (argument: Payload): string =>
  Object.entries(argument)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
