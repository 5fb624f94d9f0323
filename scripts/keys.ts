import { newCredentialsKey, newSigningKey } from "../lib/process/keys.js";
import { newVapidKeys } from "../lib/process/push-keys.js";

// Lines for a .env file.
process.stdout.write(`SIGNING_KEYS='${newSigningKey()}'\nCREDENTIALS_KEYS=${newCredentialsKey()}\n`);
for (const [name, value] of Object.entries(newVapidKeys())) process.stdout.write(`${name}=${value}\n`);
