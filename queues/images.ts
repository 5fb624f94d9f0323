import { availableParallelism } from "node:os";
import { z } from "zod";
import { contract } from "./contract.js";

/** Converts an uploaded image for whoever waits for it, or refuses it; the original is gone then. */
export const images = contract({
  queue: "images",
  payload: z.object({ fileId: z.uuid() }),
  attempts: 4,
  backoffMs: 2_000,
  // each takes a core for itself
  concurrency: availableParallelism(),
});
