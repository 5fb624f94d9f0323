/** Memoizes `make` by key. Keys may come from clients, so all results are dropped once there are `most`. */
export function memoize<T>(make: (key: string) => T, most = 1_000): (key: string) => T {
  const made = new Map<string, T>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    if (made.size >= most) made.clear();
    const fresh = make(key);
    made.set(key, fresh);
    return fresh;
  };
}
