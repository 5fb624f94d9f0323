import cors from "cors";
import type { Request } from "express";
import ipaddr from "ipaddr.js";
import { config } from "../../lib/process/config.js";
import { PRIVATE_ORIGINS } from "../../lib/process/origins.js";
import { responseHeaders } from "./response-headers.js";

/** Private in ipaddr.js's terms: of this machine, its network, or without one. */
const privateRanges: readonly string[] = ["loopback", "private", "linkLocal", "uniqueLocal"];

/** Whether an origin is on this machine or in a private network, by its address or by a name that only these have. */
export function isPrivateOrigin(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const host = new URL(origin).hostname.replace(/^\[|\]$/g, "");
  if (ipaddr.isValid(host)) return privateRanges.includes(ipaddr.process(host).range());
  return /^([a-z0-9-]+\.)*(localhost|local)$/i.test(host);
}

/** The origins that may read the answer to a request, of which `*` is any. */
function allowedOrigins({ path, headers: { origin } }: Request): string[] | string | false {
  // no browser calls a webhook
  if (/^\/api\/v1\/pos\/webhooks\//i.test(path)) return false;
  const listed = config.CORS_ORIGINS;
  if (listed.includes("*")) return "*";
  const isNear = origin !== undefined && listed.includes(PRIVATE_ORIGINS) && isPrivateOrigin(origin);
  return isNear ? [...listed, origin] : listed;
}

/** What a page may read; of these, X-Unknown-Fields is sent in development only. */
const exposedHeaders = [
  ...Object.keys(responseHeaders),
  ...(config.NODE_ENV === "development" ? ["X-Unknown-Fields"] : []),
];

/** Lets the origins of CORS_ORIGINS read answers; there is no cookie that they could make use of. */
export const allowOrigins = cors<Request>((request, decide) =>
  decide(null, {
    origin: allowedOrigins(request),
    exposedHeaders,
    maxAge: 600,
  }),
);
