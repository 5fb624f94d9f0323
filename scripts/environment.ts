import "./command.js";
import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * Scripts that read the environment import this first. Variables that the shell does not set come from `.env`, and then from the
 * files that `npm start` keeps in DATA_DIR.
 */

const load = (file: string) => existsSync(file) && process.loadEnvFile(file);

load(".env");
const folder = process.env["DATA_DIR"] ?? ".data";
load(join(folder, "keys.env"));
load(join(folder, "database.env"));

/** Reports a script's failure in one line. */
process.on("uncaughtException", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
