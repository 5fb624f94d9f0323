import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { contracts } from "../../../queues/index.js";
import { sql } from "../../../sql/db.js";
import { findBulkAction, insertBulkAction, jobStates, listBulkActions } from "../../../sql/outbox-operators.js";
import { foundKinds } from "../../../sql/queries/operations.js";
import {
  inspectNotification,
  inspectOrder,
  inspectRequest,
  jobsIn,
  overview,
  recently,
  search,
  settleWithAudit,
} from "../../common/inspect.js";
import { accepted, found, ok, section } from "../../http/endpoint.js";
import { page, pageQuery, PageQuery } from "../../http/pagination.js";
import { Id, orNull, text, Timestamp } from "../../http/schemas.js";

const JobNumber = z
  .int()
  .min(1)
  .meta({ description: "ascending in the order in which jobs were staged", example: 4711 });
const Queue = z.enum(contracts.map(({ queue }) => queue)).meta({ example: "push" });
const Kind = z.enum(enums.bulkActionKind).meta({
  description: "REPLAY gives a dead job all its attempts again; DISMISS ends it without its effect",
});
const Why = text(500).meta({ description: "for the audit log", example: "the push service was down" });
const ErrorPart = text(200).meta({ description: "a part of the last error, in any case", example: "503" });

const Job = z
  .object({
    id: JobNumber,
    queue: z.string().meta({ example: "push" }),
    state: z.enum(jobStates).meta({
      description: "DEAD: given up; DUE: to be run now, or running; WAITING: for its time; DONE: kept for a day",
    }),
    payload: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).meta({
      description: "ids and small facts",
      example: { notificationId: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f" },
    }),
    requestId: z.string().nullable().meta({ description: "the request that caused it" }),
    attempts: z.int(),
    lastError: z.string().nullable(),
    stagedAt: Timestamp,
    runAt: Timestamp,
    doneAt: Timestamp.nullable(),
    deadAt: Timestamp.nullable(),
  })
  .meta({ id: "Job" });

const TimelineEntry = z
  .object({
    at: Timestamp,
    what: z.string().meta({ example: "push job 4711 staged" }),
    jobId: JobNumber.nullable(),
  })
  .meta({ id: "TimelineEntry" });
const Timeline = z.array(TimelineEntry);

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

const BulkAction = z
  .object({
    id: Id,
    kind: Kind,
    queue: z.string().nullable(),
    error: z.string().nullable(),
    why: z.string(),
    matched: z.int().meta({ description: "how many jobs matched when it was asked for" }),
    changed: z.int().meta({ description: "how many have been changed so far" }),
    createdAt: Timestamp,
    settledAt: Timestamp.nullable().meta({ description: "null while it goes on" }),
  })
  .meta({ id: "BulkAction" });

/** When a request was made; its jobs are looked for within ten minutes after it. */
const At = z.iso
  .datetime({ offset: true })
  .transform((at) => new Date(at))
  .optional()
  .meta({ description: "about when the request was made; a few minutes ago by default" });

export const operations = section({ prefix: "/admin/ops", tag: "Operations" });

operations.get(
  "/",
  {
    name: "readOverview",
    summary: "Read the state of the queues, and what waits for an operator",
    auth: "ADMIN",
    answers: {
      200: z
        .object({
          queues: z.array(
            z.object({
              queue: z.string().meta({ example: "push" }),
              due: z.int().meta({ description: "of the hundred thousand that are due first" }),
              waiting: z.int(),
              oldestDueSeconds: z.number(),
              stagedPerMinute: z.number().meta({ description: "over five minutes" }),
              donePerMinute: z.number(),
              dead: z.int(),
            }),
          ),
          parkedPosEvents: z.int().meta({ description: "at most 10,000" }),
          partnersWithParkedEvents: z.int(),
          rollupDaysDue: z.int(),
          canaryAgeSeconds: z.number().nullable().meta({
            description: "since a worker last ran the canary, every 30 seconds; null when none ever did",
          }),
        })
        .meta({ id: "Overview" }),
    },
  },
  async () => ok(await overview()),
);

operations.get(
  "/search",
  {
    name: "searchOperations",
    summary: "Find an order, a notification, a job or anything else by an id, a number, a code or a phone",
    description:
      "Takes the id of an order, a notification, a partner, a user, a box, a file, a menu import or a POS sync; the number " +
      "of a job or of a POS event; the pickup code of an open order; a phone, which is audited; or the id of a request, " +
      "whose jobs are found.",
    auth: "ADMIN",
    query: z.object({ q: text(200).meta({ example: "4711" }), at: At }),
    answers: {
      200: z.array(
        z.object({ kind: z.enum(foundKinds), id: z.string(), state: z.string(), at: Timestamp }).meta({ id: "Found" }),
      ),
    },
  },
  async ({ user, query: { q, at } }) => ok(await search(q, recently(at), user.id)),
);

operations.get(
  "/orders/:id",
  {
    name: "inspectOrder",
    summary: "Read all that happened to an order: its moves, jobs, notifications and their deliveries",
    description: "Jobs that are done are kept for a day.",
    auth: "ADMIN",
    answers: {
      200: z.object({
        order: z
          .object({
            id: Id,
            partnerId: Id,
            userId: Id.nullable(),
            status: z.enum(enums.orderStatus),
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

operations.get(
  "/notifications/:id",
  {
    name: "inspectNotification",
    summary: "Read why a notification was sent or not, with its job and its deliveries",
    auth: "ADMIN",
    answers: { 200: z.object({ notification: NotificationFacts, jobs: z.array(Job), timeline: Timeline }) },
  },
  async ({ params }) => ok(found(await inspectNotification(params.id), "This notification")),
);

operations.get(
  "/requests/:id",
  {
    name: "inspectRequest",
    summary: "Read the jobs that a request caused, directly or through other jobs",
    auth: "ADMIN",
    params: z.object({ id: text(200).meta({ description: "the response's X-Request-Id", example: "0b7c5b1e" }) }),
    query: z.object({ at: At }),
    answers: { 200: z.object({ jobs: z.array(Job), timeline: Timeline }) },
  },
  async ({ params, query }) => ok(await inspectRequest(params.id, recently(query.at))),
);

operations.get(
  "/jobs",
  {
    name: "listJobs",
    summary: "List jobs that are dead, due or waiting, newest first",
    auth: "ADMIN",
    query: pageQuery(JobNumber).extend({
      state: z.enum(["DEAD", "DUE", "WAITING"]).default("DEAD"),
      queue: orNull(Queue),
      error: orNull(ErrorPart),
    }),
    answers: { 200: z.array(Job) },
  },
  ({ query: { state, queue, error, ...query }, address }) =>
    page(address, query, (after, limit) => jobsIn(state, { queue, error }, after, limit)),
);

operations.post(
  "/jobs/settle",
  {
    name: "settleJobs",
    summary: "Replay or dismiss dead jobs by their numbers",
    auth: "ADMIN",
    body: z.object({ kind: Kind, ids: z.array(JobNumber).min(1).max(200), why: Why }),
    answers: { 200: z.object({ changed: z.int().meta({ description: "how many of them were dead" }) }) },
  },
  async ({ user, body: { kind, ids, why } }) => {
    return ok({ changed: await settleWithAudit(kind, ids, why, user.id) });
  },
);

operations.post(
  "/bulk-actions",
  {
    name: "createBulkAction",
    summary: "Replay or dismiss all dead jobs that match, however many",
    description: "A worker works through them in batches. Jobs that die later are left alone.",
    auth: "ADMIN",
    body: z.object({ kind: Kind, queue: orNull(Queue), error: orNull(ErrorPart), why: Why }),
    answers: { 202: BulkAction },
  },
  async ({ user, body }) => {
    const id = await insertBulkAction(sql, { ...body, actorId: user.id });
    return accepted(found(await findBulkAction(sql, id), "This action"), `/api/v1/admin/ops/bulk-actions/${id}`);
  },
);

operations.get(
  "/bulk-actions",
  {
    name: "listBulkActions",
    summary: "List bulk actions, newest first",
    auth: "ADMIN",
    query: PageQuery,
    answers: { 200: z.array(BulkAction) },
  },
  ({ query, address }) => page(address, query, (after, limit) => listBulkActions(sql, after, limit)),
);

operations.get(
  "/bulk-actions/:id",
  {
    name: "readBulkAction",
    summary: "Read how far a bulk action is",
    auth: "ADMIN",
    answers: { 200: BulkAction },
  },
  async ({ params }) => ok(found(await findBulkAction(sql, params.id), "This action")),
);
