import { config } from "../lib/process/config.js";
import { closeBroker, prepareBroker } from "../queues/broker.js";
import { sessionSettings } from "../sql/driver/session-settings.js";
import { migrate } from "../sql/migrate.js";

/** Brings the configured database and the broker's tables in it up to date; returns the names of the applied migrations. */
export async function prepareDatabase(): Promise<string[]> {
  try {
    const applied = await migrate(config.DATABASE_DIRECT_URL, undefined, config.POOLED ? sessionSettings : undefined);
    await prepareBroker();
    return applied;
  } finally {
    await closeBroker();
  }
}
