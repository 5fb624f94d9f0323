import { z } from "zod";
import { contract } from "./contract.js";

/** Sends one notification to its user's devices, within their preferences and quiet hours. */
export const push = contract({
  queue: "push",
  payload: z.object({ notificationId: z.uuid() }),
  attempts: 8,
  backoffMs: 2_000,
  concurrency: 100,
});
