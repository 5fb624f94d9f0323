import { z } from "zod";
import { contract } from "./contract.js";

/** Measures how far a partner's coordinates are from its address, while no request waits for the geocoder. */
export const addressChecks = contract({
  queue: "address-checks",
  payload: z.object({ partnerId: z.uuid() }),
  attempts: 6,
  backoffMs: 10_000,
  concurrency: 1,
});
