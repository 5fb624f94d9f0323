import { z } from "zod";
import { contract } from "./contract.js";

/** Sends an endpoint the events that it waits for, one after the other in their order, each at least once. */
export const webhooks = contract({
  queue: "webhooks",
  payload: z.object({ endpointId: z.uuid() }),
  attempts: 8,
  backoffMs: 2_000,
  // most of the time a slot waits for an answer; three quarters may be held by endpoints that give none
  concurrency: 200,
});
