const wellFormed = /^[a-z0-9][a-z0-9.-]*(\/[a-z0-9][a-z0-9.-]*)*$/i;

/** The key as it was given; throws when it could lead elsewhere than to a file of ours. */
export function checkedKey(key: string): string {
  if (!wellFormed.test(key) || key.includes("..")) throw new Error("a key of storage has another form");
  return key;
}
