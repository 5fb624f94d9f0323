import { Router } from "express";
import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { sql } from "../../../sql/db.js";
import { listWatchedEndpoints } from "../../../sql/queries/webhook-operations.js";
import { listWebhookDeliveries } from "../../../sql/queries/webhooks.js";
import { resendForOperator, switchEndpoint, watchedEndpoint } from "../../common/webhook-endpoints.js";
import { found } from "../../http/endpoint.js";
import { acts, by, Changed, Consent, IdParams, orEmpty, shows, Time } from "./handle.js";
import { endpointAt, endpointPage, endpointsPage, webhooksAt } from "./webhooks.js";

const PAGE_SIZE = 50;

const ListQuery = z.object({ show: z.enum(["FAILING", "ALL"]).default("FAILING"), after: z.uuid().optional() });
const EndpointQuery = z.object({
  status: orEmpty(z.enum(enums.webhookStatus)),
  after: z.coerce.number().int().positive().optional(),
});
const SwitchForm = Consent.extend({ kind: z.enum(["STOP", "START"]) });
const ResendForm = Consent.extend({ since: Time, before: orEmpty(Time) });

/** The pages of webhook endpoints and of what was sent to them. */
export const webhookPages = Router();

webhookPages.get(
  "/",
  shows(async ({ query }) => {
    const { show, after = null } = ListQuery.parse(query);
    const rows = await listWatchedEndpoints(sql, { failing: show === "FAILING", id: null }, after, PAGE_SIZE + 1);
    const endpoints = rows.slice(0, PAGE_SIZE);
    const last = endpoints.at(-1);
    const more = rows.length > PAGE_SIZE && last !== undefined;
    return endpointsPage({ show, endpoints, next: more ? webhooksAt({ show, after: last.id }) : null });
  }),
);
webhookPages.get(
  "/:id",
  shows(async ({ params, query }) => {
    const { id } = IdParams.parse(params);
    const { status, after = null } = EndpointQuery.parse(query);
    const endpoint = found(await watchedEndpoint(id), "This endpoint");
    const statuses = status === null ? enums.webhookStatus : [status];
    const rows = await listWebhookDeliveries(sql, id, statuses, after, PAGE_SIZE + 1);
    const deliveries = rows.slice(0, PAGE_SIZE);
    const last = deliveries.at(-1);
    const more = rows.length > PAGE_SIZE && last !== undefined;
    const next = more ? endpointAt(id, { status: status ?? "", after: String(last.position) }) : null;
    return endpointPage({ endpoint, status, deliveries, next, changed: Changed.parse(query).changed });
  }),
);
webhookPages.post(
  "/:id/switch",
  acts(async ({ params, body }, response) => {
    const { id } = IdParams.parse(params);
    const { kind, ...form } = SwitchForm.parse(body);
    found(await switchEndpoint(id, kind === "START", by(response, form)), "This endpoint");
    return endpointAt(id);
  }),
);
webhookPages.post(
  "/:id/resend",
  acts(async ({ params, body }, response) => {
    const { id } = IdParams.parse(params);
    const { since, before, ...form } = ResendForm.parse(body);
    const range = { since, before: before ?? new Date(), after: 0 };
    const { events } = found(await resendForOperator(id, range, by(response, form)), "This endpoint");
    return endpointAt(id, { changed: String(events) });
  }),
);
