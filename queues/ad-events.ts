import { z } from "zod";
import { contract } from "./contract.js";

/** Adds a batch of impressions and clicks up, once, and completes the campaigns whose budget that spends. */
export const adEvents = contract({
  queue: "ad-events",
  payload: z.object({ batchId: z.uuid() }),
  attempts: 10,
  backoffMs: 1_000,
  // batches of the same campaigns take turns anyway
  concurrency: 4,
});
