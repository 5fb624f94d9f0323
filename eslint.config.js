import js from "@eslint/js";
import safeql from "@ts-safeql/eslint-plugin/config";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";
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
  { packages: ["bullmq", "ioredis"], rooms: ["queues/broker.ts", "workers", "scripts/bench", "test"] },
  { packages: ["pg"], rooms: ["queues/broker.ts", "sql", "scripts", "test"] },
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
      {
        // not the tests: they run their statements
        files: ["{lib,queues,sql,api,workers,scripts}/**/*.ts"],
        extends: [
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
              columns: { "staged_jobs.payload": "Payload" },
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
        ],
      },
    ]
  : [];

/** `npm run lint` names a project with just the files that it checks; an editor finds each file's project. */
const typed = process.env.LINT_PROJECT ? { project: process.env.LINT_PROJECT } : { projectService: true };

export default defineConfig(
  // examples import generated types, so their test compiles them
  globalIgnores(["dist/", ".client/", ".data/", "coverage/", "**/*.example.ts", "scripts/client/src/operations.ts"]),
  { linterOptions: { noInlineConfig: true } },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  { languageOptions: { parserOptions: typed } },
  {
    rules: {
      eqeqeq: "error",
      "@typescript-eslint/consistent-type-imports": ["error", { disallowTypeAnnotations: false }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // Express recognises an error handler by its four parameters
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  { files: ["test/**"], rules: { "@typescript-eslint/no-non-null-assertion": "off" } },
  {
    files: ["**/*.{js,mjs}"],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { globals: { console: "readonly", process: "readonly", URL: "readonly" } },
  },
  {
    // scripts of a page
    files: ["api/ops/docs-page/*.js"],
    languageOptions: {
      globals: {
        document: "readonly",
        fetch: "readonly",
        location: "readonly",
        sessionStorage: "readonly",
        SwaggerUIBundle: "readonly",
      },
    },
  },
  {
    // a program that a test runs in a page
    files: ["test/scripts/client/in-page.js"],
    languageOptions: {
      globals: {
        Blob: "readonly",
        fetch: "readonly",
        localStorage: "readonly",
        navigator: "readonly",
        window: "readonly",
      },
    },
  },
  {
    files: ["{api,lib,queues,sql,workers,scripts}/**/*.ts"],
    // benchmarks count and delete the jobs they staged
    ignores: ["sql/outbox.ts", "scripts/bench/**"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: ":matches(TemplateElement[value.raw=/staged_jobs/], Literal[value=/staged_jobs/])",
          message: "Only sql/outbox.ts and sql/functions/outbox.sql may name this table. Use their functions.",
        },
        {
          selector:
            'CallExpression[callee.name="transaction"] :function Identifier[name=/^(sql|lookups|contended|searches)$/]',
          message: "A statement over another connection is not part of the transaction: use its handle.",
        },
      ],
    },
  },
  {
    files: ["**/*.ts"],
    plugins: { house: { rules: { imports } } },
    rules: { "house/imports": ["error", { rooms, homes }] },
  },
  checkedSql,
);
