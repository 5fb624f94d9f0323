import type { Request } from "express";
import { ApiError } from "../lib/errors.js";
import { verifyAccessToken } from "../lib/tokens.js";
import { sql } from "../sql/db.js";
import type { PartnerStatus } from "../lib/partner-moves.js";
import { findPrincipal } from "../sql/queries/users.js";

/**
 * Who may call an endpoint. ANYONE: no credential is looked at. OPTIONAL_USER: a credential that is sent must be valid.
 * PARTNER: owner or staff, whatever the partner's status. ACTIVE_PARTNER: only while the partner is ACTIVE.
 */
export type Auth = "ANYONE" | "OPTIONAL_USER" | "USER" | "PARTNER" | "ACTIVE_PARTNER" | "ADMIN";

export interface User {
  id: string;
}

export interface Partner {
  id: string;
  status: PartnerStatus;
}

/** What a handler knows of its caller, by the endpoint's `auth`. */
export interface Caller<A extends Auth> {
  user: A extends "ANYONE" ? null : A extends "OPTIONAL_USER" ? User | null : User;
  partner: A extends "PARTNER" | "ACTIVE_PARTNER" ? Partner : null;
}

const unauthorized = (detail: string) => new ApiError(401, "UNAUTHORIZED", detail);
const forbidden = (detail: string) => new ApiError(403, "FORBIDDEN", detail);

/** Reads the caller's access token; null without one, or where none is looked at. Throws 401 for one that is not valid. */
export async function identify(request: Request, auth: Auth): Promise<User | null> {
  const header = request.headers.authorization;
  if (auth === "ANYONE" || header === undefined) return null;
  const [, token] = /^Bearer ([\w\-.~+/]+=*)$/i.exec(header) ?? [];
  const claims = token === undefined ? null : await verifyAccessToken(token);
  if (claims === null) throw unauthorized("The access token is malformed, expired or unknown.");
  return { id: claims.userId };
}

/** Finds out whether the caller may, and for which partner; roles are read from Postgres, so that a change counts at once. */
export async function authorize(user: User | null, auth: Auth): Promise<Partner | null> {
  if (auth === "ANYONE" || auth === "OPTIONAL_USER") return null;
  if (user === null) throw unauthorized("This endpoint needs a bearer access token.");
  if (auth === "USER") return null;

  const principal = await findPrincipal(sql, user.id);
  if (principal === null) throw unauthorized("This account no longer exists.");
  if (auth === "ADMIN") {
    if (!principal.isAdmin) throw forbidden("This endpoint is for admins.");
    return null;
  }
  if (principal.partnerId === null || principal.partnerStatus === null)
    throw forbidden("This endpoint is for partners.");
  if (auth === "ACTIVE_PARTNER" && principal.partnerStatus !== "ACTIVE") {
    throw forbidden(`This endpoint is for active partners; yours is ${principal.partnerStatus}.`);
  }
  return { id: principal.partnerId, status: principal.partnerStatus };
}
