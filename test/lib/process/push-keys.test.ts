import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { readConfig } from "../../../lib/process/read-config.js";
import { newCredentialsKey, newSigningKey } from "../../../lib/process/keys.js";
import { newVapidKeys } from "../../../lib/process/push-keys.js";

const needed = {
  DATABASE_URL: "postgres://localhost/test",
  SIGNING_KEYS: newSigningKey(),
  CREDENTIALS_KEYS: newCredentialsKey(),
};
const vapid = newVapidKeys();
const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2_048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});
const account = {
  type: "service_account",
  project_id: "marketplace",
  client_email: "sender@marketplace.iam.gserviceaccount.com",
  private_key: privateKey,
};

const faultOf = (env: NodeJS.ProcessEnv): string => {
  try {
    readConfig({ ...needed, ...env });
    return "none";
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
};

describe("VAPID keys", () => {
  test("are read when they are new", () => {
    expect(readConfig({ ...needed, ...vapid }).VAPID).toEqual({
      publicKey: vapid.VAPID_PUBLIC_KEY,
      privateKey: vapid.VAPID_PRIVATE_KEY,
      subject: vapid.VAPID_SUBJECT,
    });
  });

  test("are optional", () => {
    expect(readConfig(needed).VAPID).toBeNull();
  });

  test("need no subject beside an https PUBLIC_URL", () => {
    const given = { ...vapid, VAPID_SUBJECT: "", PUBLIC_URL: "https://api.example.com" };
    expect(readConfig({ ...needed, ...given }).VAPID).toMatchObject({ subject: "https://api.example.com" });
  });

  test.each([
    ["no public key", { VAPID_PUBLIC_KEY: "" }, "VAPID_PUBLIC_KEY is missing"],
    ["no private key", { VAPID_PRIVATE_KEY: "" }, "VAPID_PRIVATE_KEY is missing"],
    ["no subject", { VAPID_SUBJECT: "" }, "VAPID_SUBJECT is missing"],
    [
      "the two keys swapped",
      { VAPID_PUBLIC_KEY: vapid.VAPID_PRIVATE_KEY },
      "VAPID_PUBLIC_KEY must be a point of P-256",
    ],
    ["a truncated key", { VAPID_PRIVATE_KEY: "AAAA" }, "VAPID_PRIVATE_KEY must be 32 bytes"],
    ["the key of another pair", { VAPID_PRIVATE_KEY: newVapidKeys().VAPID_PRIVATE_KEY }, "does not belong to"],
    ["a key outside the curve", { VAPID_PRIVATE_KEY: "_".repeat(43) }, "VAPID_PRIVATE_KEY does not belong to"],
    ["a name as subject", { VAPID_SUBJECT: "admin" }, "VAPID_SUBJECT must be a mailto: or https: address"],
    [
      "an http address as subject",
      { VAPID_SUBJECT: "http://a.test" },
      "VAPID_SUBJECT must be a mailto: or https: address",
    ],
    [
      "an http PUBLIC_URL in place of a subject",
      { VAPID_SUBJECT: "", PUBLIC_URL: "http://api.example.com" },
      "VAPID_SUBJECT is missing, and PUBLIC_URL, its default, is no https address: set one such as mailto:",
    ],
  ])("with %s are refused with a message that names it", (_case, changes, words) => {
    expect(faultOf({ ...vapid, ...changes })).toContain(words);
  });
});

describe("FCM_SERVICE_ACCOUNT", () => {
  test("is read as the Firebase console provides it", () => {
    const given = { ...account, universe_domain: "googleapis.com", token_uri: "https://oauth2.googleapis.com/token" };
    expect(readConfig({ ...needed, FCM_SERVICE_ACCOUNT: JSON.stringify(given) }).FCM_SERVICE_ACCOUNT).toMatchObject({
      project_id: "marketplace",
      token_uri: "https://oauth2.googleapis.com/token",
    });
  });

  test.each([
    ["invalid JSON", "secret"],
    ["a file name", "/run/secrets/account.json"],
    ["another type of account", JSON.stringify({ ...account, type: "authorized_user" })],
    ["no project", JSON.stringify({ ...account, project_id: undefined })],
    ["no client email", JSON.stringify({ ...account, client_email: undefined })],
    ["no key", JSON.stringify({ ...account, private_key: undefined })],
    ["a broken key", JSON.stringify({ ...account, private_key: privateKey.slice(0, 200) })],
    ["a path as project", JSON.stringify({ ...account, project_id: "../other" })],
  ])("with %s is refused with a message that names it and shows no value", (_case, value) => {
    const fault = faultOf({ FCM_SERVICE_ACCOUNT: value });
    expect(fault).toMatch(/^Wrong configuration: FCM_SERVICE_ACCOUNT must be the JSON key of a service account/);
    expect(fault).not.toContain(value);
  });

  test("requires TLS in production", () => {
    const sms = { SMS_SENDER: "http", SMS_HTTP_URL: "https://sms.example.com" };
    const other = { STORAGE_DIR: "/srv/files", METRICS_TOKEN: "a long secret" };
    const production = { NODE_ENV: "production", PUBLIC_URL: "https://api.example.com", ...sms, ...other };
    const FCM_SERVICE_ACCOUNT = JSON.stringify(account);
    expect(faultOf({ ...production, FCM_SERVICE_ACCOUNT })).toBe("none");
    expect(faultOf({ ...production, FCM_URL: "http://fcm.example.com" })).toContain("FCM_URL must be https");
    const plain = JSON.stringify({ ...account, token_uri: "http://oauth.example.com/token" });
    expect(faultOf({ ...production, FCM_SERVICE_ACCOUNT: plain })).toContain("must have an https token_uri");
  });
});
