import { execFile, spawn } from "node:child_process";
import { parseEnv, promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { readConfig } from "../../lib/process/read-config.js";
import { compiled } from "../support/compiled.js";
import { complaints } from "../support/processes.js";

test("prints lines for a .env file that the service can start with", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [compiled("scripts/keys.ts")], { env: {} });
  const printed = parseEnv(stdout);
  expect(Object.keys(printed).sort()).toEqual([
    "CREDENTIALS_KEYS",
    "METRICS_TOKEN",
    "SIGNING_KEYS",
    "VAPID_PRIVATE_KEY",
    "VAPID_PUBLIC_KEY",
  ]);
  const config = readConfig({
    ...printed,
    DATABASE_URL: "postgres://localhost/test",
    PUBLIC_URL: "https://api.example.com",
  });
  expect(config.SIGNING_KEYS).toHaveLength(1);
  expect(config.CREDENTIALS_KEYS).toHaveLength(1);
  expect(config.VAPID).toEqual({
    publicKey: printed["VAPID_PUBLIC_KEY"],
    privateKey: printed["VAPID_PRIVATE_KEY"],
    // push services can reach the operator there
    subject: "https://api.example.com",
  });
});

test("ends quietly when its reader goes away", async () => {
  const child = spawn(process.execPath, [compiled("scripts/keys.ts")], { env: {}, stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  expect(await complaints(child)).toBe("");
  expect(child.exitCode).toBe(0);
});
