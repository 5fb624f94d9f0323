import { z } from "zod";
import type { PosChange } from "./adapter.js";

/** A change as it is kept between the webhook that told of it and the job that makes it ours. */
export const PosChangeJson: z.ZodType<PosChange> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("menu.updated") }),
  z.object({
    kind: z.literal("item.availability"),
    items: z.array(z.object({ externalId: z.string(), available: z.boolean() })),
  }),
  z.object({
    kind: z.literal("order.created"),
    items: z.array(z.object({ externalId: z.string(), qty: z.int() })),
    totalMinor: z.int(),
    customerPhone: z.string().nullable(),
    address: z.string().nullable(),
  }),
  z.object({ kind: z.literal("order.status"), orderExternalId: z.string(), status: z.string() }),
]);

/** What tells an event apart where events of several types may have one number, as an order's do. */
export const eventIdOf = (type: string, externalId: string) => `${type}:${externalId}`;

const ofNewOrder = eventIdOf("order.created", "");

/** An order's own number, by the event that told of it; where a provider's ids have no type it is the id. */
export const orderNumberOf = (eventId: string) =>
  eventId.startsWith(ofNewOrder) ? eventId.slice(ofNewOrder.length) : eventId;
