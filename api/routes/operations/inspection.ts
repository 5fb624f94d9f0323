import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { foundKinds } from "../../../sql/queries/operations.js";
import {
  inspectNotification,
  inspectOrder,
  inspectRequest,
  inspectThing,
  recently,
  search,
} from "../../common/inspect.js";
import { showContact } from "../../common/operate.js";
import { found, ok, section } from "../../http/endpoint.js";
import { Id, text, Timestamp } from "../../http/schemas.js";
import { Job, JobNumber, Why } from "./schemas.js";

const TimelineEntry = z
  .object({
    at: Timestamp,
    what: z.string().meta({ example: "push job 4711 staged" }),
    jobId: JobNumber.nullable(),
  })
  .meta({ id: "TimelineEntry" });
const Timeline = z.array(TimelineEntry);

const Found = z
  .object({ kind: z.enum(foundKinds), id: z.string(), state: z.string(), at: Timestamp })
  .meta({ id: "Found" });

const NotificationFacts = z
  .object({
    id: Id,
    userId: Id,
    orderId: Id.nullable(),
    kind: z.string().meta({ example: "ORDER_ACCEPTED" }),
    status: z.enum(enums.notificationStatus),
    reason: z.string().nullable(),
    why: z.string().meta({
      description: "why it was sent, is not sent yet or never will be",
      example: "Not sent, and never will be: its user has turned pushes off.",
    }),
    createdAt: Timestamp,
    settledAt: Timestamp.nullable(),
    readAt: Timestamp.nullable(),
    deliveries: z.array(
      z.object({
        deviceId: Id,
        platform: z.enum(enums.devicePlatform),
        status: z.enum(enums.deliveryStatus),
        reason: z.string().nullable(),
        attempts: z.int(),
        startedAt: Timestamp,
        endedAt: Timestamp.nullable(),
      }),
    ),
  })
  .meta({ id: "InspectedNotification" });

/** When a request was made; its jobs are looked for within ten minutes after it. */
const At = z.iso
  .datetime({ offset: true })
  .transform((at) => new Date(at))
  .optional()
  .meta({ description: "about when the request was made; a few minutes ago by default" });

/** What happened to an order, a notification, a request and other things. */
export const inspection = section({ prefix: "/admin/ops", tag: "Operations" });

inspection.get(
  "/search",
  {
    name: "searchOperations",
    summary: "Find an order, a notification, a job or anything else by an id, a number, a code or a phone",
    description:
      "Takes the id of an order, a notification, a partner, a user, a box, a file, a menu import or a POS sync; the number " +
      "of a job or of a POS event; the pickup code of an open order; a phone, which is audited, and not looked for with a " +
      "service key; or the id of a request, whose jobs are found.",
    auth: "OBSERVER",
    query: z.object({ q: text(200).meta({ example: "4711" }), at: At }),
    answers: { 200: z.array(Found) },
  },
  async ({ user, query: { q, at } }) => ok(await search(q, recently(at), user?.id)),
);

inspection.get(
  "/orders/:id",
  {
    name: "inspectOrder",
    summary: "Read all that happened to an order: its moves, jobs, notifications and their deliveries",
    description: "Jobs that are done are kept for a day.",
    auth: "OBSERVER",
    answers: {
      200: z.object({
        order: z
          .object({
            id: Id,
            partnerId: Id,
            userId: Id.nullable(),
            status: z.enum(enums.orderStatus),
            phone: z.string().nullable().meta({ description: "of its customer, masked", example: "+7••••••••67" }),
            address: z.string().nullable().meta({ description: "masked" }),
            createdAt: Timestamp,
            noShowAt: Timestamp,
          })
          .meta({ id: "InspectedOrder" }),
        notifications: z.array(NotificationFacts),
        jobs: z.array(Job),
        timeline: Timeline,
      }),
    },
  },
  async ({ params }) => ok(found(await inspectOrder(params.id), "This order")),
);

inspection.post(
  "/orders/:id/contact",
  {
    name: "showOrderContact",
    summary: "Read the phone and the address of an order's customer, which is audited",
    auth: "ADMIN",
    body: z.object({ why: Why }),
    answers: { 200: z.object({ phone: z.string().nullable(), address: z.string().nullable() }) },
  },
  async ({ user, params: { id }, body: { why } }) =>
    ok(found(await showContact(id, { actorId: user.id, why }), "This order")),
);

inspection.get(
  "/notifications/:id",
  {
    name: "inspectNotification",
    summary: "Read why a notification was sent or not, with its job and its deliveries",
    auth: "OBSERVER",
    answers: { 200: z.object({ notification: NotificationFacts, jobs: z.array(Job), timeline: Timeline }) },
  },
  async ({ params }) => ok(found(await inspectNotification(params.id), "This notification")),
);

inspection.get(
  "/things/:id",
  {
    name: "inspectThing",
    summary:
      "Read what a box, a file, a menu import, a POS sync or a partner is, and the jobs that it caused when it was made",
    auth: "OBSERVER",
    answers: { 200: z.object({ found: Found, jobs: z.array(Job), timeline: Timeline }) },
  },
  async ({ params }) => ok(found(await inspectThing(params.id), "This id")),
);

inspection.get(
  "/requests/:id",
  {
    name: "inspectRequest",
    summary: "Read the jobs that a request caused, directly or through other jobs, and their notifications",
    auth: "OBSERVER",
    params: z.object({ id: text(200).meta({ description: "the response's X-Request-Id", example: "0b7c5b1e" }) }),
    query: z.object({ at: At }),
    answers: { 200: z.object({ notifications: z.array(NotificationFacts), jobs: z.array(Job), timeline: Timeline }) },
  },
  async ({ params, query }) => ok(await inspectRequest(params.id, recently(query.at))),
);
