import js from "@eslint/js";
import safeql from "@ts-safeql/eslint-plugin/config";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

/** What each folder may import from the others. */
const layers = {
  lib: [],
  queues: ["lib"],
  sql: ["lib", "queues"],
  api: ["lib", "queues", "sql"],
  workers: ["lib", "queues", "sql"],
  scripts: ["lib", "queues", "sql", "api", "workers"],
  test: ["lib", "queues", "sql", "api", "workers", "scripts"],
};

/** Where the packages that shape the house may be imported; benchmarks measure them bare, tests look behind the scenes. */
const homes = [
  {
    packages: ["express", "express-rate-limit", "helmet", "cors", "@bull-board", "swagger-ui-dist"],
    files: ["api", "scripts/bench"],
  },
  { packages: ["bullmq", "ioredis"], files: ["queues/broker.ts", "workers", "scripts/bench", "test"] },
  { packages: ["pg"], files: ["queues/broker.ts", "sql", "scripts", "test"] },
  { packages: ["postgres", "postgrator"], files: ["sql", "scripts/bench", "test"] },
];

/** Every place with rules of its own; a later one replaces an earlier one that contains it. */
const places = [...Object.keys(layers), "queues/broker.ts", "scripts/bench"];
const glob = (place) => (place.endsWith(".ts") ? place : `${place}/**/*.ts`);
const isWithin = (place, other) => place === other || place.startsWith(`${other}/`);

/** The modules that files in `place` may not import, as patterns with what to tell who tries. */
const refusals = (place) => {
  const folder = place.split("/")[0];
  const allowed = [folder, ...layers[folder]];
  const strangers = Object.keys(layers).filter((other) => !allowed.includes(other));
  const packages = homes
    .filter(({ files }) => !files.some((home) => isWithin(place, home)))
    .flatMap((home) => home.packages);
  return [
    {
      names: strangers,
      regex: `^(\\.\\.?/)+(${strangers.join("|")})/`,
      message: `${folder} imports only ${allowed.join(", ")}.`,
    },
    { names: packages, regex: `^(${packages.join("|")})(/|$)`, message: `This package is not for ${place}.` },
  ]
    .filter(({ names }) => names.length > 0)
    .map(({ regex, message }) => ({ regex, message }));
};

const importDirection = places.map((place) => ({
  files: [glob(place)],
  rules: {
    "@typescript-eslint/no-restricted-imports": ["error", { patterns: refusals(place) }],
    "no-restricted-syntax": [
      "error",
      ...refusals(place).map(({ regex, message }) => ({
        selector: `ImportExpression[source.value=/${regex.replaceAll("/", "\\u002F")}/]`,
        message,
      })),
    ],
  },
}));

/** A parameter's type that reaches Postgres as text: a string, a template or literals of it, or a named union of them. */
const textParameter = String.raw`(string|\u0060.*\u0060|(?!(Date|Buffer|Uint8Array|Parameter)\b)([A-Z]\w*|"[^"]*")( \| ([A-Z]\w*|"[^"]*"|null))*)`;

/**
 * Statements are checked against a migrated database, row types included. `npm run lint` brings the database; in an
 * editor the rest of the rules work without. Only whole statements can be checked, so none is put together from parts.
 * A jsonb column is `unknown` until it is parsed, unless its type is named here.
 */
const checkedSql = process.env.LINT_DATABASE_URL
  ? [
      {
        files: places.map(glob),
        // tests run what they write
        ignores: ["test/**"],
        extends: [
          safeql.configs.connections({
            databaseUrl: process.env.LINT_DATABASE_URL,
            targets: [
              {
                tag: { regex: "(db|sql|tx)" },
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

export default defineConfig(
  // examples are compiled beside generated types, by their test
  globalIgnores(["dist/", ".data/", "coverage/", "**/*.example.ts"]),
  { linterOptions: { noInlineConfig: true } },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  { languageOptions: { parserOptions: { projectService: true } } },
  {
    rules: {
      eqeqeq: "error",
      "@typescript-eslint/consistent-type-imports": ["error", { disallowTypeAnnotations: false }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // Express tells an error handler by its four parameters
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
  importDirection,
  checkedSql,
);
