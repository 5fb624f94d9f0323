import { z } from "zod";
import { contract } from "./contract.js";

/**
 * Works off what a partner's POS told us, event by event in the order in which it came in; or, with `eventId`, tries one
 * that was parked once more.
 */
export const posEvents = contract({
  queue: "pos-events",
  payload: z.object({ partnerId: z.uuid(), eventId: z.int().nullable() }),
  attempts: 10,
  backoffMs: 2_000,
});
