import { z } from "zod";
import { contract } from "./contract.js";

/** Counts a batch of impressions and clicks, once, and completes the campaigns whose budget it spends. */
export const adEvents = contract({
  queue: "ad-events",
  payload: z.object({ batchId: z.uuid() }),
  attempts: 10,
  backoffMs: 1_000,
  // batches of one campaign wait for each other anyway
  concurrency: 4,
});
