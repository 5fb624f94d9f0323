/** Waits; rejects with the signal's reason when it is aborted. */
export function pause(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** How long requests are repeated that met a broken connection or an API that cannot answer for the moment. */
export interface Patience {
  /** How often a request is sent at most. */
  attempts: number;
  /** The longest `Retry-After` that is waited for; after a longer one the app gets the answer. */
  mostSeconds: number;
}

/** Whether sending a request twice does no more than sending it once. */
export const isRepeatable: typeof isAlwaysRepeatable = (init) =>
  ["GET", "HEAD", "PUT", "DELETE"].includes(init?.method ?? "GET") || new Headers(init?.headers).has("idempotency-key");

/** For requests that the API recognises when they are repeated. */
export const isAlwaysRepeatable = (_init: RequestInit | undefined): boolean => true;

/** Returns the seconds that an answer asks to wait, as seconds or as a date; null when it does not. */
function retryAfter({ headers }: Response): number | null {
  const sent = headers.get("retry-after");
  if (sent === null) return null;
  const seconds = /^\d+$/.test(sent) ? Number(sent) : (Date.parse(sent) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? null : Math.max(seconds, 0);
}

/**
 * Returns `fetch` with patience. A request that met 429 was not carried out, so it is sent again; after 502, 503, 504 or a broken
 * connection that is not known, so only a repeatable request is.
 */
export function repeating(
  send: typeof fetch,
  { attempts, mostSeconds }: Patience,
  repeatable = isRepeatable,
): typeof fetch {
  return async (address, init) => {
    const isSafe = repeatable(init);
    for (let attempt = 1; ; attempt += 1) {
      const isLast = attempt >= attempts;
      const answer = await send(address, init).catch((error: unknown) => {
        if (isLast || !isSafe || init?.signal?.aborted) throw error;
        return null;
      });
      const isBusy = answer === null || answer.status === 429 || (isSafe && [502, 503, 504].includes(answer.status));
      if (answer !== null && (isLast || !isBusy)) return answer;
      // apps that lost the API together must not come back together
      const seconds = (answer && retryAfter(answer)) ?? 0.25 * 2 ** attempt * (0.5 + Math.random() / 2);
      if (answer !== null && seconds > mostSeconds) return answer;
      await answer?.body?.cancel();
      await pause(seconds * 1_000, init?.signal);
    }
  };
}
