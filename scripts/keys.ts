import "./command.js";
import { randomBytes } from "node:crypto";
import { newCredentialsKey, newSigningKey } from "../lib/process/keys.js";
import { newVapidPair } from "../lib/process/push-keys.js";

// Lines for a .env file.
const lines = {
  SIGNING_KEYS: `'${newSigningKey()}'`,
  CREDENTIALS_KEYS: newCredentialsKey(),
  METRICS_TOKEN: randomBytes(24).toString("base64url"),
  ...newVapidPair(),
};
for (const [name, value] of Object.entries(lines)) process.stdout.write(`${name}=${value}\n`);
