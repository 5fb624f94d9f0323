import type { Request } from "express";
import { apiKeyDigest, isApiKey, type ApiKeyScope } from "../../lib/security/api-key.js";
import type { PartnerStatus } from "../../lib/domain/partner-moves.js";
import { verifyAccessToken } from "../../lib/security/tokens.js";
import { lookups } from "../../sql/db.js";
import { findApiKey } from "../../sql/queries/api-keys.js";
import { findPrincipal, hasAccount } from "../../sql/queries/users.js";
import {
  adminsOnly,
  keyScopeMissing,
  keyUnknown,
  operatorsOnly,
  partnerNotActive,
  partnersOnly,
  sessionEnded,
  tokenExpired,
  tokenInvalid,
  tokenMissing,
} from "./refusals.js";

/**
 * Who may call an endpoint. ANYONE: credentials are ignored. OPTIONAL_USER: a credential that is sent must be valid.
 * PARTNER: owner or staff, whatever the partner's status. ACTIVE_PARTNER: only while the partner is ACTIVE.
 * PARTNER_OR_ADMIN: as PARTNER, or an admin, who acts for no partner.
 * BANNER_READER: as OPTIONAL_USER, or a service key with the scope. LOCATION_WRITER: an admin, or such a service key.
 * OBSERVER: an admin, a user who may look at the operators' console, or such a service key.
 * EVENT_READER, WEBHOOK_WRITER: as PARTNER_OR_ADMIN, or such a service key.
 */
export type Auth =
  | "ANYONE"
  | "OPTIONAL_USER"
  | "USER"
  | "PARTNER"
  | "ACTIVE_PARTNER"
  | "ADMIN"
  | "PARTNER_OR_ADMIN"
  | "BANNER_READER"
  | "LOCATION_WRITER"
  | "OBSERVER"
  | "EVENT_READER"
  | "WEBHOOK_WRITER";

/** Whether anyone may call, without a credential. */
export const isOpen = (auth: Auth) => ["ANYONE", "OPTIONAL_USER", "BANNER_READER"].includes(auth);

/** The scope that a service key needs at endpoints that take one in place of a user's token. */
export const keyScopes: Partial<Record<Auth, ApiKeyScope>> = {
  BANNER_READER: "ads:read",
  LOCATION_WRITER: "geo:write",
  OBSERVER: "ops:read",
  EVENT_READER: "events:read",
  WEBHOOK_WRITER: "webhooks:write",
};

/** The endpoints that are for partners and for admins. */
type ForPartnersAndAdmins = "PARTNER_OR_ADMIN" | "EVENT_READER" | "WEBHOOK_WRITER";
const forPartnersAndAdmins: readonly Auth[] = [
  "PARTNER_OR_ADMIN",
  "EVENT_READER",
  "WEBHOOK_WRITER",
] satisfies ForPartnersAndAdmins[];

export interface User {
  id: string;
}

export interface Partner {
  id: string;
  status: PartnerStatus;
}

/** What a handler knows of its caller, by the endpoint's `auth`; a service key has no user. */
export interface Caller<A extends Auth> {
  user: A extends "ANYONE"
    ? null
    : A extends "OPTIONAL_USER" | "BANNER_READER" | "LOCATION_WRITER" | "OBSERVER" | "EVENT_READER" | "WEBHOOK_WRITER"
      ? User | null
      : User;
  partner: A extends "PARTNER" | "ACTIVE_PARTNER" ? Partner : A extends ForPartnersAndAdmins ? Partner | null : null;
}

/** A valid credential: the user and the session of an access token, or the id of a service key. */
export interface Credential {
  user: User | null;
  sessionId: string | null;
  apiKeyId: string | null;
  /** When the token expires, in milliseconds since 1970; null: never. */
  expiresAt: number | null;
}

/**
 * Reads the caller's credential; null without one, or where credentials are ignored. Throws 401 for an invalid one, and
 * 403 for a service key without the scope.
 */
export async function identify(request: Request, auth: Auth): Promise<Credential | null> {
  const header = request.headers.authorization;
  if (auth === "ANYONE" || header === undefined) return null;
  const [, token] = /^Bearer ([\w\-.~+/]+=*)$/i.exec(header) ?? [];
  const scope = keyScopes[auth];
  if (token !== undefined && isApiKey(token) && scope) {
    const key = await findApiKey(lookups, apiKeyDigest(token));
    if (!key) throw keyUnknown();
    if (!key.scopes.includes(scope)) throw keyScopeMissing({ scope });
    return { user: null, sessionId: null, apiKeyId: key.id, expiresAt: null };
  }
  const claims = token === undefined ? null : await verifyAccessToken(token);
  if (claims === "EXPIRED") throw tokenExpired();
  if (claims === null) throw tokenInvalid();
  return {
    user: { id: claims.userId },
    sessionId: claims.sessionId ?? null,
    apiKeyId: null,
    expiresAt: claims.expiresAt,
  };
}

/**
 * Checks that the caller may use the endpoint, and returns the partner they act for. Accounts, sessions and roles are read from
 * Postgres, so that a change counts at once, whatever the token says.
 */
export async function authorize(credential: Credential | null, auth: Auth): Promise<Partner | null> {
  if (auth === "ANYONE") return null;
  if (credential === null) {
    if (auth === "OPTIONAL_USER" || auth === "BANNER_READER") return null;
    throw tokenMissing();
  }
  if (credential.user === null) return null;
  if (auth === "USER" || auth === "OPTIONAL_USER" || auth === "BANNER_READER") {
    if (!(await hasAccount(lookups, credential.user.id, credential.sessionId))) throw sessionEnded();
    return null;
  }

  const principal = await findPrincipal(lookups, credential.user.id, credential.sessionId);
  if (principal === undefined) throw sessionEnded();
  if (auth === "ADMIN" || auth === "LOCATION_WRITER") {
    if (!principal.isAdmin) throw adminsOnly();
    return null;
  }
  if (auth === "OBSERVER") {
    if (!principal.isAdmin && !principal.isObserver) throw operatorsOnly();
    return null;
  }
  if (forPartnersAndAdmins.includes(auth) && principal.isAdmin) return null;
  if (principal.partnerId === null || principal.partnerStatus === null) throw partnersOnly();
  if (auth === "ACTIVE_PARTNER" && principal.partnerStatus !== "ACTIVE") {
    throw partnerNotActive({ partnerStatus: principal.partnerStatus });
  }
  return { id: principal.partnerId, status: principal.partnerStatus };
}
