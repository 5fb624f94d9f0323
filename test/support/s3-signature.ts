import { createHash, createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** An S3 error; `details` are the elements beside its code and message. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string = code,
    readonly details: Record<string, string> = {},
  ) {
    super(message);
  }
}

export interface S3Keys {
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
}

/** A received request; `url` is its path and query, still encoded. */
export interface SignedRequest {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
}

const DAY_SECONDS = 86_400;
const sha256 = (data: string) => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();

/** Percent-encodes everything but the unreserved characters of RFC 3986. */
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

const order = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

const headerOf = ({ headers }: SignedRequest, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value.join(",") : value;
};

/** Parses a time such as 20130524T000000Z into milliseconds. */
function parseTime(text: string): number {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  const [year = NaN, month = NaN, day, hour, minute, second] = parts.map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

interface Claim {
  credential: string;
  signedHeaders: string;
  signature: string;
  time: string;
  /** The declared hash of the body: its SHA-256, or a word for unsigned bodies. */
  payload: string;
}

function claimInHeader(request: SignedRequest, now: number): Claim {
  const [, credential, signedHeaders, signature] =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? "",
    ) ?? [];
  if (!credential || !signedHeaders || !signature)
    throw new Refusal(400, "AuthorizationHeaderMalformed", "The authorization header is malformed.");
  const payload = headerOf(request, "x-amz-content-sha256");
  if (payload === undefined) throw new Refusal(400, "InvalidRequest", "Missing required header x-amz-content-sha256");
  const time = headerOf(request, "x-amz-date") ?? "";
  if (!(Math.abs(parseTime(time) - now) <= 900_000))
    throw new Refusal(403, "RequestTimeTooSkewed", "The difference between the clocks is too large.");
  return { credential, signedHeaders, signature, time, payload };
}

function claimInQuery(query: URLSearchParams, now: number): Claim {
  const [algorithm, credential, time, expires, signedHeaders, signature] = [
    "Algorithm",
    "Credential",
    "Date",
    "Expires",
    "SignedHeaders",
    "Signature",
  ].map((name) => query.get(`X-Amz-${name}`) ?? "");
  const seconds = Number(expires);
  const isWhole = algorithm === "AWS4-HMAC-SHA256" && credential && time && signedHeaders && signature;
  if (!isWhole || !(Number.isInteger(seconds) && seconds >= 1 && seconds <= 7 * DAY_SECONDS))
    throw new Refusal(400, "AuthorizationQueryParametersError", "The parameters of the signature are malformed.");
  const start = parseTime(time);
  if (!(start - now <= 900_000)) throw new Refusal(403, "AccessDenied", "Request is not valid yet");
  if (!(now < start + seconds * 1_000)) throw new Refusal(403, "AccessDenied", "Request has expired");
  const payload = query.get("X-Amz-Content-Sha256") ?? "UNSIGNED-PAYLOAD";
  return { credential, signedHeaders, signature, time, payload };
}

/**
 * Checks a request's Signature Version 4, in its headers or its URL, as AWS documents it for S3. Returns the declared hash of
 * the body; throws the Refusal that S3 would answer with.
 */
export function checkSignature(request: SignedRequest, keys: S3Keys, now: number): string {
  const [path = "", search = ""] = request.url.split("?", 2);
  const query = new URLSearchParams(search);
  const inQuery = query.has("X-Amz-Signature");
  if (!inQuery && request.headers.authorization === undefined) throw new Refusal(403, "AccessDenied", "Access Denied");
  const claim = inQuery ? claimInQuery(query, now) : claimInHeader(request, now);

  const [accessKeyId, day = "", region = "", service = "", end] = claim.credential.split("/");
  if (accessKeyId !== keys.accessKeyId)
    throw new Refusal(403, "InvalidAccessKeyId", "There is no such access key.", { AWSAccessKeyId: accessKeyId ?? "" });
  if (region !== keys.region || service !== "s3" || end !== "aws4_request" || day !== claim.time.slice(0, 8))
    throw new Refusal(400, "AuthorizationHeaderMalformed", "The scope is wrong.", { Region: keys.region });

  const signed = claim.signedHeaders.split(";");
  const unsigned = Object.keys(request.headers).filter(
    (name) => /^(host|x-amz-.*)$/.test(name) && !signed.includes(name),
  );
  if (unsigned.length > 0)
    throw new Refusal(403, "AccessDenied", "There were headers present in the request which were not signed", {
      HeadersNotSigned: unsigned.join(", "),
    });

  const canonical = [
    request.method,
    decodeURIComponent(path).split("/").map(encode).join("/"),
    [...query]
      .filter(([name]) => name !== "X-Amz-Signature")
      .map((pair) => pair.map(encode))
      .sort(([name = "", value = ""], [other = "", another = ""]) => order(name, other) || order(value, another))
      .map((pair) => pair.join("="))
      .join("&"),
    ...signed.map((name) => `${name}:${(headerOf(request, name) ?? "").trim().replace(/ +/g, " ")}`),
    "",
    claim.signedHeaders,
    claim.payload,
  ].join("\n");
  const scope = [day, region, service, "aws4_request"].join("/");
  const toSign = ["AWS4-HMAC-SHA256", claim.time, scope, sha256(canonical)].join("\n");
  const key = [region, service, "aws4_request"].reduce(hmac, hmac(`AWS4${keys.secretAccessKey}`, day));
  if (hmac(key, toSign).toString("hex") !== claim.signature)
    throw new Refusal(403, "SignatureDoesNotMatch", "The signature does not match the one that was calculated.", {
      AWSAccessKeyId: keys.accessKeyId,
      StringToSign: toSign,
      SignatureProvided: claim.signature,
      CanonicalRequest: canonical,
    });
  return claim.payload;
}
