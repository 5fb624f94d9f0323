import "./configured.js";
import { prepareDatabase } from "./prepare-database.js";

try {
  const applied = await prepareDatabase();
  process.stdout.write(applied.length === 0 ? "The database is up to date.\n" : `Applied ${applied.join(", ")}.\n`);
} catch (error) {
  process.stderr.write(`Migration failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
