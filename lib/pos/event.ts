import { z } from "zod";

/** A change as it is stored between the webhook that reports it and the job that applies it. */
export const PosChangeJson = z.discriminatedUnion("kind", [
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

export type PosChange = z.output<typeof PosChangeJson>;

/** Returns an event's id where events of several types may share a number, as those of one order do. */
export const eventIdOf = (type: string, externalId: string) => `${type}:${externalId}`;

const ofNewOrder = eventIdOf("order.created", "");

/** Returns an order's number from the id of the event that creates it; an id without a type is the number. */
export const orderNumberOf = (eventId: string) =>
  eventId.startsWith(ofNewOrder) ? eventId.slice(ofNewOrder.length) : eventId;
