import { expect, test } from "@jest/globals";
import { readConfig } from "../../lib/environment.js";
import { newCredentialsKey, newSigningKey } from "../../lib/keys.js";

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
