import { z } from "zod";
import { contract } from "./contract.js";

/** Geocodes an address for all requests that wait for it, or measures how far a partner's coordinates are from its address. */
export const geocode = contract({
  queue: "geocode",
  payload: z.object({ geocodeId: z.uuid().nullable(), partnerId: z.uuid().nullable() }),
  attempts: 6,
  backoffMs: 10_000,
  concurrency: 2,
});
