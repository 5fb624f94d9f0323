import { describe, expect, test } from "@jest/globals";
import { readConfig } from "../../../lib/process/read-config.js";
import { newCredentialsKey, newSigningKey } from "../../../lib/process/keys.js";

const needed = {
  DATABASE_URL: "postgres://localhost/test",
  SIGNING_KEYS: newSigningKey(),
  CREDENTIALS_KEYS: newCredentialsKey(),
};

test("the required variables are enough", () => {
  expect(readConfig(needed)).toMatchObject({ PORT: 3_000, PUBLIC_URL: "http://localhost:3000", SMS_SENDER: "log" });
});

test.each([
  ["PORT", "abc", "must be a whole number from 0 to 65535"],
  ["PORT", "65536", "must be a whole number from 0 to 65535"],
  ["PORT", "1e3", "must be a whole number from 0 to 65535"],
  ["DATABASE_POOL", "0", "must be a whole number from 1 to 500"],
  ["DATABASE_URL", "mysql://localhost/name", "must be an address such as postgres://user:password@host:5432/name"],
  ["DATABASE_URL", "", "is missing; it must be an address such as postgres://user:password@host:5432/name"],
  ["DATABASE_REPLICA_URLS", "postgres://a/b, mysql://c/d", "entry 2 must be an address such as postgres://user:"],
  ["DATABASE_REPLICA_URLS", "postgres://a/b postgres://c/d?sslmode=prefer", "entry 2 must have one of the sslmodes"],
  ["NODE_ENV", "prod", "must be one of development, test, production"],
  ["PUSH_SERVICES", "https://push.example.com", "must be hosts such as push.example.com, comma-separated"],
  ["SMS_SENDER", "pigeon", "must be one of log, http"],
  ["SMS_HTTP_HEADERS", '{"X Key":"k"}', "must be a JSON object of header names and values"],
  ["SMS_HTTP_HEADERS", String.raw`{"X-Key":"k\nY-Key: k"}`, "must be a JSON object of header names and values"],
  ["CORS_ORIGINS", "https://a.test,app.example.com", "entry 2 has no scheme; an origin is such as https://app."],
  ["CORS_ORIGINS", "https://app.example.com/", "entry 1 can never match; browsers send https://app.example.com"],
  ["CORS_ORIGINS", "https://a.test/path?q#f", "entry 1 can never match; browsers send https://a.test"],
  ["CORS_ORIGINS", "https://App.example.com", "entry 1 can never match; browsers send https://app.example.com"],
  ["CORS_ORIGINS", "https://a.test:443", "entry 1 can never match; browsers send https://a.test"],
  ["CORS_ORIGINS", "https://bücher.test", "entry 1 can never match; browsers send https://xn--bcher-kva.test"],
  ["CORS_ORIGINS", "https://me:hush@a.test", "entry 1 can never match; browsers send https://a.test"],
  ["CORS_ORIGINS", "https://*.a.test", "entry 1 can never match; `*` stands alone, for all origins"],
  ["CORS_ORIGINS", "file://", "entry 1 has no host"],
  [
    "CORS_ORIGINS",
    "localhost:5173, null",
    "entry 1 has no scheme; an origin is such as https://app.example.com, entry 2",
  ],
  ["WORKER_CONCURRENCY", "push=50,pus=5", 'names "pus"; the queues are ad-events, address-checks, data-export,'],
  [
    "POS_WEBHOOK_SECRETS",
    '{"squaer":["a long secret"]}',
    'names "squaer"; the adapters are square, poster, iiko, generic',
  ],
])("%s=%s is refused with a message that names it", (name, value, words) => {
  expect(() => readConfig({ ...needed, [name]: value })).toThrow(`Wrong configuration: ${name} ${words}`);
});

test("replicas are separated by commas or spaces; a password may have commas", () => {
  const [one, two, three] = ["postgres://me:a,b@one/x", "postgresql://two:5433/x", "postgres://three/x"];
  const read = readConfig({ ...needed, DATABASE_REPLICA_URLS: ` ${one}, ${two} ${three},` });
  expect(read.REPLICAS.map(({ url }) => url)).toEqual([one, two, three]);
  expect(readConfig(needed).REPLICAS).toEqual([]);
});

test("a secret that is too short is refused with its provider's name and without the secret", () => {
  const secrets = { square: ["hush-1"], poster: ["a long secret"], iiko: ["a long secret", ""] };
  const read = () => readConfig({ ...needed, POS_WEBHOOK_SECRETS: JSON.stringify(secrets) });
  expect(read).toThrow(
    /^Wrong configuration: POS_WEBHOOK_SECRETS has a secret of less than 8 characters for square, iiko$/,
  );
  secrets.square = secrets.iiko = ["eight ch"];
  expect(read().POS_WEBHOOK_SECRETS).toEqual(secrets);
});

test("origins that browsers send are accepted, also those of apps in a shell", () => {
  const given = "https://app.example.com, http://localhost:5173,http://[::1]:8080,capacitor://localhost,*";
  expect(readConfig({ ...needed, CORS_ORIGINS: given }).CORS_ORIGINS).toEqual(given.split(/, ?/));
});

const production = {
  ...needed,
  NODE_ENV: "production",
  PUBLIC_URL: "https://api.example.com",
  STORAGE_DIR: "/srv/files",
  SMS_SENDER: "http",
  SMS_HTTP_URL: "https://sms.example.com",
  METRICS_TOKEN: "a long secret",
};
const bucket = { S3_BUCKET: "files", S3_REGION: "eu-central-1" };

test.each([
  [{ SMS_HTTP_BODY: "hello" }, "SMS_HTTP_BODY has no {phone} and {text}"],
  [{ SMS_HTTP_URL: "https://sms.example.com/{phone}", SMS_HTTP_BODY: "hello" }, "SMS_HTTP_BODY has no {text}"],
  [{ SMS_HTTP_METHOD: "GET" }, "SMS_HTTP_URL has no {phone} and {text}"],
])("a gateway that would not get the phone or the code is refused: %j", (given, words) => {
  expect(() => readConfig({ ...production, ...given })).toThrow(
    `Wrong configuration: ${words}: no login code would arrive`,
  );
});

test("a gateway may get the phone in its address and the code in its body, or both in its address", () => {
  const SMS_HTTP_URL = "https://sms.example.com/?to={phone}";
  expect(readConfig({ ...production, SMS_HTTP_URL, SMS_HTTP_BODY: "{text}" })).toMatchObject({ SMS_HTTP_URL });
  const both = `${SMS_HTTP_URL}&text={text}`;
  expect(readConfig({ ...production, SMS_HTTP_URL: both, SMS_HTTP_METHOD: "GET" })).toMatchObject({
    SMS_HTTP_URL: both,
  });
});

test("some limits are stricter in production, unless they are given", () => {
  expect(readConfig(production)).toMatchObject({
    OTP_SENDS_PER_PHONE: 10,
    OTP_GUESSES_PER_ADDRESS: 60,
    REGISTRATIONS_PER_ADDRESS: 30,
  });
  expect(readConfig(needed)).toMatchObject({
    OTP_SENDS_PER_PHONE: null,
    OTP_GUESSES_PER_ADDRESS: 300,
    REGISTRATIONS_PER_ADDRESS: null,
  });
  expect(readConfig({ ...needed, REGISTRATIONS_PER_ADDRESS: "5" }).REGISTRATIONS_PER_ADDRESS).toBe(5);
});

describe("production", () => {
  test.each([
    ["PUBLIC_URL", "is missing; in production it is the https address that clients reach the API at"],
    ["SMS_SENDER", "is missing; in production it is `http`"],
    ["STORAGE_DIR", "is missing, and so is S3_BUCKET"],
    ["METRICS_TOKEN", "is missing; without it anyone may read /metrics"],
  ])("needs %s", (name, words) => {
    expect(() => readConfig({ ...production, [name]: "" })).toThrow(`Wrong configuration: ${name} ${words}`);
  });

  test.each([
    [{ PUBLIC_URL: "http://api.example.com" }, "PUBLIC_URL must be https in production"],
    [{ SMS_SENDER: "log" }, "SMS_SENDER must be `http` in production"],
    [{ OTP_FIXED_CODE: "000000" }, "OTP_FIXED_CODE must not be set in production"],
    [{ ALLOW_PRIVATE_ADDRESSES: "1" }, "ALLOW_PRIVATE_ADDRESSES must not be set in production"],
    [{ CORS_ORIGINS: "https://a.test,private" }, "CORS_ORIGINS must not have `private` in production"],
    [{ RATE_LIMIT_DISABLED: "1" }, "RATE_LIMIT_DISABLED must not be set in production"],
    [{ STORAGE_DIR: "files" }, "STORAGE_DIR must be an absolute path in production"],
    [{ STORAGE_DIR: "./srv/files" }, "STORAGE_DIR must be an absolute path in production"],
  ])("refuses %j", (given, words) => {
    expect(() => readConfig({ ...production, ...given })).toThrow(`Wrong configuration: ${words}`);
  });

  test("is complete with a bucket in place of a folder", () => {
    expect(readConfig({ ...production, STORAGE_DIR: "", ...bucket })).toMatchObject({
      PUBLIC_URL: "https://api.example.com",
      ...bucket,
    });
  });
});

test("every problem is reported at once, one a line, whether a variable is wrong by itself or beside others", () => {
  const wrong = { NODE_ENV: "production", PORT: "many", PUBLIC_URL: "nowhere", S3_BUCKET: "files" };
  const named = (error: unknown) =>
    String(error)
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(" ")[0]);
  expect.hasAssertions();
  try {
    readConfig(wrong);
  } catch (error) {
    expect(named(error)).toEqual(
      "PORT PUBLIC_URL DATABASE_URL S3_REGION SIGNING_KEYS CREDENTIALS_KEYS SMS_SENDER METRICS_TOKEN".split(" "),
    );
  }
});

test.each([
  [{ S3_REGION: "eu-central-1" }, "S3_BUCKET is missing; S3_REGION is set"],
  [{ S3_BUCKET: "files" }, "S3_REGION is missing; S3_BUCKET is set"],
  [
    { S3_BUCKET: "files", S3_REGION: "eu", S3_ACCESS_KEY_ID: "AK" },
    "S3_SECRET_ACCESS_KEY is missing; S3_ACCESS_KEY_ID is set",
  ],
  [
    { S3_BUCKET: "files", S3_REGION: "eu", S3_SECRET_ACCESS_KEY: "hush" },
    "S3_ACCESS_KEY_ID is missing; S3_SECRET_ACCESS_KEY is set",
  ],
  [{ S3_BUCKET: "My Files", S3_REGION: "eu" }, "S3_BUCKET must be 3 to 63 small letters, digits, dots and hyphens"],
  [
    { S3_BUCKET: "files", S3_REGION: "eu", S3_ENDPOINT: "minio:9000" },
    "S3_ENDPOINT must be an address such as https://storage.example.com",
  ],
])("incomplete storage settings, %j, are refused with a message that names what is missing", (given, words) => {
  expect(() => readConfig({ ...needed, ...given })).toThrow(`Wrong configuration: ${words}`);
});

test("a bucket needs a region; endpoint and key are optional", () => {
  expect(readConfig({ ...needed, ...bucket })).toMatchObject(bucket);
  const all = { ...bucket, S3_ENDPOINT: "http://minio:9000", S3_ACCESS_KEY_ID: "AK", S3_SECRET_ACCESS_KEY: "hush" };
  expect(readConfig({ ...needed, ...all })).toMatchObject(all);
});
