import { z } from "zod";
import { contract } from "./contract.js";

/**
 * Makes the figures of days that are over: of the days that have none, or none that are right any more (`DUE`); or of the
 * last ones all over again as well (`LATEST`). What was done when a run is cut short is done, and the next one goes on.
 */
export const rollups = contract({
  queue: "rollups",
  payload: z.object({ days: z.enum(["DUE", "LATEST"]) }),
  attempts: 3,
  backoffMs: 30_000,
  // they take turns in Postgres
  concurrency: 1,
});
