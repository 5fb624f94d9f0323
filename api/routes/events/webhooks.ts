import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { eventTypes } from "../../../lib/domain/event-types.js";
import { newWebhookSecret, refusalOfAddress } from "../../../lib/outbound/webhook.js";
import { encryptEnvelope } from "../../../lib/security/envelope.js";
import { sql, transaction } from "../../../sql/db.js";
import {
  deleteWebhookEndpoint,
  findWebhookEndpoint,
  insertWebhookEndpoint,
  listWebhookDeliveries,
  listWebhookEndpoints,
  lockWebhookEndpoints,
  newWebhookEndpointId,
  resendWebhook,
  scheduleWebhooks,
  updateWebhookEndpoint,
  updateWebhookSecret,
  webhookSecretContext,
  type WebhookEndpointRow,
} from "../../../sql/queries/webhooks.js";
import { accepted, created, found, noContent, ok, section } from "../../http/endpoint.js";
import { page, pageBy, PageQuery, pageQuery } from "../../http/pagination.js";
import { refusal, refusalWith } from "../../http/refusal.js";
import { invalidFields, notFound } from "../../http/refusals.js";
import { changesOf, Id, orNull, shownAs, text, Timestamp } from "../../http/schemas.js";

/** Endpoints of a partner, and of the platform. */
const MOST_ENDPOINTS = { partner: 10, platform: 100 };
/** For so long the receiver may still know the old secret alone. */
const OVERLAP_HOURS = 24;
const HOUR_MS = 60 * 60_000;

const tooManyEndpoints = refusalWith(409, "CONFLICT", "TOO_MANY_WEBHOOK_ENDPOINTS", {
  detail: ({ most }) => `There are ${most} webhook endpoints already.`,
  remedy: "Delete one, or let one endpoint take several types of events.",
  facts: { most: z.int() },
  example: { most: MOST_ENDPOINTS.partner },
});
const endpointStopped = refusal(
  409,
  "CONFLICT",
  "WEBHOOK_ENDPOINT_STOPPED",
  "Nothing is sent to this endpoint now.",
  "Enable the endpoint first.",
);

const Types = z
  .array(z.string())
  .min(1)
  .max(100)
  .refine((names) => names.every((name) => eventTypes.has(name)), "must be types of events")
  .transform((names) => [...new Set(names)])
  .meta({ description: "only events of these types; null: all", example: ["order.placed", "order.cancelled"] });

const Url = text(2_048).meta({
  description: "an https address that anybody can reach; redirects are not followed",
  example: "https://example.com/events",
});

const NewEndpoint = z.object({
  url: Url,
  types: orNull(Types.nullable()),
  description: orNull(text(200).nullable()).meta({ description: "for people", example: "Accounting" }),
});

const EndpointView = z
  .object({
    id: Id,
    url: z.string().meta({ example: "https://example.com/events" }),
    description: z.string().nullable().meta({ example: "Accounting" }),
    types: z
      .array(z.string())
      .nullable()
      .meta({ example: ["order.placed"] }),
    enabled: z.boolean(),
    stoppedWhy: z
      .enum(enums.webhookStop)
      .nullable()
      .meta({ description: "GONE: it answered 410. FAILING: it failed for a day. Null while it is enabled" }),
    failingSince: Timestamp.nullable().meta({ description: "since its last success" }),
    pausedUntil: Timestamp.nullable().meta({ description: "after a failure it is left alone for a while" }),
    createdAt: Timestamp,
  })
  .meta({ id: "WebhookEndpoint" });

const Secret = z.string().meta({
  description: "shown only now; verifies the header `webhook-signature` (Standard Webhooks)",
  example: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw0123456789A=",
});

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

const present = ({ stoppedAt, ...row }: WebhookEndpointRow) => ({ ...row, enabled: stoppedAt === null });

/** Throws 400 for an address that may not be called. */
function refuseAddress(url: string | undefined): void {
  const reason = url === undefined ? null : refusalOfAddress(url);
  if (reason !== null) throw invalidFields("VALIDATION_ERROR", [{ path: "url", message: reason }]);
}

const ownerOf = (partner: { id: string } | null) => partner?.id ?? null;

export const webhookEndpoints = section({ prefix: "/webhook-endpoints", tag: "Events" });

webhookEndpoints.post(
  "/",
  {
    name: "createWebhookEndpoint",
    summary: "Have events sent to an address",
    description:
      "A partner's endpoint gets the partner's events from now on, an admin's those of all partners and of the platform. " +
      `409: a partner has ${MOST_ENDPOINTS.partner} endpoints already, or the platform ${MOST_ENDPOINTS.platform}.`,
    auth: "PARTNER_OR_ADMIN",
    body: NewEndpoint,
    answers: { 201: EndpointView.extend({ secret: Secret }).meta({ id: "NewWebhookEndpoint" }) },
    errors: [tooManyEndpoints],
  },
  async ({ partner, body: { url, types, description } }) => {
    refuseAddress(url);
    const owner = ownerOf(partner);
    const secret = newWebhookSecret();
    const most = owner === null ? MOST_ENDPOINTS.platform : MOST_ENDPOINTS.partner;
    const row = await transaction(async (tx) => {
      if ((await lockWebhookEndpoints(tx, owner)) >= most) throw tooManyEndpoints({ most });
      const id = await newWebhookEndpointId(tx);
      const envelope = encryptEnvelope(secret, webhookSecretContext(id));
      await insertWebhookEndpoint(tx, { id, partnerId: owner, url, types, description, secret: envelope });
      return found(await findWebhookEndpoint(tx, id, owner), "This endpoint");
    });
    return created({ ...present(row), secret });
  },
);

webhookEndpoints.get(
  "/",
  {
    name: "listWebhookEndpoints",
    summary: "List the webhook endpoints",
    auth: "PARTNER_OR_ADMIN",
    query: PageQuery,
    answers: { 200: z.array(EndpointView) },
  },
  ({ partner, query, address }) =>
    page(address, query, (after, limit) => listWebhookEndpoints(sql, ownerOf(partner), after, limit), present),
);

webhookEndpoints.get(
  "/:id",
  {
    name: "readWebhookEndpoint",
    summary: "Read a webhook endpoint",
    auth: "PARTNER_OR_ADMIN",
    answers: { 200: EndpointView },
  },
  async ({ partner, params }) =>
    ok(present(found(await findWebhookEndpoint(sql, params.id, ownerOf(partner)), "This endpoint"))),
);

webhookEndpoints.patch(
  "/:id",
  {
    name: "changeWebhookEndpoint",
    summary: "Change, stop or start a webhook endpoint",
    description:
      "One that is enabled again gets the events from now on. What happened meanwhile is in the log (`GET /events`).",
    auth: "PARTNER_OR_ADMIN",
    body: changesOf({ url: Url, types: Types.nullable(), description: text(200).nullable(), enabled: z.boolean() }),
    answers: { 200: EndpointView },
  },
  async ({ partner, params: { id }, body }) => {
    refuseAddress(body.url);
    const owner = ownerOf(partner);
    const row = await transaction(async (tx) => {
      if (!(await updateWebhookEndpoint(tx, id, owner, body))) throw notFound("This endpoint");
      if (body.enabled === true) await scheduleWebhooks(tx, id);
      return found(await findWebhookEndpoint(tx, id, owner), "This endpoint");
    });
    return ok(present(row));
  },
);

webhookEndpoints.delete(
  "/:id",
  {
    name: "deleteWebhookEndpoint",
    summary: "Delete a webhook endpoint and its deliveries",
    auth: "PARTNER_OR_ADMIN",
    answers: { 204: null },
  },
  async ({ partner, params }) => {
    if (!(await deleteWebhookEndpoint(sql, params.id, ownerOf(partner)))) throw notFound("This endpoint");
    return noContent();
  },
);

webhookEndpoints.post(
  "/:id/rotate-secret",
  {
    name: "rotateWebhookSecret",
    summary: "Replace the secret of a webhook endpoint",
    description: `For ${OVERLAP_HOURS} hours each message has a signature by the old secret, too.`,
    auth: "PARTNER_OR_ADMIN",
    answers: { 200: z.object({ secret: Secret, oldSecretUntil: Timestamp }) },
  },
  async ({ partner, params: { id } }) => {
    const secret = newWebhookSecret();
    const until = new Date(Date.now() + OVERLAP_HOURS * HOUR_MS);
    const envelope = encryptEnvelope(secret, webhookSecretContext(id));
    if (!(await updateWebhookSecret(sql, id, ownerOf(partner), envelope, until))) throw notFound("This endpoint");
    return ok({ secret, oldSecretUntil: until });
  },
);

webhookEndpoints.get(
  "/:id/deliveries",
  {
    name: "listWebhookDeliveries",
    summary: "List what was sent to a webhook endpoint, the latest event first",
    description: "Of the last 30 days.",
    auth: "PARTNER_OR_ADMIN",
    query: pageQuery(z.int()).extend({
      status: DeliveryStatus.transform((status) => [status])
        .default([...DeliveryStatus.options])
        .meta({ override: shownAs({ type: "string", enum: [...DeliveryStatus.options] }) }),
    }),
    answers: { 200: z.array(DeliveryView) },
  },
  async ({ partner, params: { id }, query, address }) => {
    found(await findWebhookEndpoint(sql, id, ownerOf(partner)), "This endpoint");
    const { rows, headers } = await pageBy(
      address,
      query,
      (after, limit) => listWebhookDeliveries(sql, id, query.status, after, limit),
      ({ position }) => position,
    );
    return ok(rows, headers);
  },
);

webhookEndpoints.post(
  "/:id/deliveries/:position/resend",
  {
    name: "resendWebhook",
    summary: "Send an event to a webhook endpoint again",
    auth: "PARTNER_OR_ADMIN",
    params: z.object({
      id: Id,
      position: z
        .string()
        .regex(/^[1-9]\d{0,15}$/, "must be a whole number")
        .transform(Number)
        .meta({ example: "2078200000000042" }),
    }),
    answers: { 202: z.object({ position: z.int().meta({ example: 2_078_200_000_000_042 }) }) },
    errors: [endpointStopped],
  },
  async ({ partner, params: { id, position } }) => {
    const endpoint = found(await findWebhookEndpoint(sql, id, ownerOf(partner)), "This endpoint");
    if (endpoint.stoppedAt !== null) throw endpointStopped();
    if (!(await resendWebhook(sql, id, position))) throw notFound("This delivery");
    return accepted({ position }, `/api/v1/webhook-endpoints/${id}/deliveries`);
  },
);
