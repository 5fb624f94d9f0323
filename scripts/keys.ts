import { newCredentialsKey, newSigningKey } from "../lib/keys.js";

// Two lines for a .env file.
process.stdout.write(`SIGNING_KEYS='${newSigningKey()}'\nCREDENTIALS_KEYS=${newCredentialsKey()}\n`);
