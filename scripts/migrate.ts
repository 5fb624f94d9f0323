import "./configured.js";
import { config } from "../lib/process/config.js";
import { closeBroker, prepareBroker } from "../queues/broker.js";
import { migrate } from "../sql/migrate.js";

try {
  const applied = await migrate(config.DATABASE_URL);
  await prepareBroker();
  process.stdout.write(applied.length === 0 ? "The database is up to date.\n" : `Applied ${applied.join(", ")}.\n`);
} catch (error) {
  process.stderr.write(`Migration failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await closeBroker();
}
