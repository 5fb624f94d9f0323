const wellFormed = /^[a-z0-9][a-z0-9.-]*(\/[a-z0-9][a-z0-9.-]*)*$/i;

/** Returns the key; throws when it could name a file outside the storage. */
export function checkedKey(key: string): string {
  if (!wellFormed.test(key) || key.includes("..")) throw new Error("the storage key is malformed");
  return key;
}
