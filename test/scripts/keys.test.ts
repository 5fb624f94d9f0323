import { execFile } from "node:child_process";
import { parseEnv, promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { readConfig } from "../../lib/process/environment.js";
import { compiled } from "../support/compiled.js";

test("prints lines for a .env file that the service can start with", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [compiled("scripts/keys.ts")], { env: {} });
  const printed = parseEnv(stdout);
  expect(Object.keys(printed).sort()).toEqual([
    "CREDENTIALS_KEYS",
    "METRICS_TOKEN",
    "SIGNING_KEYS",
    "VAPID_PRIVATE_KEY",
    "VAPID_PUBLIC_KEY",
    "VAPID_SUBJECT",
  ]);
  const config = readConfig({ ...printed, DATABASE_URL: "postgres://localhost/test" });
  expect(config.SIGNING_KEYS).toHaveLength(1);
  expect(config.CREDENTIALS_KEYS).toHaveLength(1);
  expect(config.VAPID).toMatchObject({ publicKey: printed["VAPID_PUBLIC_KEY"] });
});
