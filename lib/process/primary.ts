import { config } from "./config.js";
import { followPrimary } from "./find-primary.js";
import { log } from "./log.js";

/** The primary of this process's sessions. */
export const primary = followPrimary(config.DATABASE_URL, (server) =>
  log.warn({ server }, "another Postgres is the primary now: sessions with any other are given up"),
);
