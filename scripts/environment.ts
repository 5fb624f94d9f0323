import "./command.js";
import { join } from "node:path";
import { loadEnvFile } from "./load-env-file.js";

/**
 * Scripts that read the environment import this first. Variables that the shell does not set come from `.env`, and then from the
 * files that `npm start` keeps in DATA_DIR.
 */

loadEnvFile(".env");
const folder = process.env["DATA_DIR"] ?? ".data";
loadEnvFile(join(folder, "keys.env"));
loadEnvFile(join(folder, "database.env"));

/** Reports a script's failure in one line. */
process.on("uncaughtException", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
