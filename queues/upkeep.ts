import { z } from "zod";
import { contract } from "./contract.js";

/** Runs one of the housekeeping tasks by name; each may be missed or repeated without harm. */
export const upkeep = contract({
  queue: "upkeep",
  payload: z.object({ task: z.string().min(1).max(64) }),
  attempts: 3,
  backoffMs: 5_000,
  concurrency: 4,
});
