import type { RequestOpts } from "@oazapfts/runtime";
import { refusalOf } from "./answers.js";
import { refreshTokens, type Tokens } from "./operations.js";
import { isAlwaysRepeatable, repeating, type Patience } from "./repeating.js";

/** Where a device keeps the tokens of its user. */
export interface TokenStore {
  read: () => Tokens | null | Promise<Tokens | null>;
  /** Null when the session has ended: the user logs in again. */
  write: (tokens: Tokens | null) => void | Promise<void>;
  /** Runs work while no other tab or process that shares the store runs such work, as `navigator.locks` does. */
  alone?: <T>(work: () => Promise<T>) => Promise<T>;
}

export interface SessionOptions extends Partial<Patience> {
  /** The address of the API, without `/api/v1`. */
  baseUrl: string;
  /** In memory by default. */
  store?: TokenStore;
  fetch?: typeof fetch;
}

/** What every operation takes as its last argument: whom it is sent for, and how. */
export interface Session extends RequestOpts {
  baseUrl: string;
  fetch: typeof fetch;
  store: TokenStore;
  /** Sends a request without a token, such as a part of an upload to a storage. */
  fetchOpen: typeof fetch;
}

function inMemory(): TokenStore {
  let kept: Tokens | null = null;
  return { read: () => kept, write: (tokens) => void (kept = tokens) };
}

const withToken = (init: RequestInit | undefined, token: string): RequestInit => {
  const headers = new Headers(init?.headers);
  headers.set("authorization", `Bearer ${token}`);
  return { ...init, headers };
};

/**
 * Opens a session with an API, with or without a user. It sends the access token of its store, exchanges tokens once for all
 * requests that met an expired one, and repeats what may be repeated.
 */
export function openSession(options: SessionOptions): Session {
  const { store = inMemory(), attempts = 4, mostSeconds = 10 } = options;
  const baseUrl = options.baseUrl.replace(/\/+$/, "");
  const send: typeof fetch = options.fetch ?? ((address, init) => fetch(address, init));
  const fetchOpen = repeating(send, { attempts, mostSeconds });
  // the API answers a repeated exchange as the first time, for 10 seconds
  const exchange = { baseUrl, fetch: repeating(send, { attempts: 2, mostSeconds: 5 }, isAlwaysRepeatable) };
  const alone = store.alone ?? (<T>(work: () => Promise<T>) => work());
  let exchanging: Promise<Tokens | null> | undefined;

  /** Exchanges the tokens, unless another request, tab or process has replaced the refused one. */
  async function exchangeTokens(refused: string): Promise<Tokens | null> {
    const kept = await store.read();
    if (kept === null || kept.accessToken !== refused) return kept;
    const answer = await refreshTokens({ body: { refreshToken: kept.refreshToken } }, exchange);
    if (answer.status !== 200 && answer.status !== 401) throw refusalOf(answer);
    const tokens = answer.status === 200 ? answer.data : null;
    await store.write(tokens);
    return tokens;
  }

  const exchanged = (refused: string): Promise<Tokens | null> =>
    (exchanging ??= alone(() => exchangeTokens(refused)).finally(() => (exchanging = undefined)));

  return {
    baseUrl,
    store,
    fetchOpen,
    fetch: async (address, init) => {
      const isForUser = typeof address === "string" && /^\/api\/v1\/(?!auth\/)/.test(address.slice(baseUrl.length));
      const isOurs = isForUser && address.startsWith(baseUrl) && !new Headers(init?.headers).has("authorization");
      const tokens = isOurs ? await store.read() : null;
      if (tokens === null) return fetchOpen(address, init);
      const answer = await fetchOpen(address, withToken(init, tokens.accessToken));
      if (answer.status !== 401) return answer;
      const next = await exchanged(tokens.accessToken);
      if (next === null) return answer;
      await answer.body?.cancel();
      return fetchOpen(address, withToken(init, next.accessToken));
    },
  };
}
