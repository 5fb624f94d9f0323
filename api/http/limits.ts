import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request } from "express";
import { config } from "../../lib/process/config.js";
import type { ApiError } from "../../lib/process/errors.js";
import { clientNetwork, storedClient } from "./client-network.js";
import { amongChanges, amongLargeBodies, type Db } from "../../sql/db.js";
import { countAction } from "../../sql/queries/action-counts.js";
import { tooManyRequests } from "./refusals.js";
import { minuteMs, SharedCounters } from "./shared-counters.js";

const counters = new Map<string, SharedCounters>();
const failures = new SharedCounters({ windowMs: 60 * minuteMs, whenFull: "FORGET" });

/** Counts what has this name apart from everything else: a flood of addresses fills no counters of users. */
function countersOf(name: string): SharedCounters {
  const known = counters.get(name);
  if (known) return known;
  const created = new SharedCounters();
  counters.set(name, created);
  return created;
}

/** A limit of one endpoint, per client address, that replaces the general limits. */
export interface EndpointLimit {
  name: string;
  perMinute: number;
}

/**
 * Counts a request per user, or per client address when it has no valid token or the endpoint has its own limit, and
 * sets the RateLimit headers. Throws 429 RATE_LIMIT past the limit.
 */
export function limitRequests(
  request: Pick<Request, "ip">,
  response: ServerResponse,
  userId: string | null,
  own?: EndpointLimit,
): void {
  if (config.RATE_LIMIT_DISABLED) return;
  const key = own ? `${own.name} ${clientNetwork(request.ip ?? "")}` : callerKey(request, userId);
  const limit = own?.perMinute ?? (userId === null ? config.RATE_LIMIT_ADDRESS : config.RATE_LIMIT_USER);
  const counted = countersOf(own?.name ?? (userId === null ? "addresses" : "users"));
  const { totalHits, resetAt } = counted.increment(key);
  const remaining = Math.max(limit - totalHits, 0);
  const secondsLeft = Math.ceil((resetAt - Date.now()) / 1_000);
  response.setHeader("RateLimit-Policy", `${limit};w=${minuteMs / 1_000}`);
  response.setHeader("RateLimit", `limit=${limit}, remaining=${remaining}, reset=${secondsLeft}`);
  if (totalHits > limit) throw tooManyRequests({ retryAfterSeconds: secondsLeft });
}

/** Counts a costly action per user, apart from the request itself; throws 429 RATE_LIMIT past `perMinute` of that name. */
export function limitActions(name: string, userId: string, perMinute: number): void {
  if (config.RATE_LIMIT_DISABLED) return;
  const { totalHits, resetAt } = countersOf(name).increment(`${name} user ${userId}`);
  if (totalHits > perMinute) throw tooManyRequests({ retryAfterSeconds: Math.ceil((resetAt - Date.now()) / 1_000) });
}

/** Returns a limit that RATE_LIMIT_DISABLED lifts: null is none. */
export const unlessDisabled = (limit: number | null) => (config.RATE_LIMIT_DISABLED ? null : limit);

/**
 * Counts an action of a client address in the action's transaction, exactly; throws 429 RATE_LIMIT past `most` within
 * `minutes`.
 */
export async function limitAddress(tx: Db, action: string, ip: string, most: number | null, minutes: number) {
  const seconds = await countAction(tx, `${action} from ${storedClient(ip)}`, unlessDisabled(most), minutes);
  if (seconds !== undefined) throw tooManyRequests({ retryAfterSeconds: seconds });
}

/** Returns the key by which a caller's requests take turns: of a user, or of the address of a client without one. */
export const callerKey = (request: Pick<Request, "ip">, userId: string | null): string =>
  userId === null ? `address ${clientNetwork(request.ip ?? "")}` : `user ${userId}`;

/**
 * Runs a change of a caller when fewer than CHANGES_AT_ONCE of the same user, or of the same client address without one, are in
 * progress. Rejects when its turn does not come in time.
 */
export const limitChanges = <T>(caller: string, change: () => Promise<T>): Promise<T> =>
  config.RATE_LIMIT_DISABLED ? change() : amongChanges(caller, change);

/** A body up to this size may be read before its caller is known. */
export const SMALL_BODY_BYTES = 16_384;

/** Whether a request announces a body that is small; a compressed one may be a thousand times as large as it says. */
export const isSmall = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] === undefined &&
  headers["content-encoding"] === undefined &&
  Number(headers["content-length"] ?? 0) <= SMALL_BODY_BYTES;

/**
 * Reads and answers a request whose body is large, when fewer than LARGE_BODIES_AT_ONCE of the same caller are being answered.
 * The others wait unread: a caller's bodies never fill the memory. Rejects when its turn does not come in time.
 */
export const limitLargeBodies = amongLargeBodies;

/** How many attempts of one kind may fail in an hour, and the refusal of further ones. */
export interface FailureLimit {
  name: string;
  perUser: number;
  perAddress: number;
  refuse: (facts: { retryAfterSeconds: number }) => ApiError;
}

/**
 * Makes an attempt, such as to guess a code, unless too many of this user or this address have `failed` within the hour: then it
 * throws 429 RATE_LIMIT. An attempt counts as long as it runs, so that concurrent ones cannot exceed the limit.
 */
export async function limitFailures<Result>(
  { name, perUser, perAddress, refuse }: FailureLimit,
  { userId, ip }: { userId: string; ip: string },
  attempt: () => Promise<Result>,
  failed: (result: Result) => boolean,
): Promise<Result> {
  if (config.RATE_LIMIT_DISABLED) return attempt();
  const counted = [
    { key: `${name} user ${userId}`, limit: perUser },
    { key: `${name} address ${clientNetwork(ip)}`, limit: perAddress },
  ].map((each) => ({ ...each, ...failures.increment(each.key) }));
  let hasFailed = false;
  try {
    const exceeded = counted.find(({ totalHits, limit }) => totalHits > limit);
    if (exceeded) {
      throw refuse({ retryAfterSeconds: Math.ceil((exceeded.resetAt - Date.now()) / 1_000) });
    }
    const result = await attempt();
    hasFailed = failed(result);
    return result;
  } finally {
    if (!hasFailed) for (const { key, resetAt } of counted) failures.decrement(key, resetAt);
  }
}
