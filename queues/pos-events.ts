import { z } from "zod";
import { contract } from "./contract.js";

/** A partner whose inbox is to be drained, or a parked event to be retried once. */
const payload = z.union([z.strictObject({ partnerId: z.uuid() }), z.strictObject({ eventId: z.int() })]);

export type PosEventsPayload = z.output<typeof payload>;

/** Applies the events in a partner's inbox, in order of arrival; or retries one parked event. */
export const posEvents = contract({ queue: "pos-events", payload, attempts: 10, backoffMs: 2_000 });
