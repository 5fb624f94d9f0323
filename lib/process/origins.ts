/** The word in CORS_ORIGINS for origins on this machine and in private networks. */
export const PRIVATE_ORIGINS = "private";

/** Returns why no browser sends this as an origin; null when one may. */
export function originFault(entry: string): string | null {
  if (entry === "*" || entry === PRIVATE_ORIGINS) return null;
  if (!entry.includes("://")) return "has no scheme; an origin is such as https://app.example.com";
  if (!URL.canParse(entry)) return "is no origin; one is such as https://app.example.com";
  const { protocol, host } = new URL(entry);
  // apps in a shell have schemes of their own, such as capacitor://localhost
  const sent = `${protocol}//${host}`;
  if (host === "") return "has no host; an origin is such as https://app.example.com";
  if (host.includes("*")) return "can never match; `*` stands alone, for all origins";
  return entry === sent ? null : `can never match; browsers send ${sent}`;
}
