import { ECDH } from "node:crypto";
import { z } from "zod";
import type { Enum } from "../domain/enums.js";
import { parseJson } from "../process/parse-json.js";

export type Platform = Enum<"devicePlatform">;

/** A device's address: an FCM registration token or a Web Push subscription. */
export interface PushAddress {
  /** The registration token, or the subscription's endpoint. */
  address: string;
  /** The subscription's keys in base64url without padding; null with FCM. */
  keys: { p256dh: string; auth: string } | null;
}

const registrationToken = /^[\w:.-]{10,4096}$/;

const bytes = z
  .string()
  .max(200)
  .regex(/^[\w+/-]+={0,2}$/)
  .transform((encoded) => Buffer.from(encoded, "base64"));

/** An uncompressed point of P-256 (RFC 8291, section 3.1). */
const publicKey = bytes.refine((point) => {
  try {
    return point.length === 65 && point[0] === 4 && ECDH.convertKey(point, "prime256v1").length === 65;
  } catch {
    return false;
  }
});

const endpoint = (pattern: RegExp) =>
  z
    .string()
    .max(2_048)
    .regex(pattern)
    .refine((address) => {
      const url = URL.canParse(address) ? new URL(address) : null;
      return url !== null && url.username === "" && url.password === "";
    });

/** What a browser's `PushSubscription.toJSON()` returns. */
const Subscription = z.object({
  endpoint: endpoint(/^https:\/\/[\x21-\x7e]+$/),
  keys: z.object({
    p256dh: publicKey,
    // RFC 8291, section 3.2
    auth: bytes.refine((secret) => secret.length === 16),
  }),
});
const LocalSubscription = Subscription.extend({ endpoint: endpoint(/^https?:\/\/[\x21-\x7e]+$/) });

/** Parses a push token as an app sends it; null when it is not one. `allowHttp` is for a push service on a developer's machine. */
export function parsePushToken(
  platform: Platform,
  sent: string,
  { allowHttp = false }: { allowHttp?: boolean } = {},
): PushAddress | null {
  if (registrationToken.test(sent)) return { address: sent, keys: null };
  if (platform !== "web") return null;
  const { success, data } = (allowHttp ? LocalSubscription : Subscription).safeParse(parseJson(sent));
  if (!success) return null;
  const { p256dh, auth } = data.keys;
  return { address: data.endpoint, keys: { p256dh: p256dh.toString("base64url"), auth: auth.toString("base64url") } };
}
