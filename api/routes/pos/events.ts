import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { conflict, notFound } from "../../../lib/process/errors.js";
import { sql, transaction } from "../../../sql/db.js";
import { hasPosEvent, listPosEvents, replayPosEvent } from "../../../sql/queries/pos-events.js";
import { ok, section } from "../../http/endpoint.js";
import { pageBy, pageQuery } from "../../http/pagination.js";
import { Id, shownAs, Timestamp } from "../../http/schemas.js";

const EventStatus = z.enum(enums.posEventStatus);
const EventId = z
  .int()
  .min(1)
  .meta({ description: "numbers grow in the order in which events came in", example: 4711 });

const EventView = z
  .object({
    id: EventId,
    partnerId: Id,
    provider: z.string(),
    account: z.string(),
    eventId: z.string().meta({ description: "the provider's own", example: "order.created:order-4711" }),
    kind: z.string().meta({ example: "order.created" }),
    status: EventStatus,
    attempts: z.int().meta({ description: "how often it failed, since it came in or was replayed", example: 1 }),
    reason: z.string().nullable().meta({
      description: "why it failed the last time, or what of it could not be done",
      example: "the menu does not have some of the items",
    }),
    receivedAt: Timestamp,
    settledAt: Timestamp.nullable().meta({
      description: "when it was processed, or parked or tried in vain the last time",
    }),
  })
  .meta({ id: "PosEvent" });

export const posEvents = section({ prefix: "/admin/pos/events", tag: "POS" });

posEvents.get(
  "/",
  {
    summary: "List what POS systems told, newest first",
    description: "Of the last 30 days; without what it says of customers.",
    auth: "ADMIN",
    query: pageQuery(EventId).extend({
      status: EventStatus.transform((status) => [status])
        .default([...EventStatus.options])
        .meta({ override: shownAs({ type: "string", enum: [...EventStatus.options] }) }),
    }),
    answers: { 200: z.array(EventView) },
  },
  async ({ query, address }) => {
    const { rows, headers } = await pageBy(
      address,
      query,
      (after, limit) => listPosEvents(sql, query.status, after, limit),
      ({ id }) => id,
    );
    return ok(
      rows.map(({ lastError, kind, receivedAt, settledAt, ...row }) => ({
        ...row,
        kind: kind ?? "",
        reason: lastError,
        receivedAt: receivedAt.toISOString(),
        settledAt: settledAt?.toISOString() ?? null,
      })),
      headers,
    );
  },
);

posEvents.post(
  "/:id/replay",
  {
    summary: "Work an event off again that was parked",
    description:
      "It goes back into its partner's mailbox and is worked off before what came in later. When it fails again it is parked " +
      "again, with the reason.",
    auth: "ADMIN",
    params: z.object({
      id: z
        .string()
        .regex(/^[1-9]\d{0,14}$/)
        .transform(Number)
        .meta({ example: "4711" }),
    }),
    answers: { 200: z.object({ id: EventId, status: EventStatus }) },
    errors: ["409 CONFLICT"],
  },
  async ({ user, params: { id }, requestId }) => {
    const replayed = await transaction((tx) => replayPosEvent(tx, id, user.id, requestId));
    if (!replayed) throw (await hasPosEvent(sql, id)) ? conflict("This event is not parked.") : notFound("This event");
    return ok({ id, status: "QUEUED" as const });
  },
);
