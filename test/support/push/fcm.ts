import { generateKeyPairSync, randomUUID, verify } from "node:crypto";
import { z } from "zod";
import { startService, type Answer, type Reaction } from "./service.js";

const text = z.string();
const seconds = z.string().regex(/^\d{1,7}(\.\d{1,9})?s$/);

/** A message to one token in the HTTP v1 API, with the fields that the service uses; others are refused. */
const Send = z.strictObject({
  validate_only: z.boolean().optional(),
  message: z.strictObject({
    token: text,
    notification: z.strictObject({ title: text, body: text, image: text.optional() }).optional(),
    data: z.record(z.string().regex(/^(?!from$|google|gcm)/), text).optional(),
    android: z
      .strictObject({
        collapse_key: text.optional(),
        priority: z.enum(["NORMAL", "HIGH", "normal", "high"]).optional(),
        ttl: seconds.optional(),
        notification: z.strictObject({ tag: text.optional() }).optional(),
      })
      .optional(),
    apns: z
      .strictObject({
        headers: z
          .strictObject({
            "apns-collapse-id": text.max(64),
            "apns-expiration": z.string().regex(/^\d+$/),
            "apns-priority": z.enum(["1", "5", "10"]),
          })
          .partial()
          .optional(),
        payload: z.looseObject({ aps: z.looseObject({}) }).optional(),
      })
      .optional(),
    webpush: z
      .strictObject({
        headers: z.record(z.string(), text).optional(),
        notification: z.looseObject({}).optional(),
      })
      .optional(),
  }),
});

export type FcmMessage = z.output<typeof Send>["message"];

interface Details {
  errorCode?: string;
  field?: string;
  retryAfter?: string;
}

/** An error of Google's APIs, optionally with FCM's own code and the invalid field. */
function googleError(code: number, status: string, message: string, details: Details = {}): Answer {
  const { errorCode, field, retryAfter } = details;
  return {
    status: code,
    headers: { "content-type": "application/json; charset=UTF-8", ...(retryAfter && { "retry-after": retryAfter }) },
    body: JSON.stringify({
      error: {
        code,
        message,
        status,
        details: [
          ...(errorCode ? [{ "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", errorCode }] : []),
          ...(field
            ? [
                {
                  "@type": "type.googleapis.com/google.rpc.BadRequest",
                  fieldViolations: [{ field, description: message }],
                },
              ]
            : []),
        ],
      },
    }),
  };
}

/** The refusals that FCM documents, and some of the proxies in front of it. */
export const fcmRefusals = {
  unregistered: googleError(404, "NOT_FOUND", "Requested entity was not found.", { errorCode: "UNREGISTERED" }),
  noSuchProject: googleError(404, "NOT_FOUND", "Requested entity was not found."),
  senderIdMismatch: googleError(403, "PERMISSION_DENIED", "SenderId mismatch", { errorCode: "SENDER_ID_MISMATCH" }),
  permissionDenied: googleError(403, "PERMISSION_DENIED", "Permission 'cloudmessaging.messages.create' denied."),
  thirdPartyAuth: googleError(401, "UNAUTHENTICATED", "Auth error from APNS or Web Push Service", {
    errorCode: "THIRD_PARTY_AUTH_ERROR",
  }),
  invalidToken: googleError(400, "INVALID_ARGUMENT", "Request contains an invalid argument.", {
    errorCode: "INVALID_ARGUMENT",
    field: "message.token",
  }),
  invalidTokenInWords: googleError(
    400,
    "INVALID_ARGUMENT",
    "The registration token is not a valid FCM registration token",
    { errorCode: "INVALID_ARGUMENT" },
  ),
  invalidField: googleError(400, "INVALID_ARGUMENT", "Invalid value at 'message.data[0].value' (TYPE_STRING), 12", {
    field: "message.data[0].value",
  }),
  tooLarge: googleError(400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
  quotaExceeded: (retryAfter?: string) =>
    googleError(429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric", {
      errorCode: "QUOTA_EXCEEDED",
      ...(retryAfter && { retryAfter }),
    }),
  unavailable: (retryAfter?: string) =>
    googleError(503, "UNAVAILABLE", "The service is currently unavailable.", {
      errorCode: "UNAVAILABLE",
      ...(retryAfter && { retryAfter }),
    }),
  internal: googleError(500, "INTERNAL", "Internal error encountered.", { errorCode: "INTERNAL" }),
  badGateway: {
    status: 502,
    headers: { "content-type": "text/html" },
    body: "<!DOCTYPE html><title>Error 502</title>",
  },
} satisfies Record<string, Answer | ((retryAfter?: string) => Answer)>;

const Claims = z.object({ iss: text, aud: text, scope: text, iat: z.number(), exp: z.number() });

/** Google's endpoints for senders: access tokens for signed assertions, and FCM's HTTP v1 API, with configurable answers. */
export async function startFcm() {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const email = "sender@marketplace.iam.gserviceaccount.com";
  const tokens = new Set<string>();
  const received: FcmMessage[] = [];
  const answers: Reaction[] = [];
  const tokenAnswers: Reaction[] = [];
  let attempts = 0;
  let tokenRequests = 0;
  let lifetime = 3_599;

  const json = (status: number, body: unknown): Answer => ({
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

  function grant(form: URLSearchParams): Answer {
    const refuse = (why: string) => json(400, { error: "invalid_grant", error_description: why });
    if (form.get("grant_type") !== "urn:ietf:params:oauth:grant-type:jwt-bearer") return refuse("no such grant");
    const [head = "", claims = "", signature = ""] = (form.get("assertion") ?? "").split(".");
    const read = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString());
    if (!z.object({ alg: z.literal("RS256") }).safeParse(read(head)).success) return refuse("not RS256");
    const signed = Buffer.from(`${head}.${claims}`);
    if (!verify("sha256", signed, publicKey, Buffer.from(signature, "base64url")))
      return refuse("Invalid JWT Signature.");
    const { iss, aud, scope, iat, exp } = Claims.parse(read(claims));
    const now = Date.now() / 1_000;
    if (iss !== email || aud !== `${service.url}/token`) return refuse("Invalid JWT: wrong issuer or audience");
    if (scope !== "https://www.googleapis.com/auth/firebase.messaging") return refuse("Invalid scope");
    if (iat > now + 60 || exp < now || exp - iat > 3_600) return refuse("Invalid JWT: not a reasonable timeframe");
    const token = `ya29.${randomUUID()}`;
    tokens.add(token);
    return json(200, { access_token: token, expires_in: lifetime, token_type: "Bearer" });
  }

  function send(project: string, authorization: string, body: Buffer): Answer {
    const [, token = ""] = /^Bearer (\S+)$/.exec(authorization) ?? [];
    if (!tokens.has(token))
      return googleError(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.");
    if (project !== "marketplace") return fcmRefusals.permissionDenied;
    const parsed = Send.safeParse(JSON.parse(body.toString()));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return googleError(400, "INVALID_ARGUMENT", String(issue?.message), {
        field: issue?.path.join(".") ?? "message",
      });
    }
    const { message } = parsed.data;
    const size = Buffer.byteLength(JSON.stringify({ ...message.notification, ...message.data }));
    if (size > 4_096) return fcmRefusals.tooLarge;
    received.push(message);
    return json(200, { name: `projects/${project}/messages/${randomUUID()}` });
  }

  const service = await startService((request, body) => {
    const path = request.url ?? "";
    if (request.method === "POST" && path === "/token") {
      tokenRequests += 1;
      return tokenAnswers.shift() ?? grant(new URLSearchParams(body.toString()));
    }
    const [, project] = /^\/v1\/projects\/([^/]+)\/messages:send$/.exec(path) ?? [];
    if (request.method !== "POST" || project === undefined) return { status: 404, body: "Not Found" };
    attempts += 1;
    if (!request.headers["content-type"]?.startsWith("application/json")) return { status: 415, body: "not JSON" };
    const reaction = answers.shift();
    if (reaction !== undefined && typeof reaction !== "string") return reaction;
    const answer = send(project, request.headers.authorization ?? "", body);
    return reaction ?? answer;
  });

  return {
    url: service.url,
    arrival: service.arrival,
    stop: service.stop,
    /** For FCM_SERVICE_ACCOUNT. */
    serviceAccount: JSON.stringify({
      type: "service_account",
      project_id: "marketplace",
      private_key_id: "1",
      private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
      client_email: email,
      token_uri: `${service.url}/token`,
    }),
    /** The accepted messages. */
    received,
    /** The number of requests to send a message, whatever the answer. */
    attempts: () => attempts,
    tokenRequests: () => tokenRequests,
    /** Sets the answers to the next messages, in order; later ones are answered as by Google. */
    answerWith: (...next: Reaction[]) => void answers.splice(0, answers.length, ...next),
    /** The same for requests for an access token. */
    answerTokensWith: (...next: Reaction[]) => void tokenAnswers.splice(0, tokenAnswers.length, ...next),
    /** Sets the lifetime of new tokens, in seconds. */
    grantFor: (seconds: number) => void (lifetime = seconds),
    /** Revokes all issued tokens. */
    revokeTokens: () => tokens.clear(),
  };
}
