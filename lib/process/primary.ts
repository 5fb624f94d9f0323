import { config } from "./config.js";
import { followPrimary } from "./find-primary.js";
import { log } from "./log.js";

const wayBy = followPrimary((server) =>
  log.warn({ server }, "another Postgres is the primary now: sessions with any other are given up"),
);

/** The way of this process's sessions to the primary: through a pooler, if there is one. */
export const primary = wayBy(config.DATABASE_URL);

/** The way past the pooler. */
export const directPrimary = config.POOLED ? wayBy(config.DATABASE_DIRECT_URL) : primary;
