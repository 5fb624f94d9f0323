import { availableParallelism } from "node:os";
import { z } from "zod";
import { contract } from "./contract.js";

/** Converts an uploaded image, or refuses it, and deletes the original. */
export const images = contract({
  queue: "images",
  payload: z.object({ fileId: z.uuid() }),
  // the storage may be away for minutes
  attempts: 8,
  backoffMs: 5_000,
  // each job uses a core
  concurrency: availableParallelism(),
});
