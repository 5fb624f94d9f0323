import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { eventTypes } from "../../../lib/domain/event-types.js";
import { newWebhookSecret, refusalOfAddress } from "../../../lib/outbound/webhook.js";
import { encryptEnvelope } from "../../../lib/security/envelope.js";
import { isForeignKeyViolation, sql, transaction, type Db } from "../../../sql/db.js";
import { insertAuditEvent } from "../../../sql/queries/audit-events.js";
import {
  deleteWebhookEndpoint,
  findWebhookEndpoint,
  hasWebhookEndpointStoppedByOperator,
  insertWebhookEndpoint,
  listWebhookEndpoints,
  lockWebhookEndpoints,
  newWebhookEndpointId,
  scheduleWebhooks,
  updateWebhookEndpoint,
  updateWebhookSecret,
  webhookSecretContext,
  type WebhookEndpointRow,
} from "../../../sql/queries/webhooks.js";
import { created, found, noContent, ok, section } from "../../http/endpoint.js";
import { page, PageQuery } from "../../http/pagination.js";
import { refusal, refusalWith } from "../../http/refusal.js";
import { invalidFields, keyUnknown, notFound, notTheOwner } from "../../http/refusals.js";
import { changesOf, Id, orNull, text, Timestamp } from "../../http/schemas.js";
import { ownerOf } from "./owner.js";

/** Limits of endpoints of a partner, and of the platform. */
const MOST_ENDPOINTS = { partner: 10, platform: 100 };
/** Time in which the receiver may still have only the old secret. */
const OVERLAP_HOURS = 24;
const HOUR_MS = 60 * 60_000;

const tooManyEndpoints = refusalWith(409, "CONFLICT", "TOO_MANY_WEBHOOK_ENDPOINTS", {
  detail: ({ most }) => `There are ${most} webhook endpoints already.`,
  remedy: "Delete one, or let one endpoint take several types of events.",
  facts: { most: z.int() },
  example: { most: MOST_ENDPOINTS.partner },
});

const stoppedByOperator = refusal(
  409,
  "CONFLICT",
  "WEBHOOK_ENDPOINT_STOPPED_BY_OPERATOR",
  "An operator has stopped an endpoint of yours, or its service key was revoked.",
  "Ask the platform's operators to start it.",
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
      .meta({
        description:
          "GONE: it answered 410. FAILING: it failed for a day. BY_OPERATOR: only an operator starts it; until then a partner adds no " +
          "endpoint, changes no address, and does not delete this one. Null while it is enabled",
      }),
    failingSince: Timestamp.nullable().meta({ description: "since its last success" }),
    pausedUntil: Timestamp.nullable().meta({ description: "after a failure it is left alone for a while" }),
    createdAt: Timestamp,
  })
  .meta({ id: "WebhookEndpoint" });

const Secret = z.string().meta({
  description: "shown only now; verifies the header `webhook-signature` (Standard Webhooks)",
  example: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw0123456789A=",
});

const present = ({ stoppedAt, ...row }: WebhookEndpointRow) => ({ ...row, enabled: stoppedAt === null });

/** Throws 400 for an address that webhooks may not call. */
function refuseAddress(url: string | undefined): void {
  const reason = url === undefined ? null : refusalOfAddress(url);
  if (reason !== null) throw invalidFields("VALIDATION_ERROR", [{ path: "url", message: reason }]);
}

/** A change, for the audit log; by a user or with a service key. */
interface Change {
  user: { id: string } | null;
  apiKeyId: string | null;
  id: string;
  action: string;
  details?: Readonly<Record<string, string>>;
}

const audit = (tx: Db, { user, apiKeyId, id, action, details = {} }: Change) =>
  insertAuditEvent(tx, {
    ...{ actorId: user?.id ?? null, action, subjectId: id },
    details: { ...details, ...(apiKeyId !== null && { apiKeyId }) },
  });

export const webhookEndpoints = section({ prefix: "/webhook-endpoints", tag: "Events" });

webhookEndpoints.post(
  "/",
  {
    name: "createWebhookEndpoint",
    summary: "Have events sent to an address",
    description:
      "A partner's endpoint gets the partner's events from now on; that of an admin or a service key those of all partners and of " +
      "the platform. " +
      "A partner's endpoints are its owner's: they stop when the owner changes. " +
      `409: a partner has ${MOST_ENDPOINTS.partner} endpoints already, or the platform ${MOST_ENDPOINTS.platform}.`,
    auth: "WEBHOOK_WRITER",
    body: NewEndpoint,
    answers: { 201: EndpointView.extend({ secret: Secret }).meta({ id: "NewWebhookEndpoint" }) },
    errors: [tooManyEndpoints, notTheOwner, stoppedByOperator],
  },
  async ({ user, apiKeyId, partner, body: { url, types, description } }) => {
    refuseAddress(url);
    const owner = await ownerOf(user, partner);
    const secret = newWebhookSecret();
    const most = owner === null ? MOST_ENDPOINTS.platform : MOST_ENDPOINTS.partner;
    const row = await transaction(async (tx) => {
      if ((await lockWebhookEndpoints(tx, owner)) >= most) throw tooManyEndpoints({ most });
      if (owner !== null && (await hasWebhookEndpointStoppedByOperator(tx, owner))) throw stoppedByOperator();
      const id = await newWebhookEndpointId(tx);
      const envelope = encryptEnvelope(secret, webhookSecretContext(id));
      await insertWebhookEndpoint(tx, { id, partnerId: owner, apiKeyId, url, types, description, secret: envelope });
      await audit(tx, { user, apiKeyId, id, action: "WEBHOOK_ENDPOINT_CREATE" });
      return found(await findWebhookEndpoint(tx, id, owner), "This endpoint");
    }).catch((error: unknown) => {
      // its key was revoked meanwhile
      throw isForeignKeyViolation(error) ? keyUnknown() : error;
    });
    return created({ ...present(row), secret });
  },
);

webhookEndpoints.get(
  "/",
  {
    name: "listWebhookEndpoints",
    summary: "List the webhook endpoints",
    auth: "WEBHOOK_WRITER",
    query: PageQuery,
    answers: { 200: z.array(EndpointView) },
    errors: [notTheOwner],
  },
  async ({ user, partner, query, address }) => {
    const owner = await ownerOf(user, partner);
    return page(address, query, (after, limit) => listWebhookEndpoints(sql, owner, after, limit), present);
  },
);

webhookEndpoints.get(
  "/:id",
  {
    name: "readWebhookEndpoint",
    summary: "Read a webhook endpoint",
    auth: "WEBHOOK_WRITER",
    answers: { 200: EndpointView },
    errors: [notTheOwner],
  },
  async ({ user, partner, params }) =>
    ok(present(found(await findWebhookEndpoint(sql, params.id, await ownerOf(user, partner)), "This endpoint"))),
);

webhookEndpoints.patch(
  "/:id",
  {
    name: "changeWebhookEndpoint",
    summary: "Change, stop or start a webhook endpoint",
    description:
      "One that is enabled again gets the events from now on. What happened meanwhile is in the log (`GET /events`), and can be " +
      "sent again (`resend`).",
    auth: "WEBHOOK_WRITER",
    body: changesOf({ url: Url, types: Types.nullable(), description: text(200).nullable(), enabled: z.boolean() }),
    answers: { 200: EndpointView },
    errors: [notTheOwner, stoppedByOperator],
  },
  async ({ user, apiKeyId, partner, params: { id }, body }) => {
    refuseAddress(body.url);
    const fields = Object.entries(body).flatMap(([name, value]) => (value === undefined ? [] : [name]));
    const owner = await ownerOf(user, partner);
    const row = await transaction(async (tx) => {
      if (!(await updateWebhookEndpoint(tx, id, owner, body))) {
        found(await findWebhookEndpoint(tx, id, owner), "This endpoint");
        throw stoppedByOperator();
      }
      const enabled = body.enabled === undefined ? {} : { enabled: String(body.enabled) };
      const details = { fields: fields.join(" "), ...enabled };
      await audit(tx, { user, apiKeyId, id, action: "WEBHOOK_ENDPOINT_CHANGE", details });
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
    summary: "Delete a webhook endpoint",
    description: "Its deliveries can be read no more; they are deleted when they are 30 days old.",
    auth: "WEBHOOK_WRITER",
    answers: { 204: null },
    errors: [notTheOwner, stoppedByOperator],
  },
  async ({ user, apiKeyId, partner, params: { id } }) => {
    const owner = await ownerOf(user, partner);
    await transaction(async (tx) => {
      if (!(await deleteWebhookEndpoint(tx, id, owner))) {
        found(await findWebhookEndpoint(tx, id, owner), "This endpoint");
        throw stoppedByOperator();
      }
      await audit(tx, { user, apiKeyId, id, action: "WEBHOOK_ENDPOINT_DELETE" });
    });
    return noContent();
  },
);

webhookEndpoints.post(
  "/:id/rotate-secret",
  {
    name: "rotateWebhookSecret",
    summary: "Replace the secret of a webhook endpoint",
    description: `For ${OVERLAP_HOURS} hours each message has a signature by the old secret, too.`,
    auth: "WEBHOOK_WRITER",
    answers: { 200: z.object({ secret: Secret, oldSecretUntil: Timestamp }) },
    errors: [notTheOwner],
  },
  async ({ user, apiKeyId, partner, params: { id } }) => {
    const owner = await ownerOf(user, partner);
    const secret = newWebhookSecret();
    const until = new Date(Date.now() + OVERLAP_HOURS * HOUR_MS);
    const envelope = encryptEnvelope(secret, webhookSecretContext(id));
    await transaction(async (tx) => {
      if (!(await updateWebhookSecret(tx, id, owner, envelope, until))) throw notFound("This endpoint");
      await audit(tx, { user, apiKeyId, id, action: "WEBHOOK_SECRET_ROTATE" });
    });
    return ok({ secret, oldSecretUntil: until });
  },
);
