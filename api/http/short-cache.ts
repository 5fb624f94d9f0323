interface Entry<Value> {
  value: Promise<Value>;
  until: number;
}

/**
 * Keeps loaded values for `ms` milliseconds, for at most `maxKeys` keys. Callers that ask during a load share it. A failed
 * load rejects for all of them and is not kept.
 */
export class ShortCache<Value> {
  /** In the order of loading, which is also the order of expiry. */
  #entries = new Map<string, Entry<Value>>();

  constructor(
    private readonly ms: number,
    private readonly maxKeys: number,
  ) {}

  get(key: string, load: () => Promise<Value>): Promise<Value> {
    const now = performance.now();
    const kept = this.#entries.get(key);
    if (kept && kept.until > now) return kept.value;
    this.#entries.delete(key);
    for (const [oldest, { until }] of this.#entries) {
      if (until > now && this.#entries.size < this.maxKeys) break;
      this.#entries.delete(oldest);
    }
    const entry = { value: load(), until: now + this.ms };
    this.#entries.set(key, entry);
    entry.value.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return entry.value;
  }
}
