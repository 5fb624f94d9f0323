import { z } from "zod";
import type { FieldError } from "../../../lib/process/errors.js";
import { parseDescribed } from "../../../lib/process/input-errors.js";
import type { PosAdapter, PosConnection } from "../../../lib/pos/adapter.js";
import { adapters, findAdapter } from "../../../lib/pos/index.js";
import type { Partner } from "../../http/auth.js";
import { refusalWith } from "../../http/refusal.js";
import { firstErrors, invalidTerms } from "../../http/refusals.js";

/** The name of an adapter. */
export const AdapterName = z
  .enum(adapters.map(({ name }) => name))
  .meta({ description: "one of `GET /pos/adapters`", example: "generic" });

export const CredentialsJson = z.string().min(1).max(20_000).meta({
  description: "a JSON document that matches the adapter's `credentialsSchema`, as text",
  example: '{"accountId":"corner-bakery","baseUrl":"https://pos.example.com/api","token":"…"}',
});

export const partnerBlocked = refusalWith(403, "FORBIDDEN", "PARTNER_BLOCKED", {
  detail: ({ partnerStatus }) => `The POS is not called for a partner that is ${partnerStatus}.`,
  remedy: "An admin may approve the partner again.",
  facts: { partnerStatus: z.enum(["SUSPENDED", "REJECTED"]) },
  example: { partnerStatus: "SUSPENDED" },
});

/**
 * Throws 403 for a suspended or rejected partner, whose POS is not called. A partner that waits for review may prepare its
 * menu; an admin, who acts for no partner, always passes.
 */
export function refuseBlockedPartner(partner: Partner | null): void {
  if (partner?.status === "SUSPENDED" || partner?.status === "REJECTED")
    throw partnerBlocked({ partnerStatus: partner.status });
}

export const invalidCredentials = refusalWith(400, "INVALID_CREDENTIALS", "INVALID_CREDENTIALS", {
  ...invalidTerms,
  remedy: "Mend the fields in `errors`, by the adapter's `credentialsSchema` in `GET /pos/adapters`.",
  example: { errors: [{ path: "credentialsJson.token", message: "is missing" }] },
});
const refused = (errors: readonly FieldError[]) => invalidCredentials({ errors: firstErrors(errors) });

/** A field name that may be repeated in an error; a secret sent as a name by mistake rarely looks like one. */
const plainName = /^[A-Za-z_]{1,40}$/;

/** Returns the issues of the alternative that was meant: the one with the fewest fields too many, then with the fewest faults. */
function meantOf(alternatives: readonly z.core.$ZodIssue[][]): readonly z.core.$ZodIssue[] {
  const faultsOf = (issues: readonly z.core.$ZodIssue[]) =>
    issues.length + 1_000 * issues.flatMap((issue) => (issue.code === "unrecognized_keys" ? issue.keys : [])).length;
  return alternatives.toSorted((a, b) => faultsOf(a) - faultsOf(b))[0] ?? [];
}

/** Returns the invalid fields of an issue, without any value that was sent. */
function fieldErrorsOf(issue: z.core.$ZodIssue): readonly FieldError[] {
  if (issue.code === "invalid_union") return meantOf(issue.errors).flatMap(fieldErrorsOf);
  const path = ["credentialsJson", ...issue.path.map(String)].join(".");
  if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
  const known = issue.keys.filter((key) => plainName.test(key)).slice(0, 20);
  const named = known.map((key) => ({ path: `${path}.${key}`, message: "is not a field of these credentials" }));
  return named.length === issue.keys.length
    ? named
    : [...named, { path, message: "has fields that these credentials do not have" }];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refused([{ path: "credentialsJson", message: "is not valid JSON" }]);
  }
}

/** Credentials that an adapter accepts, and a connection with them. */
export interface Credentials {
  adapter: PosAdapter;
  connection: PosConnection;
  /** The credentials as they are stored. */
  json: string;
}

/** Parses credentials; throws 400 INVALID_CREDENTIALS with the names of invalid fields and none of their values. */
export function readCredentials(adapterName: string, credentialsJson: string): Credentials {
  const adapter = findAdapter(adapterName);
  if (!adapter) throw new Error("the schema accepts an adapter that does not exist");
  const sent = parseJson(credentialsJson);
  const parsed = parseDescribed(adapter.credentials, sent);
  if (!parsed.success) throw refused(parsed.error.issues.flatMap(fieldErrorsOf));
  return { adapter, connection: adapter.connect(sent), json: JSON.stringify(sent) };
}
