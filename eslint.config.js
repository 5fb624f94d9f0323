import safeql from "@ts-safeql/eslint-plugin/config";
import { defineConfig, globalIgnores } from "eslint/config";
import * as parser from "@typescript-eslint/parser";
import { imports } from "./scripts/lint/imports.js";

/**
 * The rooms (folders or files), and what each may import besides its own contents. A file belongs to the room with the
 * longest path that contains it. A path stands for all that is in it; `*` stands for any one folder.
 */
const rooms = {
  "lib/domain": [],
  "lib/process": ["lib/domain"],
  "lib/security": ["lib/process"],
  "lib/outbound": ["lib/process"],
  "lib/storage": ["lib/process", "lib/security"],
  "lib/messaging": ["lib/domain", "lib/process", "lib/outbound"],
  "lib/geocoding": ["lib/process", "lib/security"],
  "lib/menu-csv": ["lib/domain"],
  "lib/statements": ["lib/domain"],
  "lib/pos": ["lib/domain", "lib/process", "lib/security", "lib/outbound"],
  queues: ["lib"],
  "sql/driver": ["lib"],
  "sql/db.ts": ["lib", "sql/driver"],
  sql: ["lib", "queues"],
  "sql/queries": ["lib", "queues", "sql"],
  "api/http": ["lib", "queues", "sql"],
  "api/common": ["lib", "queues", "sql", "api/http"],
  "api/ops": ["lib", "queues", "sql", "api/http", "api/common"],
  "api/routes/*": ["lib", "queues", "sql", "api/http", "api/common"],
  api: ["lib", "queues", "sql"],
  workers: ["lib", "queues", "sql"],
  scripts: ["lib", "queues", "sql", "api", "workers"],
  // a package of its own
  "scripts/client/src": [],
  test: ["lib", "queues", "sql", "api", "workers", "scripts"],
};

/** The only rooms that may import these packages. Benchmarks measure the bare packages; tests inspect Postgres and BullMQ. */
const homes = [
  {
    packages: ["express", "helmet", "cors", "@bull-board", "swagger-ui-dist"],
    rooms: ["api", "scripts/bench"],
  },
  {
    packages: ["bullmq", "ioredis"],
    rooms: ["queues/broker.ts", "queues/connections.ts", "queues/redis-broker.ts", "workers", "scripts/bench", "test"],
  },
  { packages: ["pg"], rooms: ["lib/process/find-primary.ts", "queues/broker.ts", "sql", "scripts", "test"] },
  { packages: ["@opentelemetry"], rooms: ["lib/process/otlp.ts"] },
  { packages: ["pdfkit"], rooms: ["lib/statements"] },
  { packages: ["postgres", "postgrator"], rooms: ["sql", "scripts/bench", "test"] },
];

/** Types of parameters that are sent as text: strings, template literals, string literals and named unions of those. */
const textParameter = String.raw`(string|\u0060.*\u0060|(?!(Date|Buffer|Uint8Array|Parameter)\b)([A-Z]\w*|"[^"]*")( \| ([A-Z]\w*|"[^"]*"|null))*)`;

/**
 * Checks every statement and its row type against a migrated database, which `npm run lint` starts. Without one, as in an
 * editor, the other rules still apply. Only whole static statements can be checked, so none is assembled from parts.
 * A jsonb column is `unknown` until it is parsed, unless its type is listed here.
 */
const checkedSql = process.env.LINT_DATABASE_URL
  ? [
      safeql.configs.connections({
        databaseUrl: process.env.LINT_DATABASE_URL,
        targets: [
          {
            tag: { regex: "(db|sql|tx)" },
            fieldTransform: "camel",
            transform: ["{type}[]", ["(null \\| unknown|unknown \\| null)", "unknown"]],
          },
        ],
        overrides: {
          columns: { "staged_jobs.payload": "Payload", "bulk_actions.argument": "Payload" },
          types: {
            int8: "number",
            bigint: "number",
            date: "string",
            text: { parameter: { regex: textParameter }, return: "string" },
            jsonb: { parameter: { regex: "Parameter<.*>" }, return: "unknown" },
            json: "unknown",
            bytea: { parameter: { regex: "(Buffer|Uint8Array)(<.*>)?" }, return: "Buffer" },
          },
        },
      }),
    ]
  : [];

/** Not the tests: they run their statements. */
const program = "{api,lib,queues,sql,workers,scripts}/**/*.ts";

/** What only this project refuses; `.oxlintrc.json` has the rules that are known everywhere. */
export default defineConfig(
  // examples import generated types, so their test compiles them
  globalIgnores(["dist/", ".client/", ".data/", "coverage/", "**/*.js", "**/*.example.ts"]),
  { linterOptions: { noInlineConfig: true } },
  {
    files: ["**/*.ts"],
    languageOptions: { parser },
    plugins: { house: { rules: { imports } } },
    rules: {
      "house/imports": ["error", { rooms, homes }],
      // a finding is mended, not silenced
      "no-warning-comments": ["error", { terms: ["eslint-disable", "oxlint-disable"], location: "anywhere" }],
    },
  },
  {
    files: [program],
    languageOptions: { parserOptions: { projectService: true } },
    extends: checkedSql,
  },
  {
    files: [program],
    // benchmarks count and delete the jobs they staged
    ignores: ["sql/outbox.ts", "sql/operators/*", "scripts/bench/**"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: ":matches(TemplateElement[value.raw=/staged_jobs/], Literal[value=/staged_jobs/])",
          message:
            "Only sql/outbox.ts, sql/operators and their SQL functions may name this table. Use their functions.",
        },
        {
          selector:
            'CallExpression[callee.name="transaction"] :function Identifier[name=/^(sql|lookups|contended|searches)$/]',
          message: "A statement over another connection is not part of the transaction: use its handle.",
        },
      ],
    },
  },
);
