import "./environment.js";

/** Scripts that work on a service import this first: without any configuration they say where it comes from, in one line; in production the report of what is missing does. */

const required = ["DATABASE_URL", "SIGNING_KEYS", "CREDENTIALS_KEYS"];

if (process.env["NODE_ENV"] !== "production" && required.every((name) => !process.env[name])) {
  process.stderr.write(
    `No service is configured here: run npm start first, whose Postgres and keys scripts find in DATA_DIR, or set the deployment's environment (scripts/ops/configuration.md has all variables).\n`,
  );
  process.exit(1);
}
