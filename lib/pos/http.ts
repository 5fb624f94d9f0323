import type { Agent } from "undici";
import { config } from "../process/config.js";
import { inSpan, type Span } from "../process/traces.js";
import { networkCode } from "../outbound/network-error.js";
import { parseJson } from "../process/parse-json.js";
import { PosRefused, PosSilent, PosUnavailable } from "./adapter.js";
import { PrivateAddress, publicLookup, requirePublicHost } from "../outbound/public-address.js";
import { retryAfterSeconds } from "../outbound/retry-after.js";

const timeoutMs = 10_000;

/** The nomenclature of a big kitchen has ten thousand products of a kilobyte each, in one answer. */
const mostBytes = 32 * 1_048_576;

/** Longer waits that a POS asks for are cut to this. */
const mostRetryAfterSeconds = 3_600;

/** The POS does not accept the token, or no longer. */
export class TokenRefused extends PosRefused {
  override name = "TokenRefused";
}

export interface OutboundCall {
  method?: "GET" | "POST";
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: unknown;
  /** The response is not read, and the result is undefined: only its status counts. */
  unread?: boolean;
  signal: AbortSignal;
}

/** Whether an address that a client gave may be called: https (http where private addresses are allowed), without a password. */
export function isCallable(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  if (url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (config.ALLOW_PRIVATE_ADDRESSES && url.protocol === "http:");
}

type Lookup = typeof publicLookup;

/**
 * Returns a function that calls addresses that clients gave, in JSON: public addresses only, no redirects, no compressed
 * responses (a small one may hide a huge one), at most 10 seconds. Its errors contain no address, as that may carry a token,
 * and no header or body.
 */
export function outboundCaller(lookup: Lookup = publicLookup, limits = { timeoutMs, mostBytes }) {
  let agent: Agent | undefined;

  async function exchange(
    address: string,
    { method = "GET", headers, body, unread, signal }: OutboundCall,
    span: Span | undefined,
  ) {
    if (!isCallable(address)) throw new PosRefused("the address of the POS may not be called: it must be https");
    const url = new URL(address);
    requirePublicHost(url);
    // loaded by the first call: most processes call no POS
    const { Agent, request } = await import("undici");
    agent ??= new Agent({ connect: { lookup, timeout: limits.timeoutMs }, maxResponseSize: limits.mostBytes });
    const answer = await request(url, {
      dispatcher: agent,
      method,
      headers: {
        accept: "application/json",
        "accept-encoding": "identity",
        "user-agent": "surplus-food marketplace",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
    });
    span?.set({ "server.address": url.host, "http.response.status_code": answer.statusCode });
    const encoding = answer.headers["content-encoding"] ?? "identity";
    const succeeded = answer.statusCode >= 200 && answer.statusCode < 300;
    if (unread || !succeeded || encoding !== "identity") {
      // the rest of the response is not needed
      answer.body.on("error", () => undefined).destroy();
      if (unread && succeeded) return null;
      throw refusalOf(answer.statusCode, answer.headers["retry-after"]);
    }
    return await answer.body.text();
  }

  /** Calls an address and returns its JSON; throws TokenRefused, PosRefused, PosUnavailable, or the signal's reason. */
  return async (address: string, call: OutboundCall): Promise<unknown> => {
    const deadline = AbortSignal.timeout(limits.timeoutMs);
    const limited = { ...call, signal: AbortSignal.any([call.signal, deadline]) };
    const text = await inSpan("POS", { kind: "client" }, (span) => exchange(address, limited, span)).catch(
      (error: unknown) => {
        call.signal.throwIfAborted();
        if (error instanceof PosRefused || error instanceof PosUnavailable) throw error;
        if (error instanceof PrivateAddress) throw new PosRefused("the address of the POS is not a public one");
        throw new PosSilent(
          deadline.aborted ? "the POS takes too long to answer" : `the POS gives no answer (${networkCode(error)})`,
        );
      },
    );
    if (text === null) return undefined;
    const json = parseJson(text);
    if (json === undefined) throw new PosUnavailable("the POS does not answer with JSON");
    return json;
  };
}

function refusalOf(status: number, retryAfter: string | string[] | undefined): Error {
  if (status < 300) return new PosUnavailable("the POS sends a compressed answer, although the request refuses it");
  const message = `the POS answers ${status}`;
  if (status === 401) return new TokenRefused(message);
  if (status >= 500 || status === 408 || status === 425 || status === 429)
    return new PosUnavailable(message, retryAfterSeconds(retryAfter, new Date(), mostRetryAfterSeconds));
  return new PosRefused(status >= 300 && status < 400 ? `${message}: it redirects elsewhere` : message);
}

export const callOutbound = outboundCaller();
