import { z } from "zod";
import { contract } from "./contract.js";

/** Geocodes an address for all requests that wait for it. */
export const geocode = contract({
  queue: "geocode",
  payload: z.object({ geocodeId: z.uuid() }),
  attempts: 6,
  backoffMs: 10_000,
  concurrency: 2,
});
