import { z } from "zod";
import { contract } from "./contract.js";

/** Pulls a partner's menu from its POS, and settles the sync with the result. */
export const posSync = contract({
  queue: "pos-sync",
  payload: z.object({ syncId: z.uuid() }),
  attempts: 5,
  backoffMs: 5_000,
  concurrency: 4,
});
