import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { upkeepTasks } from "../../../queues/upkeep.js";
import { overview, queueMinutes, queueSetting } from "../../common/overview.js";
import { changeQueue } from "../../common/operate.js";
import { ok, section } from "../../http/endpoint.js";
import { Timestamp } from "../../http/schemas.js";
import { Queue, Why } from "./schemas.js";

const QueueSettings = {
  pausedAt: Timestamp.nullable().meta({ description: "null when it is not paused" }),
  pausedWhy: z.string().nullable(),
  concurrency: z.int().nullable().meta({ description: "jobs that a process runs at once; null: as configured" }),
  perMinute: z
    .int()
    .nullable()
    .meta({ description: "jobs that all processes together start a minute; null: no limit", example: 600 }),
};

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

/** The state of the service, and of its queues. */
export const queueOperations = section({ prefix: "/admin/ops", tag: "Operations" });

queueOperations.get(
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

queueOperations.get(
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

queueOperations.patch(
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
