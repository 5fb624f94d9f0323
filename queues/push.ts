import { z } from "zod";
import { contract } from "./contract.js";

/** Tells one user of one event. */
export const push = contract({
  queue: "push",
  payload: z.object({ notificationId: z.uuid() }),
  attempts: 8,
  backoffMs: 2_000,
  concurrency: 20,
});
