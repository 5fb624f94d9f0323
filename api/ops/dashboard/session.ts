import type { CookieOptions, Request, Response } from "express";
import { config } from "../../../lib/process/config.js";
import { randomToken, sha256 } from "../../../lib/security/crypto.js";
import { adminsOnly } from "../../http/refusals.js";
import { sql } from "../../../sql/db.js";
import { findSessionUser, revokeSession } from "../../../sql/queries/sessions.js";
import { findPrincipal } from "../../../sql/queries/users.js";
import { openSession, type Client } from "../../common/sign-in.js";

/** The dashboard's path. */
export const root = "/admin/queues";

const cookieName = "queues";
const minutes = 30;

const cookie: CookieOptions = {
  path: "/admin",
  httpOnly: true,
  sameSite: "strict",
  secure: config.PUBLIC_URL.startsWith("https:"),
};

function tokenOf(request: Request): string | null {
  const pairs = (request.headers.cookie ?? "").split(/; */);
  return pairs.find((pair) => pair.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1) ?? null;
}

/** Who is signed in on the dashboard. */
export interface Operator {
  id: string;
  /** Sees and does everything. */
  isAdmin: boolean;
  /** Sees the console. */
  mayLook: boolean;
}

async function operatorOf(id: string): Promise<Operator> {
  const { isAdmin = false, isObserver = false } = (await findPrincipal(sql, id)) ?? {};
  return { id, isAdmin, mayLook: isAdmin || isObserver };
}

/** Returns the user who is signed in on the dashboard, with their present roles; null without a session. */
export async function findOperator(request: Request): Promise<Operator | null> {
  const token = tokenOf(request);
  const id = token === null ? null : await findSessionUser(sql, sha256(token), minutes);
  return id === null ? null : operatorOf(id);
}

/** The dashboard keeps no token of an earlier login. */
export const clientOf = (request: Request): Client => ({ ip: request.ip ?? "", refreshToken: null });

/** Signs an operator in for half an hour. Throws 403 FORBIDDEN for other users. */
export async function signIn(request: Request, response: Response, phone: string, code: string): Promise<Operator> {
  const token = randomToken();
  const { userId } = await openSession(phone, code, clientOf(request), sha256(token), { forDashboard: true });
  const operator = await operatorOf(userId);
  if (!operator.mayLook) {
    await revokeSession(sql, sha256(token), true);
    throw adminsOnly("This account is not an admin's.");
  }
  response.cookie(cookieName, token, { ...cookie, maxAge: minutes * 60_000 });
  return operator;
}

/** Ends the session, for every copy of its cookie. */
export async function signOut(request: Request, response: Response): Promise<void> {
  const token = tokenOf(request);
  if (token !== null) await revokeSession(sql, sha256(token), true);
  response.clearCookie(cookieName, cookie);
}
