import { createECDH, createPrivateKey } from "node:crypto";
import { z } from "zod";
import { parseJson } from "./parse-json.js";

/** The key pair that identifies this service to push services, in base64url, and a contact for them. */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
  readonly subject: string;
}

const curve = "prime256v1";

/** VAPID_PUBLIC_KEY: an uncompressed point of P-256. */
export const isVapidPublicKey = (value: string): boolean =>
  /^[\w-]{87}$/.test(value) && Buffer.from(value, "base64url")[0] === 4;

/** VAPID_PRIVATE_KEY: 32 bytes. */
export const isVapidPrivateKey = (value: string): boolean => /^[\w-]{43}$/.test(value);

/** Whether the two are one pair. */
export function isVapidPair(publicKey: string, privateKey: string): boolean {
  try {
    const pair = createECDH(curve);
    pair.setPrivateKey(privateKey, "base64url");
    return pair.getPublicKey("base64url") === publicKey;
  } catch {
    return false;
  }
}

/** Generates a VAPID key pair, as environment variables. */
export function newVapidPair() {
  const pair = createECDH(curve);
  pair.generateKeys();
  return {
    VAPID_PUBLIC_KEY: pair.getPublicKey("base64url"),
    // leading zeros count
    VAPID_PRIVATE_KEY: Buffer.from(pair.getPrivateKey("hex").padStart(64, "0"), "hex").toString("base64url"),
  };
}

/** Generates a VAPID key pair with a contact, for development: a deployment's contact is its own. */
export const newVapidKeys = () => ({ ...newVapidPair(), VAPID_SUBJECT: "mailto:admin@example.com" });

const privateKey = z.string().refine((pem) => {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false;
  }
});

const ServiceAccount = z
  .object({
    type: z.literal("service_account"),
    project_id: z.string().regex(/^[\w.:-]{1,100}$/),
    client_email: z.string().min(3).max(300),
    private_key: privateKey,
    token_uri: z.url({ protocol: /^https?$/ }).default("https://oauth2.googleapis.com/token"),
  })
  .readonly();

/** A service account's key, as the Firebase console exports it. */
export type ServiceAccount = z.output<typeof ServiceAccount>;

/** FCM_SERVICE_ACCOUNT: the JSON of a service account's key. */
export const parseServiceAccount = (value: string): ServiceAccount | null =>
  ServiceAccount.safeParse(parseJson(value)).data ?? null;
