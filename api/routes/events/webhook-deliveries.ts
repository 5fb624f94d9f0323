import { randomUUID } from "node:crypto";
import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { pingOf } from "../../../lib/domain/event-types.js";
import { callWebhook, isAccepted } from "../../../lib/outbound/webhook.js";
import { sql, transaction } from "../../../sql/db.js";
import { EVENT_DAYS } from "../../../sql/queries/events.js";
import { findWebhookTarget } from "../../../sql/queries/webhook-operations.js";
import {
  decryptWebhookSecrets,
  findWebhookEndpoint,
  listWebhookDeliveries,
  resendWebhook,
} from "../../../sql/queries/webhooks.js";
import { endpointStopped, MOST_RESENT, resendEvents } from "../../common/webhook-endpoints.js";
import { accepted, found, ok, section } from "../../http/endpoint.js";
import { pageBy, pageQuery } from "../../http/pagination.js";
import { notFound, notTheOwner } from "../../http/refusals.js";
import { Id, Instant, shownAs, Timestamp } from "../../http/schemas.js";
import { ownerOf } from "./owner.js";

/** A test occupies a request of this process until the receiver answers. */
const TESTS_PER_MINUTE = 30;
const RESENDS_PER_MINUTE = 30;

const DeliveryStatus = z.enum(enums.webhookStatus);

const DeliveryView = z
  .object({
    position: z.int().meta({ description: "of the event in the log", example: 2_078_200_000_000_042 }),
    eventId: Id.meta({ description: "`webhook-id`" }),
    type: z.string().meta({ example: "order.placed" }),
    status: DeliveryStatus,
    attempts: z.int(),
    answered: z.int().nullable().meta({ description: "the status of the last answer; null without one", example: 200 }),
    answer: z.string().nullable().meta({ description: "how the last answer begins, or why there was none" }),
    ms: z.int().nullable(),
    attemptedAt: Timestamp.nullable(),
    nextAttemptAt: Timestamp.nullable().meta({ description: "null: it is settled" }),
  })
  .meta({ id: "WebhookDelivery" });

const Position = z
  .string()
  .regex(/^[1-9]\d{0,15}$/, "must be a whole number")
  .transform(Number)
  .meta({ example: "2078200000000042" });

/** The page that lists the results of deliveries. */
const deliveriesAt = (id: string) => `/api/v1/webhook-endpoints/${id}/deliveries`;

/** Finds an owner's endpoint that is not stopped; throws 404 or 409. */
async function requireRunning(id: string, owner: string | null): Promise<void> {
  const endpoint = found(await findWebhookEndpoint(sql, id, owner), "This endpoint");
  if (endpoint.stoppedAt !== null) throw endpointStopped();
}

export const webhookDeliveries = section({ prefix: "/webhook-endpoints", tag: "Events" });

webhookDeliveries.get(
  "/:id/deliveries",
  {
    name: "listWebhookDeliveries",
    summary: "List what was sent to a webhook endpoint, the latest event first",
    description: "Of the last 30 days.",
    auth: "WEBHOOK_WRITER",
    query: pageQuery(z.int()).extend({
      status: DeliveryStatus.transform((status) => [status])
        .default([...DeliveryStatus.options])
        .meta({ override: shownAs({ type: "string", enum: [...DeliveryStatus.options] }) }),
    }),
    answers: { 200: z.array(DeliveryView) },
    errors: [notTheOwner],
  },
  async ({ user, partner, params: { id }, query, address }) => {
    found(await findWebhookEndpoint(sql, id, await ownerOf(user, partner)), "This endpoint");
    const { rows, headers } = await pageBy(
      address,
      query,
      (after, limit) => listWebhookDeliveries(sql, id, query.status, after, limit),
      ({ position }) => position,
    );
    return ok(rows, headers);
  },
);

webhookDeliveries.post(
  "/:id/deliveries/:position/resend",
  {
    name: "resendWebhook",
    summary: "Send an event to a webhook endpoint again",
    auth: "WEBHOOK_WRITER",
    params: z.object({ id: Id, position: Position }),
    answers: { 202: z.object({ position: z.int().meta({ example: 2_078_200_000_000_042 }) }) },
    errors: [endpointStopped, notTheOwner],
  },
  async ({ user, partner, params: { id, position } }) => {
    await requireRunning(id, await ownerOf(user, partner));
    if (!(await resendWebhook(sql, id, position))) throw notFound("This delivery");
    return accepted({ position }, deliveriesAt(id));
  },
);

webhookDeliveries.post(
  "/:id/resend",
  {
    name: "resendWebhooks",
    summary: "Send the events of a time to a webhook endpoint again",
    description:
      `In the order of the log, before newer events: what it got, what failed, and what it missed while it was stopped. The log has ${EVENT_DAYS} days. ` +
      `At most ${MOST_RESENT.toLocaleString("en")} events at once: while \`more\` is true, ask again with the \`after\` of the answer.`,
    auth: "WEBHOOK_WRITER",
    limit: { name: "webhook resends", perMinute: RESENDS_PER_MINUTE },
    body: z.object({
      since: Instant.meta({ description: "events that happened then or later" }),
      before: Instant.optional().meta({ description: "only events that happened before this time; all by default" }),
      after: z.int().min(0).default(0).meta({ description: "only events at later positions" }),
    }),
    answers: {
      202: z
        .object({
          events: z.int().meta({ description: "how many are sent again" }),
          after: z
            .int()
            .nullable()
            .meta({ description: "the position of the last of them", example: 2_078_200_000_000_042 }),
          more: z.boolean().meta({ description: "whether there may be more" }),
        })
        .meta({ id: "ResentWebhooks" }),
    },
    errors: [endpointStopped, notTheOwner],
  },
  async ({ user, partner, params: { id }, body: { since, before = new Date(), after } }) => {
    await requireRunning(id, await ownerOf(user, partner));
    return accepted(await transaction((tx) => resendEvents(tx, id, { since, before, after })), deliveriesAt(id));
  },
);

webhookDeliveries.post(
  "/:id/test",
  {
    name: "testWebhookEndpoint",
    summary: "Send a ping to a webhook endpoint, and read what it answers",
    description:
      "A message of the type `ping`, signed as all others. It is sent once, at once, also to an endpoint that is stopped, and it is in no list of deliveries.",
    auth: "WEBHOOK_WRITER",
    limit: { name: "webhook tests", perMinute: TESTS_PER_MINUTE },
    waits: true,
    answers: {
      200: z
        .object({
          accepted: z.boolean().meta({ description: "whether the answer was 2xx" }),
          answered: z
            .int()
            .nullable()
            .meta({ description: "the status of the answer; null without one", example: 204 }),
          answer: z.string().meta({ description: "how the answer begins, or why there was none" }),
          ms: z.int(),
        })
        .meta({ id: "WebhookTest" }),
    },
    errors: [notTheOwner],
  },
  async ({ user, partner, params: { id } }) => {
    const target = found(await findWebhookTarget(sql, id, await ownerOf(user, partner)), "This endpoint");
    const outcome = await callWebhook({
      url: target.url,
      id: randomUUID(),
      body: JSON.stringify(pingOf(id, new Date())),
      secrets: decryptWebhookSecrets(id, target),
    });
    const { status, answer, ms } = outcome;
    return ok({ accepted: isAccepted(outcome), answered: status, answer, ms });
  },
);
