import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  type KeyObject,
} from "node:crypto";
import { z } from "zod";

/** A key pair for access tokens; `publicJwk` is what anyone may see. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: "EdDSA" | "ES256";
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly publicJwk: z.output<typeof PublicJwk> & { kid: string; alg: string; use: string };
}

/** A 256-bit key for secrets at rest, whose id is part of what it encrypted. */
export interface CredentialsKey {
  readonly id: string;
  readonly key: Buffer;
}

const PrivateJwk = z.discriminatedUnion("crv", [
  z.object({
    kty: z.literal("OKP"),
    crv: z.literal("Ed25519"),
    x: z.string(),
    d: z.string(),
    kid: z.string().min(1),
    alg: z.literal("EdDSA").default("EdDSA"),
  }),
  z.object({
    kty: z.literal("EC"),
    crv: z.literal("P-256"),
    x: z.string(),
    y: z.string(),
    d: z.string(),
    kid: z.string().min(1),
    alg: z.literal("ES256").default("ES256"),
  }),
]);

const PublicJwk = z.object({ kty: z.string(), crv: z.string(), x: z.string(), y: z.string().optional() });

const unique = (names: readonly string[]) => new Set(names).size === names.length;

/** SIGNING_KEYS: a JSON array of private JWKs, Ed25519 or P-256, each with its own `kid`. */
export function parseSigningKeys(value: string): SigningKey[] | null {
  try {
    const jwks = z.array(PrivateJwk).min(1).parse(JSON.parse(value));
    if (!unique(jwks.map(({ kid }) => kid))) return null;
    return jwks.map((jwk) => {
      const { kid, alg } = jwk;
      const privateKey = createPrivateKey({ key: jwk, format: "jwk" });
      const publicKey = createPublicKey(privateKey);
      const publicJwk = { ...PublicJwk.parse(publicKey.export({ format: "jwk" })), kid, alg, use: "sig" };
      return { kid, alg, privateKey, publicKey, publicJwk };
    });
  } catch {
    return null;
  }
}

/** CREDENTIALS_KEYS: `id:base64` of 32 bytes each, comma-separated, each with its own id. */
export function parseCredentialsKeys(value: string): CredentialsKey[] | null {
  const keys = value.split(",").map((entry) => {
    const [, id = "", key = ""] = /^\s*([\w-]+):([A-Za-z0-9+/_-]+=*)\s*$/.exec(entry) ?? [];
    return { id, key: Buffer.from(key, "base64") };
  });
  return keys.every(({ key }) => key.length === 32) && unique(keys.map(({ id }) => id)) ? keys : null;
}

/** A new private JWK as text for SIGNING_KEYS; its `kid` is the public key's fingerprint. */
export function newSigningKey(): string {
  const jwk = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
  const kid = createHash("sha256").update(String(jwk.x)).digest("base64url").slice(0, 16);
  return JSON.stringify([{ ...jwk, kid, alg: "EdDSA" }]);
}

/** A new key as text for CREDENTIALS_KEYS; its id is today's date and a random suffix. */
export const newCredentialsKey = (): string =>
  `${new Date().toISOString().slice(0, 10)}-${randomBytes(3).toString("hex")}:${randomBytes(32).toString("base64")}`;
