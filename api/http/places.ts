/** Places of a process, such as for open streams: each key has some at a time. */
export class Places {
  readonly #taken = new Map<string, number>();

  /** Takes one of the `most` places of a key; null when it has none left. The returned function gives it back; call it once. */
  take(key: string, most: number): (() => void) | null {
    const own = this.#taken.get(key) ?? 0;
    if (own >= most) return null;
    this.#taken.set(key, own + 1);
    return () => {
      const left = (this.#taken.get(key) ?? 1) - 1;
      if (left > 0) this.#taken.set(key, left);
      else this.#taken.delete(key);
    };
  }
}
