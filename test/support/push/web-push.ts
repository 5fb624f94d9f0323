import { createECDH, createPublicKey, randomBytes, randomUUID, verify } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { decrypt, type Secrets } from "../../../scripts/demo/browser.js";
import { startService, type Answer, type Reaction } from "./service.js";

const Payload = z.object({
  title: z.string(),
  body: z.string(),
  tag: z.string(),
  data: z.record(z.string(), z.string()),
});
const Claims = z.object({ aud: z.string(), exp: z.number(), sub: z.string().regex(/^(mailto:|https:)/) });

/** A message as a browser shows it. */
export interface ShownMessage extends z.output<typeof Payload> {
  subscription: string;
  ttl: number;
  urgency: string;
  topic: string;
}

/** A subscription: what the browser gave its app, and its private half. */
interface Subscriber extends Secrets {
  /** The VAPID public key that it subscribed with, in base64url. */
  serverKey: string;
}

class Refused extends Error {
  constructor(
    readonly status: number,
    readonly why: string,
  ) {
    super(why);
  }
}

function need(condition: boolean, status: number, why: string): asserts condition {
  if (!condition) throw new Refused(status, why);
}

/** Checks the VAPID signature of a message (RFC 8292): a JWT by the key that the subscription is bound to. */
export function checkVapid(authorization: string, origin: string, serverKey: string, now = Date.now()): void {
  const [, token = "", key = ""] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(authorization) ?? [];
  const [head = "", claims = "", signature = ""] = token.split(".");
  need(signature !== "", 401, "no vapid token");
  const read = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString());
  need(z.object({ alg: z.literal("ES256") }).safeParse(read(head)).success, 401, "not ES256");
  const point = Buffer.from(key, "base64url");
  need(point.length === 65 && point[0] === 4, 401, "no key");
  const publicKey = createPublicKey({
    format: "jwk",
    key: {
      kty: "EC",
      crv: "P-256",
      x: point.subarray(1, 33).toString("base64url"),
      y: point.subarray(33).toString("base64url"),
    },
  });
  const signed = verify(
    "sha256",
    Buffer.from(`${head}.${claims}`),
    { key: publicKey, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  need(signed, 401, "wrong signature");
  const { aud, exp } = Claims.parse(read(claims));
  need(aud === origin, 401, "for another audience");
  need(exp * 1_000 > now && exp * 1_000 <= now + 24 * 60 * 60_000, 401, "expired, or good for more than a day");
  need(key === serverKey, 403, "not the key of the subscription");
}

/** A Web Push service with its browsers: it verifies and decrypts messages as they would, with configurable answers. */
export async function startWebPush() {
  const subscribers = new Map<string, Subscriber>();
  const shown: ShownMessage[] = [];
  const refused: string[] = [];
  const answers: Reaction[] = [];
  let attempts = 0;
  const service = await startService((request, body) => {
    attempts += 1;
    const reaction = answers.shift();
    try {
      const message = accept(request, body);
      // an error means that the message was refused; without an answer it may have been accepted
      if (reaction === undefined || typeof reaction === "string" || reaction.status < 300) shown.push(message);
      return reaction ?? { status: 201, headers: { location: `${service.url}/message/${randomUUID()}` } };
    } catch (error) {
      const { status, why } = error instanceof Refused ? error : new Refused(400, String(error));
      refused.push(why);
      return { status, body: why } satisfies Answer;
    }
  });

  function accept(request: IncomingMessage, body: Buffer): ShownMessage {
    const header = (name: string) => {
      const value = request.headers[name];
      return typeof value === "string" ? value : "";
    };
    need(request.method === "POST", 405, "not a POST");
    const subscription = `${service.url}${request.url ?? ""}`;
    const subscriber = subscribers.get(subscription);
    need(subscriber !== undefined, 404, "no such subscription");
    checkVapid(header("authorization"), service.url, subscriber.serverKey);
    need(/^\d{1,8}$/.test(header("ttl")), 400, "no TTL");
    need(/^(very-low|low|normal|high)$/.test(header("urgency")), 400, "no urgency");
    need(/^[\w-]{0,32}$/.test(header("topic")), 400, "no topic");
    need(header("content-encoding") === "aes128gcm", 415, "not aes128gcm");
    need(body.length <= 4_096, 413, "too large");
    const payload = Payload.parse(JSON.parse(decrypt(subscriber, body)));
    return {
      ...payload,
      subscription,
      ttl: Number(header("ttl")),
      urgency: header("urgency"),
      topic: header("topic"),
    };
  }

  return {
    url: service.url,
    arrival: service.arrival,
    stop: service.stop,
    /** The messages that browsers have shown, in order. */
    shown,
    /** The reasons why requests were not valid messages. */
    refused,
    attempts: () => attempts,
    /** Sets the answers to the next messages, in order; later ones get 201. */
    answerWith: (...next: Reaction[]) => void answers.splice(0, answers.length, ...next),
    /** Subscribes a browser with a public key; returns what its app registers. */
    subscribe(serverKey: string) {
      const ecdh = createECDH("prime256v1");
      ecdh.generateKeys();
      const auth = randomBytes(16);
      const address = `${service.url}/send/${randomUUID()}`;
      subscribers.set(address, { ecdh, auth, serverKey });
      return { address, keys: { p256dh: ecdh.getPublicKey("base64url"), auth: auth.toString("base64url") } };
    },
    /** A browser ends its subscription. */
    unsubscribe: (address: string) => void subscribers.delete(address),
  };
}
