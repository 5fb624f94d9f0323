import { expect, test } from "@jest/globals";
import { readConfig } from "../../../lib/process/environment.js";
import { newCredentialsKey, newSigningKey } from "../../../lib/process/keys.js";

const needed = {
  DATABASE_URL: "postgres://localhost/test",
  SIGNING_KEYS: newSigningKey(),
  CREDENTIALS_KEYS: newCredentialsKey(),
};

test("what is needed is enough", () => {
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
  ["SMS_SENDER", "pigeon", "must be one of log, http"],
])("%s=%s is refused in words that name it", (name, value, words) => {
  expect(() => readConfig({ ...needed, [name]: value })).toThrow(`Wrong configuration: ${name} ${words}`);
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
])("storage that is half told, %j, is refused in words that name what is missing", (given, words) => {
  expect(() => readConfig({ ...needed, ...given })).toThrow(`Wrong configuration: ${words}`);
});

test("a bucket needs its region; an address and a key of its own are left to choose", () => {
  const bucket = { S3_BUCKET: "files", S3_REGION: "eu-central-1" };
  expect(readConfig({ ...needed, ...bucket })).toMatchObject(bucket);
  const all = { ...bucket, S3_ENDPOINT: "http://minio:9000", S3_ACCESS_KEY_ID: "AK", S3_SECRET_ACCESS_KEY: "hush" };
  expect(readConfig({ ...needed, ...all })).toMatchObject(all);
});
