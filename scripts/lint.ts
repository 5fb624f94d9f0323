import "./command.js";
import { newCredentialsKey, newSigningKey } from "../lib/process/keys.js";
import { withMigratedDatabase } from "./migrated-database.js";
import { runTool } from "./run-tool.js";

// `npm run lint`: types, rules and formatting of everything, and the OpenAPI document. `npm run lint -- api/http …`: rules and formatting of these paths.
// Statements are checked against a migrated database.

const paths = process.argv.slice(2);
const linted = paths.length > 0 ? paths : ["."];

/** What the API needs to be loaded; it reaches no database for its document. */
const apiEnvironment = {
  ...process.env,
  DATABASE_URL: "postgres://localhost/none",
  PUBLIC_URL: "https://api.surplus-food.test",
  SIGNING_KEYS: newSigningKey(),
  CREDENTIALS_KEYS: newCredentialsKey(),
};

async function checkTheRest(): Promise<number> {
  const format = await runTool("prettier", ["--check", "--log-level", "warn", "--cache", ...linted]);
  if (paths.length > 0) return format;
  const types = await runTool("tsc", ["--noEmit"]);
  return Math.max(format, types, await runTool("tsx", ["scripts/lint/openapi.ts"], apiEnvironment));
}

await withMigratedDatabase(async (databaseUrl) => {
  // ESLint takes about as long as the other two, and keeps one core busy
  const codes = await Promise.all([
    runTool("eslint", ["--max-warnings", "0", ...linted], { ...process.env, LINT_DATABASE_URL: databaseUrl }),
    checkTheRest(),
  ]);
  process.exitCode = Math.max(...codes);
});
