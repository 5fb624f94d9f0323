import { z } from "zod";
import { contract } from "./contract.js";

/** Either a partner whose mailbox is to be drained, or one parked event that is to be tried once more. */
const payload = z.union([z.strictObject({ partnerId: z.uuid() }), z.strictObject({ eventId: z.int() })]);

export type PosEventsPayload = z.output<typeof payload>;

/** Applies what a partner's POS told us, event by event in the order in which it came in; or tries one parked event again. */
export const posEvents = contract({ queue: "pos-events", payload, attempts: 10, backoffMs: 2_000 });
