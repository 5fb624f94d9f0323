import { randomToken, sha256 } from "./crypto.js";

/** What a service key may be for: reading banners, and telling where partners are. */
export const apiKeyScopes = ["ads:read", "geo:write"] as const;
export type ApiKeyScope = (typeof apiKeyScopes)[number];

/** So that people, and scanners for leaked secrets, see what it is. */
const prefix = "sfk_";

/** A new service key: 256 random bits. */
export const newApiKey = (): string => prefix + randomToken();

/** Whether a bearer credential looks like a service key; access tokens never do. */
export const isApiKey = (credential: string): boolean => credential.startsWith(prefix);

/** What Postgres knows of a service key. */
export const apiKeyDigest = sha256;
