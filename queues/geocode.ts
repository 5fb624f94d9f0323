import { z } from "zod";
import { contract } from "./contract.js";

/** Asks the provider where an address is, for all who wait for it; or where a partner's is, and how far off its coordinates are. */
export const geocode = contract({
  queue: "geocode",
  payload: z.object({ geocodeId: z.uuid().nullable(), partnerId: z.uuid().nullable() }),
  attempts: 6,
  backoffMs: 10_000,
  concurrency: 2,
});
