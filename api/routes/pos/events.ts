import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { sql, transaction } from "../../../sql/db.js";
import { hasPosEvent, listPosEvents, replayPosEvent } from "../../../sql/queries/pos-events.js";
import { ok, section } from "../../http/endpoint.js";
import { page, pageQuery } from "../../http/pagination.js";
import { refusal } from "../../http/refusal.js";
import { notFound } from "../../http/refusals.js";
import { Id, shownAs, Timestamp } from "../../http/schemas.js";

const EventStatus = z.enum(enums.posEventStatus);
const EventId = z
  .int()
  .min(1)
  .meta({ description: "ascending in the order in which events were received", example: 4711 });

const EventView = z
  .object({
    id: EventId,
    partnerId: Id,
    provider: z.string(),
    account: z.string(),
    eventId: z.string().meta({ description: "the provider's id", example: "order.created:order-4711" }),
    kind: z.string().meta({ example: "order.created" }),
    status: EventStatus,
    attempts: z.int().meta({ description: "failed attempts since it was received or replayed", example: 1 }),
    reason: z.string().nullable().meta({
      description: "why the last attempt failed, or which part could not be applied",
    }),
    receivedAt: Timestamp,
    settledAt: Timestamp.nullable().meta({
      description: "when it was processed, or when it was last parked or failed",
    }),
  })
  .meta({ id: "PosEvent" });

const eventNotParked = refusal(
  409,
  "CONFLICT",
  "EVENT_NOT_PARKED",
  "This event is not parked.",
  "Read the event again: it waits, or has been processed.",
);

export const posEvents = section({ prefix: "/admin/pos/events", tag: "POS" });

posEvents.get(
  "/",
  {
    name: "listPosEvents",
    summary: "List POS events, newest first",
    description: "Of the last 30 days, without customer data.",
    auth: "ADMIN",
    query: pageQuery(EventId).extend({
      status: EventStatus.transform((status) => [status])
        .default([...EventStatus.options])
        .meta({ override: shownAs({ type: "string", enum: [...EventStatus.options] }) }),
    }),
    answers: { 200: z.array(EventView) },
  },
  ({ query, address }) =>
    page(
      address,
      query,
      (after, limit) => listPosEvents(sql, query.status, after, limit),
      ({ lastError, kind, ...row }) => ({ ...row, kind: kind ?? "", reason: lastError }),
    ),
);

posEvents.post(
  "/:id/replay",
  {
    name: "replayPosEvent",
    summary: "Replay a parked event",
    description:
      "Puts the event back into its partner's inbox, where it is applied before later events. If it fails again, it is " +
      "parked with the new reason.",
    auth: "ADMIN",
    params: z.object({
      id: z
        .string()
        .regex(/^[1-9]\d{0,14}$/, "must be a whole number")
        .transform(Number)
        .meta({ example: "4711" }),
    }),
    answers: { 200: z.object({ id: EventId, status: EventStatus }) },
    errors: [eventNotParked],
  },
  async ({ user, params: { id }, requestId }) => {
    const replayed = await transaction((tx) => replayPosEvent(tx, id, user.id, requestId));
    if (!replayed) throw (await hasPosEvent(sql, id)) ? eventNotParked() : notFound("This event");
    return ok({ id, status: "QUEUED" as const });
  },
);
