import { expect, test } from "@jest/globals";
import { readConfig } from "../../../lib/process/environment.js";
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
  ["NODE_ENV", "prod", "must be one of development, test, production"],
  ["PUSH_SERVICES", "https://push.example.com", "must be hosts such as push.example.com, comma-separated"],
  ["SMS_SENDER", "pigeon", "must be one of log, http"],
])("%s=%s is refused with a message that names it", (name, value, words) => {
  expect(() => readConfig({ ...needed, [name]: value })).toThrow(`Wrong configuration: ${name} ${words}`);
});

const production = { ...needed, NODE_ENV: "production", SMS_SENDER: "http", SMS_HTTP_URL: "https://sms.example.com" };
const secure = { ...production, PUBLIC_URL: "https://api.example.com" };

test("some limits are stricter in production, unless they are given", () => {
  expect(readConfig(secure)).toMatchObject({
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

test("in production clients reach the API by https", () => {
  const refusal = "Wrong configuration: PUBLIC_URL must be https in production";
  for (const PUBLIC_URL of [undefined, "http://api.example.com"])
    expect(() => readConfig({ ...production, PUBLIC_URL })).toThrow(refusal);
  expect(readConfig(secure).PUBLIC_URL).toBe("https://api.example.com");
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
  const bucket = { S3_BUCKET: "files", S3_REGION: "eu-central-1" };
  expect(readConfig({ ...needed, ...bucket })).toMatchObject(bucket);
  const all = { ...bucket, S3_ENDPOINT: "http://minio:9000", S3_ACCESS_KEY_ID: "AK", S3_SECRET_ACCESS_KEY: "hush" };
  expect(readConfig({ ...needed, ...all })).toMatchObject(all);
});
