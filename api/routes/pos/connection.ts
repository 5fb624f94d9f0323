import { z } from "zod";
import { ApiError, type FieldError } from "../../../lib/process/errors.js";
import { describeIssue } from "../../../lib/process/input-errors.js";
import type { PosAdapter, PosConnection } from "../../../lib/pos/adapter.js";
import { adapters, findAdapter } from "../../../lib/pos/index.js";
import type { Partner } from "../../http/auth.js";
import { wrongFields } from "../../http/errors.js";

/** An adapter by its name, as callers send it. */
export const AdapterName = z
  .enum(adapters.map(({ name }) => name))
  .meta({ description: "one of `GET /pos/adapters`", example: "generic" });

export const CredentialsJson = z.string().min(1).max(20_000).meta({
  description: "a JSON document as the adapter's `credentialsSchema` has it, as text",
  example: '{"accountId":"corner-bakery","baseUrl":"https://pos.example.com/api","token":"…"}',
});

/**
 * Throws 403 for a partner whose POS is not called: one that is suspended or rejected. One that waits for review may have its
 * menu ready by then; an admin, who acts for no partner, may anyway.
 */
export function requireStanding(partner: Partner | null): void {
  if (partner?.status === "SUSPENDED" || partner?.status === "REJECTED")
    throw new ApiError(403, "FORBIDDEN", `The POS is not called for a partner that is ${partner.status}.`);
}

const refused = (errors: readonly FieldError[]) => wrongFields("INVALID_CREDENTIALS", errors);

/** A name that may be shown: a secret that was put in its place by mistake hardly looks so. */
const plainName = /^[A-Za-z_]{1,40}$/;

/** What is wrong with which fields, in words that hold nothing of what was sent. */
function complaints(issue: z.core.$ZodIssue): readonly FieldError[] {
  const path = ["credentialsJson", ...issue.path.map(String)].join(".");
  if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
  const known = issue.keys.filter((key) => plainName.test(key)).slice(0, 20);
  const named = known.map((key) => ({ path: `${path}.${key}`, message: "is not a field that the adapter knows" }));
  return named.length === issue.keys.length
    ? named
    : [...named, { path, message: "has fields that the adapter does not know" }];
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
  const parsed = adapter.credentials.safeParse(sent, { error: describeIssue });
  if (!parsed.success) throw refused(parsed.error.issues.flatMap(complaints));
  return { adapter, connection: adapter.connect(sent), json: JSON.stringify(sent) };
}
