/**
 * Every script imports this first, so that `--help` shows what it does before anything else is read or done. A script whose
 * reader goes away (`npm run keys | head -1`) ends quietly.
 */

interface Command {
  /** How it is called; without a bracket or `--` it takes no arguments. */
  readonly call: string;
  readonly what: string;
}

const commands: Readonly<Record<string, Command>> = {
  start: {
    call: "npm start, or npm run dev",
    what: "Runs everything on this machine: Postgres (unless DATABASE_URL names one), the API and the workers. With dev they restart when the source changes.",
  },
  demo: { call: "npm run demo", what: "Plays a day on the running npm start, over HTTP alone." },
  "log-in": {
    call: "npm run --silent log-in [-- +79991234567]",
    what: "Prints an access token of the running npm start, the admin's without a phone. It keeps the login in DATA_DIR.",
  },
  check: {
    call: "npm run check [-- --phone +79991234567]",
    what: "Says what is configured, reaches every dependency, and prints a table. An SMS is sent to --phone only.",
  },
  migrate: { call: "node dist/scripts/migrate.js", what: "Brings the database up to date; several at once are safe." },
  keys: { call: "npm run keys", what: "Prints new keys and a token, as lines for the environment." },
  "grant-admin": {
    call: "npm run grant-admin -- +79991234567 [--read-only] [--revoke]",
    what: "Gives the admin role to a user who has logged in, or takes it away; with --read-only the right to look at the console.",
  },
  operate: {
    call: "npm run ops -- <command>",
    what: "The operators' console in a shell: shows the queues, finds what happened, acts on jobs and queues; without a command it lists them. --json prints JSON; what changes something needs --why and --yes.",
  },
  replay: {
    call: "npm run replay -- <job's number>|<queue>",
    what: "Replays a dead job, by its number or the id that the dashboard shows, or all dead jobs of a queue.",
  },
  upkeep: { call: "npm run upkeep -- <task>", what: "Runs an upkeep task now; without a name it lists the tasks." },
  rollup: {
    call: "npm run rollup -- --from YYYY-MM-DD [--to YYYY-MM-DD]",
    what: "Recomputes the rollups of these past days, both ends included; --to is yesterday by default.",
  },
  "rotate-credentials": {
    call: "npm run rotate-credentials",
    what: "Encrypts stored credentials with the first of CREDENTIALS_KEYS, while the service runs.",
  },
  "restore-drill": {
    call: "npm run restore-drill [-- backup.dump]",
    what: "Dumps the database, restores the dump beside it, and compares both; a proven dump is kept under the given name.",
  },
  seed: {
    call: "npm run seed -- [--scale 0.01] [--beside]",
    what: "Fills a development database with a made-up marketplace; scale 1 is a million orders, 10 the most. --beside adds it to the data that is there.",
  },
  build: { call: "npm run build", what: "Compiles what production runs into dist." },
  client: {
    call: "npm run client",
    what: "Makes the client for apps from the OpenAPI document, as a package in .client.",
  },
  test: {
    call: "npm test [-- test/lib …]",
    what: "Runs the linter and all tests, or only the tests under these paths.",
  },
  lint: {
    call: "npm run lint [-- api/http …]",
    what: "Checks types, rules and formatting of everything, or rules and formatting of these paths.",
  },
  fuzz: { call: "npm run fuzz [-- --requests 100000]", what: "Sends that many generated requests, valid and hostile." },
  bench: {
    call: "npm run bench -- [--quick] [--json FILE] [--compare FILE] [chapter…], or npm run bench -- --table FILE",
    what: "Compares the service with the libraries it is built on, side by side. --json writes the figures to a file, --compare prints the change of each goal since those of a file, --table writes those of a file into the README.",
  },
  "bench/capacity": {
    call: "npm run capacity -- [--quick] [--json FILE], or npm run capacity -- --table FILE",
    what: "Measures what an order and other operations cost in all processes, and prints what a deployment of each size needs. --json writes the figures to a file, --table writes what follows from those of a file into scripts/ops/capacity.md.",
  },
  "write-variables": {
    call: "npm run variables",
    what: "Writes .env.example and the table of variables in scripts/ops/configuration.md.",
  },
  "write-schema": { call: "npm run schema", what: "Writes sql/schema.sql from the migrations." },
  "write-surface": {
    call: "npm run surface",
    what: "Writes scripts/lint/released.json, what apps rely on in the API: once for each release.",
  },
};

const [, name = ""] = /scripts\/(.+?)(?:\/main)?\.[jt]s$/.exec((process.argv[1] ?? "").replaceAll("\\", "/")) ?? [];
const command = commands[name];

/** How this script is called, in one line. */
export const usage = `Usage: ${command?.call ?? name}`;

process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

if (command && process.argv.includes("--help")) {
  process.stdout.write(`${usage}\n\n${command.what}\n`);
  process.exit(0);
}

// one that is ignored would seem to work
if (command && process.argv.length > 2 && !/[[<]| -- /.test(command.call)) {
  process.stderr.write(`${usage}; it takes no arguments\n`);
  process.exit(1);
}
