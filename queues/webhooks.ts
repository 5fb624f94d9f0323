import { z } from "zod";
import { contract } from "./contract.js";

/** Sends an endpoint its pending events one after the other, in order, each at least once. */
export const webhooks = contract({
  queue: "webhooks",
  payload: z.object({ endpointId: z.uuid() }),
  attempts: 8,
  backoffMs: 2_000,
  // a slot mostly waits for a response; endpoints that give none may hold three quarters of them
  concurrency: 200,
});
