import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * Imported first by scripts that are run by hand: what the shell does not give them they take from `.env`, and then from
 * the service that `npm start` runs or ran here.
 */

const load = (file: string) => existsSync(file) && process.loadEnvFile(file);

load(".env");
const folder = process.env["DATA_DIR"] ?? ".data";
load(join(folder, "keys.env"));
load(join(folder, "database.env"));

/** A script's failure is told in one line. */
process.on("uncaughtException", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
