import "./command.js";
import { withMigratedDatabase } from "./migrated-database.js";
import { runTool } from "./run-tool.js";

// `npm run lint`: types, rules and formatting of everything, and the OpenAPI document. `npm run lint -- api/http …`: rules and formatting of these paths.
// Statements are checked against a migrated database.

const paths = process.argv.slice(2);
const linted = paths.length > 0 ? paths : ["."];

async function checkTheRest(): Promise<number> {
  const format = await runTool("prettier", ["--check", "--log-level", "warn", "--cache", ...linted]);
  if (paths.length > 0) return format;
  const types = await runTool("tsc", ["--noEmit"]);
  return Math.max(format, types, await runTool("tsx", ["scripts/lint/openapi.ts"]));
}

await withMigratedDatabase(async (databaseUrl) => {
  // ESLint takes about as long as the other two, and keeps one core busy
  const codes = await Promise.all([
    runTool("eslint", ["--max-warnings", "0", ...linted], { ...process.env, LINT_DATABASE_URL: databaseUrl }),
    checkTheRest(),
  ]);
  process.exitCode = Math.max(...codes);
});
