import "./command.js";
import { withMigratedDatabase } from "./migrated-database.js";
import { runTool } from "./run-tool.js";

// `npm run lint`: types, rules and formatting of everything, and the OpenAPI document. `npm run lint -- api/http …`: rules and
// formatting of these paths. Statements are checked against a migrated database.

const paths = process.argv.slice(2);
const linted = paths.length > 0 ? paths : ["."];
/** A path may have documents or SQL only, for which a linter has no rules. Prettier refuses one that does not exist. */
const evenWithoutRules = "--no-error-on-unmatched-pattern";

/** Rules of this project, and its statements. */
async function checkHouse(): Promise<number> {
  let code = 1;
  await withMigratedDatabase(async (databaseUrl) => {
    const env = { ...process.env, LINT_DATABASE_URL: databaseUrl, TSESTREE_SINGLE_RUN: "true" };
    code = await runTool("eslint", ["--max-warnings", "0", "--no-warn-ignored", evenWithoutRules, ...linted], env);
  });
  return code;
}

/** Everything else. */
async function checkTheRest(): Promise<number> {
  const rules = await runTool("oxlint", ["--type-aware", "--deny-warnings", evenWithoutRules, ...linted]);
  const cached = ["--cache", "--cache-strategy", "content"];
  const format = await runTool("prettier", [
    "--check",
    "--ignore-unknown",
    "--log-level",
    "warn",
    ...cached,
    ...linted,
  ]);
  if (paths.length > 0) return Math.max(rules, format);
  const types = await runTool("npm", ["run", "--silent", "types"]);
  return Math.max(rules, format, types, await runTool("tsx", ["scripts/lint/openapi.ts"]));
}

// two processes of about the same weight
process.exitCode = Math.max(...(await Promise.all([checkHouse(), checkTheRest()])));
