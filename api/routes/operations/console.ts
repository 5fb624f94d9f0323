import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { estimateEnd, partOf } from "../../../lib/domain/progress.js";
import { contracts } from "../../../queues/index.js";
import { upkeepTasks } from "../../../queues/upkeep.js";
import { sql } from "../../../sql/db.js";
import {
  findBulkAction,
  insertBulkAction,
  jobStates,
  listBulkActions,
  type BulkActionRow,
} from "../../../sql/outbox-operators.js";
import { foundKinds } from "../../../sql/queries/operations.js";
import { Argument, argumentText } from "../../common/argument.js";
import {
  inspectNotification,
  inspectOrder,
  inspectRequest,
  inspectThing,
  jobsIn,
  overview,
  queueMinutes,
  queueSetting,
  recently,
  search,
} from "../../common/inspect.js";
import {
  actOnJobs,
  actOnParkedEvents,
  changeQueue,
  fitsState,
  hasItsTime,
  isLimited,
  MOST_DAYS,
  rollUpNow,
  runUpkeepNow,
  showContact,
  stopBulkAction,
  wrongDays,
} from "../../common/operate.js";
import { accepted, found, ok, section } from "../../http/endpoint.js";
import { page, pageQuery, PageQuery } from "../../http/pagination.js";
import { Day, EstimatedEnd, Id, Instant, orNull, shownAs, text, Timestamp } from "../../http/schemas.js";

const JobNumber = z
  .int()
  .min(1)
  .meta({ description: "ascending in the order in which jobs were staged", example: 4711 });
const Queue = z.enum(contracts.map(({ queue }) => queue)).meta({ example: "push" });
const Kind = z.enum(enums.bulkActionKind).meta({
  example: "SNOOZE",
  description:
    "of dead jobs: REPLAY gives all attempts again, DISMISS ends them without their effect. Of open ones: RUN makes them due now, " +
    "SNOOZE due at `until`, CANCEL ends them without their effect; one that is running may still have it",
});
/** Of jobs that are snoozed. */
const Until = orNull(Instant).meta({ description: "when snoozed jobs are to run; only for SNOOZE" });
const wrongTime = { path: ["until"], message: "must be a later time with SNOOZE, and absent otherwise" };
const BulkState = z.enum(enums.bulkActionState).meta({
  example: "DUE",
  description:
    "which jobs are meant: DEAD ones are replayed or dismissed, DUE and WAITING ones run, snoozed or cancelled; PARKED: POS " +
    "events, which are replayed or dismissed",
});
const Why = text(500).meta({ description: "for the audit log", example: "the push service was down" });
const ErrorPart = text(200).meta({ description: "a part of the last error, in any case", example: "503" });
const filter = {
  queue: orNull(Queue),
  error: orNull(ErrorPart),
  stagedFrom: orNull(Instant).meta({ description: "only jobs that were staged at this time or later" }),
  stagedBefore: orNull(Instant).meta({ description: "only jobs that were staged before this time" }),
  argument: orNull(
    Argument.meta({
      description: "only jobs whose payload has this field with this value, as name=value",
      example: "notificationId=01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f",
      override: shownAs({ type: "string", maxLength: 200 }),
    }),
  ),
};
/** Whether the conditions are for parked events, or for jobs. */
const isOfOneSort = ({
  state,
  queue,
  argument,
  partnerId,
}: Pick<BulkActionRow, "state" | "queue" | "argument" | "partnerId">) =>
  state === "PARKED" ? queue === null && argument === null : partnerId === null;
const minAttempts = { description: "only jobs that were tried at least so often", example: 3 };
const MinAttempts = z.int().min(1).max(999).meta(minAttempts);

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

const BulkAction = z
  .object({
    id: Id,
    kind: Kind,
    state: BulkState,
    queue: z.string().nullable(),
    error: z.string().nullable(),
    stagedFrom: Timestamp.nullable(),
    stagedBefore: Timestamp.nullable(),
    minAttempts: z.int().nullable(),
    argument: z.string().nullable().meta({ example: "partnerId=01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f" }),
    partnerId: Id.nullable().meta({ description: "whose parked events are meant; null: of any partner" }),
    until: Timestamp.nullable(),
    why: z.string(),
    matched: z.int().meta({ description: "how many jobs or events matched when it was asked for" }),
    changed: z.int().meta({ description: "how many have been changed so far" }),
    progress: z.number().min(0).max(1).meta({ description: "the part that is done", example: 0.4 }),
    estimatedEndAt: EstimatedEnd,
    createdAt: Timestamp,
    settledAt: Timestamp.nullable().meta({ description: "null while it goes on" }),
    stoppedWhy: z.string().nullable().meta({ description: "null when no operator has stopped it" }),
  })
  .meta({ id: "BulkAction" });

function presentAction({ startedAt, ...action }: BulkActionRow): z.output<typeof BulkAction> {
  // it may end with fewer jobs than matched, as others change them too
  const isDone = action.settledAt !== null && action.stoppedWhy === null;
  const part = isDone ? 1 : (partOf(action.changed, action.matched) ?? 0);
  const estimatedEndAt = action.settledAt === null ? estimateEnd(part, startedAt, Date.now()) : null;
  const argument = action.argument && argumentText(action.argument);
  return { ...action, argument, progress: part, estimatedEndAt };
}

const QueueSettings = {
  pausedAt: Timestamp.nullable().meta({ description: "null when it is not paused" }),
  pausedWhy: z.string().nullable(),
  concurrency: z.int().nullable().meta({ description: "jobs that a process runs at once; null: as configured" }),
  perMinute: z
    .int()
    .nullable()
    .meta({ description: "jobs that all processes together start a minute; null: no limit", example: 600 }),
};

/** When a request was made; its jobs are looked for within ten minutes after it. */
const At = z.iso
  .datetime({ offset: true })
  .transform((at) => new Date(at))
  .optional()
  .meta({ description: "about when the request was made; a few minutes ago by default" });

const Vendor = z
  .object({
    vendor: z.string().meta({ example: "push: fcm" }),
    calls: z.int().meta({ description: "in the last five minutes" }),
    failed: z.int().meta({ description: "those without an answer, or that the vendor could not carry out now" }),
  })
  .meta({ id: "VendorCalls" });
const LastCall = Timestamp.nullable();

const Paused = {
  queue: z.string().meta({ example: "push" }),
  origin: z.string().meta({ example: "https://fcm.googleapis.com" }),
  since: Timestamp.meta({ description: "of the first pause; it has not answered since" }),
  until: Timestamp.meta({ description: "when it is called again, by one call at a time until it answers" }),
};

export const operations = section({ prefix: "/admin/ops", tag: "Operations" });

operations.get(
  "/",
  {
    name: "readOverview",
    summary: "Read the state of the queues, and what waits for an operator",
    auth: "OBSERVER",
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
              ...QueueSettings,
            }),
          ),
          queuedPosEvents: z.int().meta({ description: "received and not applied yet; at most 10,000" }),
          posEventsDueSeconds: z.number().meta({ description: "since the first of those that are due was" }),
          parkedPosEvents: z.int().meta({ description: "at most 10,000" }),
          partnersWithParkedEvents: z.int(),
          rollupDaysDue: z.int(),
          canaryAgeSeconds: z.number().nullable().meta({
            description: "since a worker last ran the canary, every 30 seconds; null when none ever did",
          }),
          processes: z
            .array(
              z.object({
                id: z
                  .string()
                  .meta({ example: "worker-1/4711/0b7c5b1e", description: "host, process id and a random part" }),
                role: z.enum(enums.processRole),
                version: z.string(),
                startedAt: Timestamp,
                silentSeconds: z.number().meta({ description: "since its last beat, every 15 seconds" }),
                alive: z.boolean(),
                statements: z.int().meta({ description: "that ran at the last beat" }),
                transactions: z.int(),
                waiting: z.int().meta({ description: "transactions that waited for a connection" }),
                replicas: z.array(z.object({ name: z.string(), lagSeconds: z.number() })),
                vendors: z.array(Vendor),
                paused: z.array(z.object(Paused)),
              }),
            )
            .meta({ description: "of the last ten minutes; one that stops leaves the list" }),
          vendors: z
            .array(
              Vendor.extend({
                succeededAt: LastCall.meta({ description: "when a call last succeeded; null: not in 30 days" }),
                failedAt: LastCall.meta({ description: "when a call last failed; null: not in 30 days" }),
              }).meta({ id: "Vendor" }),
            )
            .meta({ description: "of all processes; those that were called in 30 days" }),
          paused: z.array(z.object({ ...Paused, processes: z.int() })).meta({
            description: "third parties that processes do not call for a while, as they did not answer",
          }),
          upkeep: z.array(
            z.object({
              task: z.enum(upkeepTasks),
              startedAt: Timestamp.nullable().meta({ description: "of the last run; null when there was none" }),
              ms: z.int().nullable(),
              changed: z.int().nullable().meta({ description: "rows, where the task counts them" }),
              error: z.string().nullable(),
            }),
          ),
          database: z.object({ connections: z.int(), maxConnections: z.int(), bytes: z.int() }),
        })
        .meta({ id: "Overview" }),
    },
  },
  async () => ok(await overview()),
);

operations.get(
  "/queues/:queue/minutes",
  {
    name: "listQueueMinutes",
    summary: "Read what a queue did in each minute of the last hours",
    description:
      "A worker records each minute when it is over. After an outage of the workers the minutes of the last 23 hours are recorded " +
      "later; one that is missing is not recorded. Kept for two days.",
    auth: "OBSERVER",
    params: z.object({ queue: Queue }),
    query: z.object({
      hours: z
        .string()
        .regex(/^([1-9]|[1-3]\d|4[0-8])$/, "must be from 1 to 48")
        .transform(Number)
        .default(3),
    }),
    answers: {
      200: z.array(
        z
          .object({
            minute: Timestamp,
            queue: z.string(),
            staged: z.int(),
            done: z.int(),
            oldestDueSeconds: z.number().nullable().meta({
              description: "of the oldest due job, at the end of the minute; null when the minute was recorded later",
            }),
          })
          .meta({ id: "QueueMinute" }),
      ),
    },
  },
  async ({ params: { queue }, query: { hours } }) => ok([...(await queueMinutes(queue, hours))]),
);

operations.get(
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

operations.get(
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

operations.post(
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

operations.get(
  "/notifications/:id",
  {
    name: "inspectNotification",
    summary: "Read why a notification was sent or not, with its job and its deliveries",
    auth: "OBSERVER",
    answers: { 200: z.object({ notification: NotificationFacts, jobs: z.array(Job), timeline: Timeline }) },
  },
  async ({ params }) => ok(found(await inspectNotification(params.id), "This notification")),
);

operations.get(
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

operations.get(
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

operations.get(
  "/jobs",
  {
    name: "listJobs",
    summary: "List jobs that are dead, due or waiting, newest first",
    description:
      "With `argument`, the hundred thousand due or waiting jobs that are due first are looked at; dead ones all.",
    auth: "OBSERVER",
    query: pageQuery(JobNumber).extend({
      state: z.enum(["DEAD", "DUE", "WAITING"]).default("DEAD"),
      ...filter,
      minAttempts: orNull(
        z
          .string()
          .regex(/^[1-9]\d{0,2}$/, "must be from 1 to 999")
          .transform(Number)
          .meta({ ...minAttempts, example: "3" }),
      ),
    }),
    answers: { 200: z.array(Job) },
  },
  ({ query: { state, limit, cursor, ...filter }, address }) =>
    page(address, { limit, cursor }, (after, most) => jobsIn(state, filter, after, most)),
);

operations.post(
  "/jobs/settle",
  {
    name: "settleJobs",
    summary: "Replay or dismiss dead jobs; run, snooze or cancel open ones, by their numbers",
    auth: "ADMIN",
    body: z
      .object({ kind: Kind, ids: z.array(JobNumber).min(1).max(200), until: Until, why: Why })
      .refine(hasItsTime, wrongTime),
    answers: { 200: z.object({ changed: z.int().meta({ description: "how many of them were in a state for it" }) }) },
  },
  async ({ user, body: { kind, ids, until, why } }) =>
    ok({ changed: await actOnJobs({ kind, until }, ids, { actorId: user.id, why }) }),
);

operations.post(
  "/bulk-actions",
  {
    name: "createBulkAction",
    summary:
      "Replay or dismiss all dead jobs or parked POS events that match, or run, snooze or cancel all open jobs, however many",
    description:
      "A worker works through them in batches. Jobs that die or are staged later, and events that come in later, are left alone. Of " +
      "events, `stagedFrom` and `stagedBefore` are about when they came in.",
    auth: "ADMIN",
    body: z
      .object({
        kind: Kind,
        state: BulkState.default("DEAD"),
        ...filter,
        minAttempts: orNull(MinAttempts),
        partnerId: orNull(Id).meta({ description: "whose parked events are meant; only with PARKED" }),
        all: z.literal(true).optional().meta({ description: "needed without any condition other than the state" }),
        until: Until,
        why: Why,
      })
      .refine(hasItsTime, wrongTime)
      .refine(({ kind, state }) => fitsState(kind, state), { path: ["state"], message: "does not fit the kind" })
      .refine(({ all, ...conditions }) => all === true || isLimited(conditions), {
        path: ["all"],
        message: "must be true when no condition limits what is meant",
      })
      .refine(isOfOneSort, { path: ["state"], message: "events have a partnerId, jobs a queue and an argument" })
      .meta({ example: { kind: "REPLAY", queue: "push", error: "503", why: "the push service was down" } }),
    answers: { 202: BulkAction },
  },
  async ({ user, body }) => {
    const id = await insertBulkAction(sql, { ...body, actorId: user.id });
    const action = found(await findBulkAction(sql, id), "This action");
    return accepted(presentAction(action), `/api/v1/admin/ops/bulk-actions/${id}`);
  },
);

operations.get(
  "/bulk-actions",
  {
    name: "listBulkActions",
    summary: "List bulk actions, newest first",
    auth: "OBSERVER",
    query: PageQuery,
    answers: { 200: z.array(BulkAction) },
  },
  ({ query, address }) => page(address, query, (after, limit) => listBulkActions(sql, after, limit), presentAction),
);

operations.get(
  "/bulk-actions/:id",
  {
    name: "readBulkAction",
    summary: "Read how far a bulk action is",
    auth: "OBSERVER",
    answers: { 200: BulkAction },
  },
  async ({ params }) => ok(presentAction(found(await findBulkAction(sql, params.id), "This action"))),
);

operations.post(
  "/bulk-actions/:id/stop",
  {
    name: "stopBulkAction",
    summary: "Stop a bulk action before its end",
    description: "What it has changed stays so, and `changed` counts it. One that has ended is answered as it is.",
    auth: "ADMIN",
    body: z.object({ why: Why }),
    answers: { 200: BulkAction },
  },
  async ({ user, params: { id }, body: { why } }) => {
    await stopBulkAction(id, { actorId: user.id, why });
    return ok(presentAction(found(await findBulkAction(sql, id), "This action")));
  },
);

operations.patch(
  "/queues/:queue",
  {
    name: "changeQueue",
    summary:
      "Pause or resume a queue, or change how many of its jobs a process runs at once or all together start a minute",
    description:
      "It holds until it is changed again, also after a restart and when the broker is wiped. Jobs of a paused queue wait and spend " +
      "no attempts; those that run end.",
    auth: "ADMIN",
    params: z.object({ queue: Queue }),
    body: z
      .object({
        paused: z.boolean().optional(),
        concurrency: z.int().min(1).max(1_000).nullish().meta({ description: "null: as configured" }),
        perMinute: z.int().min(1).max(1_000_000).nullish().meta({ description: "null: no limit", example: 600 }),
        why: Why,
      })
      .refine(
        ({ paused, concurrency, perMinute }) =>
          paused !== undefined || concurrency !== undefined || perMinute !== undefined,
        "must change something",
      ),
    answers: { 200: z.object({ queue: Queue, ...QueueSettings }).meta({ id: "QueueSettings" }) },
  },
  async ({ user, params: { queue }, body: { why, ...change } }) => {
    await changeQueue(queue, change, { actorId: user.id, why });
    return ok(await queueSetting(queue));
  },
);

operations.post(
  "/pos-events/settle",
  {
    name: "settleParkedEvents",
    summary: "Replay or dismiss parked POS events: by their numbers, of one partner, or all",
    description:
      "The oldest first, ten thousand at most; a bulk action has no limit. A dismissed event is processed without effect.",
    auth: "ADMIN",
    body: z
      .object({
        kind: z.enum(["REPLAY", "DISMISS"]),
        ids: orNull(z.array(JobNumber).min(1).max(200)),
        partnerId: orNull(Id),
        all: z.literal(true).optional().meta({ description: "needed without `ids` and without `partnerId`" }),
        why: Why,
      })
      .refine(({ ids, partnerId, all }) => all === true || ids !== null || partnerId !== null, {
        path: ["all"],
        message: "must be true without ids and without a partner",
      }),
    answers: { 200: z.object({ changed: z.int().meta({ description: "how many of them were parked" }) }) },
  },
  async ({ user, body: { kind, why, ids, partnerId }, requestId }) =>
    ok({ changed: await actOnParkedEvents(kind, { ids, partnerId }, { actorId: user.id, why }, requestId) }),
);

operations.post(
  "/upkeep/:task/run",
  {
    name: "runUpkeepTask",
    summary: "Run an upkeep task now, beside its schedule",
    auth: "ADMIN",
    params: z.object({ task: z.enum(upkeepTasks).meta({ example: "no-shows" }) }),
    body: z.object({ why: Why }),
    answers: { 202: z.object({ jobId: JobNumber }) },
  },
  async ({ user, params: { task }, body: { why }, requestId }) => {
    const jobId = await runUpkeepNow(task, { actorId: user.id, why }, requestId);
    return accepted({ jobId }, `/api/v1/admin/ops/search?q=${jobId}`);
  },
);

operations.post(
  "/rollups/run",
  {
    name: "runRollups",
    summary: "Roll up past days again, each as a job",
    description: `Both ends are included; ${MOST_DAYS} days at most.`,
    auth: "ADMIN",
    body: z.object({ from: Day, to: Day, why: Why }),
    answers: { 202: z.object({ days: z.int() }) },
    errors: [wrongDays],
  },
  async ({ user, body: { why, ...days }, requestId }) =>
    accepted(
      { days: await rollUpNow(days, { actorId: user.id, why }, requestId) },
      "/api/v1/admin/ops/jobs?queue=rollups&state=DUE",
    ),
);
