import { randomToken, sha256 } from "./crypto.js";

/**
 * What a service key may do: read banners, follow the log of events, set where partners are, look at what operators see, and have
 * events sent.
 */
export const apiKeyScopes = ["ads:read", "events:read", "geo:write", "ops:read", "webhooks:write"] as const;
export type ApiKeyScope = (typeof apiKeyScopes)[number];

/** By this, people and scanners for leaked secrets recognise a key. */
const prefix = "sfk_";

/** Returns a new service key: 256 random bits. */
export const newApiKey = (): string => prefix + randomToken();

/** Whether a bearer credential looks like a service key; access tokens never do. */
export const isApiKey = (credential: string): boolean => credential.startsWith(prefix);

/** Returns the digest by which Postgres knows a service key. */
export const apiKeyDigest = sha256;
