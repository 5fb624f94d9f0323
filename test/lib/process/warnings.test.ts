import { expect, test } from "@jest/globals";
import { readConfig } from "../../../lib/process/read-config.js";
import { newCredentialsKey, newSigningKey } from "../../../lib/process/keys.js";
import { newVapidKeys } from "../../../lib/process/push-keys.js";
import { findWarnings } from "../../../lib/process/warnings.js";

const needed = {
  DATABASE_URL: "postgres://localhost/test",
  SIGNING_KEYS: newSigningKey(),
  CREDENTIALS_KEYS: newCredentialsKey(),
};
const production = {
  NODE_ENV: "production",
  PUBLIC_URL: "https://api.example.com",
  STORAGE_DIR: "/srv/files",
  SMS_SENDER: "http",
  SMS_HTTP_URL: "https://sms.example.com",
  METRICS_TOKEN: "a long secret",
};

function warningsOf(given: Record<string, string>): string[] {
  const env = { ...needed, ...given };
  return findWarnings(readConfig(env), env);
}

test("a mode that is not set is development, and what is lax then is named", () => {
  expect(warningsOf({ NODE_ENV: "development" })).toEqual([]);
  const [warning, ...others] = warningsOf({});
  expect(others).toEqual([]);
  expect(warning).toMatch(/^NODE_ENV is not set.* login codes are in the log, anyone may read \/metrics, limits/);
  const [another] = warningsOf({ METRICS_TOKEN: "a long secret", ALLOW_PRIVATE_ADDRESSES: "1" });
  expect(another).toContain("private addresses");
  expect(another).not.toContain("/metrics");
});

test.each([
  ["0.0.0.0", 1],
  ["api.example.com", 1],
  ["127.0.0.1", 0],
  ["::1", 0],
  ["localhost", 0],
])("a public login code on HOST %s causes %i warnings", (HOST, count) => {
  const warnings = warningsOf({ NODE_ENV: "development", OTP_FIXED_CODE: "000000", HOST });
  expect(warnings).toHaveLength(count);
  for (const warning of warnings) expect(warning).toMatch(/^OTP_FIXED_CODE is set and HOST is /);
});

test("a deployment without any key for push is warned of", () => {
  expect(warningsOf(production)).toEqual([expect.stringMatching(/^no push message is sent/)]);
  expect(warningsOf({ ...production, ...newVapidKeys() })).toEqual([]);
});
