import { newCredentialsKey, newSigningKey } from "../lib/process/keys.js";

/** Scripts that load the API for its OpenAPI document import this first. It reaches no database for that. */
Object.assign(process.env, {
  DATABASE_URL: "postgres://localhost/none",
  PUBLIC_URL: "https://api.surplus-food.test",
  SIGNING_KEYS: newSigningKey(),
  CREDENTIALS_KEYS: newCredentialsKey(),
});
