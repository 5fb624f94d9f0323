import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { sql } from "../../../sql/db.js";
import { listWatchedEndpoints, type WatchedEndpoint } from "../../../sql/queries/webhook-operations.js";
import {
  endpointStopped,
  MOST_RESENT,
  resendForOperator,
  switchEndpoint,
  watchedEndpoint,
} from "../../common/webhook-endpoints.js";
import { found, ok, section } from "../../http/endpoint.js";
import { page, PageQuery } from "../../http/pagination.js";
import { Id, Instant, QueryFlag, text, Timestamp } from "../../http/schemas.js";

const Why = text(500).meta({ description: "for the audit log", example: "its owner asked for it" });

const EndpointView = z
  .object({
    id: Id,
    partnerId: Id.nullable().meta({ description: "null: the platform's" }),
    partner: z.string().nullable(),
    host: z.string().meta({ description: "the rest of the address may be secret", example: "hooks.example.com" }),
    types: z
      .array(z.string())
      .nullable()
      .meta({ description: "null: all", example: ["order.placed"] }),
    stoppedAt: Timestamp.nullable(),
    stoppedWhy: z.enum(enums.webhookStop).nullable(),
    failures: z.int().meta({ description: "in a row" }),
    failingSince: Timestamp.nullable(),
    pausedUntil: Timestamp.nullable(),
    pending: z.int().meta({ description: "deliveries that have no success yet, at most 1,000" }),
    oldestAt: Timestamp.nullable().meta({
      description: "when the oldest event happened that is still to be sent; null: it has all",
    }),
  })
  .meta({ id: "WatchedEndpoint" });

const present = ({ url, ...row }: WatchedEndpoint): z.output<typeof EndpointView> => ({
  ...row,
  host: new URL(url).host,
});

export const webhookOperations = section({ prefix: "/admin/ops/webhook-endpoints", tag: "Operations" });

webhookOperations.get(
  "/",
  {
    name: "listWatchedEndpoints",
    summary: "List the webhook endpoints of all, and how sending to them goes",
    auth: "OBSERVER",
    query: PageQuery.extend({
      failing: QueryFlag.prefault("false").meta({ description: "only those that fail, or were stopped for that" }),
    }),
    answers: { 200: z.array(EndpointView) },
  },
  ({ query: { failing, ...query }, address }) =>
    page(address, query, (after, limit) => listWatchedEndpoints(sql, { failing, id: null }, after, limit), present),
);

webhookOperations.patch(
  "/:id",
  {
    name: "switchWebhookEndpoint",
    summary: "Stop or start a webhook endpoint of anyone",
    description: "One that is started again gets the events from now on, and those that are sent again.",
    auth: "ADMIN",
    body: z.object({ enabled: z.boolean(), why: Why }),
    answers: { 200: EndpointView },
  },
  async ({ user, params: { id }, body: { enabled, why } }) => {
    await switchEndpoint(id, enabled, { actorId: user.id, why });
    return ok(present(found(await watchedEndpoint(id), "This endpoint")));
  },
);

webhookOperations.post(
  "/:id/resend",
  {
    name: "resendWebhooksOf",
    summary: "Send the events of a time to a webhook endpoint of anyone again",
    description: `As its owner does, ${MOST_RESENT.toLocaleString("en")} events at most.`,
    auth: "ADMIN",
    body: z.object({
      since: Instant,
      before: Instant.optional(),
      after: z.int().min(0).default(0).meta({ description: "only events at later positions" }),
      why: Why,
    }),
    answers: {
      200: z.object({ events: z.int(), after: z.int().nullable(), more: z.boolean() }).meta({ id: "ResentByOperator" }),
    },
    errors: [endpointStopped],
  },
  async ({ user, params: { id }, body: { since, before = new Date(), after, why } }) =>
    ok(found(await resendForOperator(id, { since, before, after }, { actorId: user.id, why }), "This endpoint")),
);
