import { z } from "zod";
import { ApiError, type FieldError } from "../lib/errors.js";
import type { PosAdapter, PosConnection } from "../lib/pos/adapter.js";
import { adapters, findAdapter } from "../lib/pos/index.js";

/** An adapter by its name, as callers send it. */
export const AdapterName = z
  .enum(adapters.map(({ name }) => name))
  .meta({ description: "one of `GET /pos/adapters`", example: "generic" });

export const CredentialsJson = z.string().min(1).max(20_000).meta({
  description: "a JSON document as the adapter's `credentialsSchema` has it",
  example: '{"accountId":"corner-bakery","baseUrl":"https://pos.example.com/api","token":"…"}',
});

const refused = (errors: readonly FieldError[]) =>
  new ApiError(
    400,
    "INVALID_CREDENTIALS",
    errors
      .map(({ path, message }) => `${path}: ${message}`)
      .join("; ")
      .slice(0, 1_000),
    { errors: errors.slice(0, 100) },
  );

/** What is wrong with a field, in words that hold nothing of what was sent. */
function complaint({ code, message }: z.core.$ZodIssue): string {
  return code === "unrecognized_keys" ? "has fields that the adapter does not know" : message;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refused([{ path: "credentialsJson", message: "is not valid JSON" }]);
  }
}

/** Credentials that an adapter takes, and the connection that they make. */
export interface Credentials {
  adapter: PosAdapter;
  connection: PosConnection;
  /** As they are to be kept. */
  json: string;
}

/** Reads credentials; throws 400 INVALID_CREDENTIALS that names the wrong fields and none of their values. */
export function readCredentials(adapterName: string, credentialsJson: string): Credentials {
  const adapter = findAdapter(adapterName);
  if (!adapter) throw new Error("an adapter that the schema takes is not there");
  const sent = parseJson(credentialsJson);
  const parsed = adapter.credentials.safeParse(sent);
  if (!parsed.success) {
    throw refused(
      parsed.error.issues.map((issue) => ({
        path: ["credentialsJson", ...issue.path.map(String)].join("."),
        message: complaint(issue),
      })),
    );
  }
  return { adapter, connection: adapter.connect(sent), json: JSON.stringify(sent) };
}
