import type { Request, Response } from "express";
import { log, type Logger } from "../../lib/process/log.js";
import { withTrace } from "../../lib/process/traces.js";
import { hasReplicas, lookups, recentLookupsOf, searchesOf, type Db } from "../../sql/db.js";
import type { Credential, Partner, User } from "./auth.js";
import { clientNetwork } from "./client-network.js";
import { callerKey } from "./limits.js";

/**
 * A request on its way through an endpoint, which handlers get as their `Input`. What few of them ask for is made when it is asked
 * for.
 */
export class Call {
  credential: Credential | null = null;
  partner: Partner | null = null;
  params: unknown = undefined;
  query: unknown = undefined;
  headers: unknown = undefined;
  body: unknown = undefined;
  readonly requestId: string;
  /** Who sends a token may have written what is read. */
  readonly isAnonymous: boolean;
  /** Ends its place among the requests of its endpoint that are followed (overload.ts). */
  leave = (): void => undefined;
  #ip: string | undefined;

  constructor(
    readonly incoming: Request,
    private readonly response: Response,
  ) {
    this.requestId = withTrace(this.#id);
    this.isAnonymous = incoming.headers.authorization === undefined;
  }

  get #id(): string {
    return String(this.response.getHeader("x-request-id"));
  }

  get user(): User | null {
    return this.credential?.user ?? null;
  }

  get sessionId(): string | null {
    return this.credential?.sessionId ?? null;
  }

  get apiKeyId(): string | null {
    return this.credential?.apiKeyId ?? null;
  }

  get expiresAt(): number | null {
    return this.credential?.expiresAt ?? null;
  }

  get address(): string {
    return this.incoming.originalUrl;
  }

  get ip(): string {
    return (this.#ip ??= this.incoming.ip ?? "");
  }

  /** The key by which its caller's requests take turns. */
  get caller(): string {
    return callerKey(this, this.user?.id ?? null);
  }

  get reads(): Db {
    return this.isAnonymous && hasReplicas ? recentLookupsOf(clientNetwork(this.ip)) : lookups;
  }

  get searches(): (rows: number) => Db {
    return (rows) => {
      // from here on it waits for its client's turn
      this.leave();
      return searchesOf(clientNetwork(this.ip), rows, this.isAnonymous);
    };
  }

  get gone(): AbortSignal {
    const gone = new AbortController();
    this.response.once("close", () => gone.abort());
    return gone.signal;
  }

  get log(): Logger {
    return log.child({ requestId: this.#id });
  }
}
