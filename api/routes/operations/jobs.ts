import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { estimateEnd, partOf } from "../../../lib/domain/progress.js";
import { sql } from "../../../sql/db.js";
import {
  findBulkAction,
  insertBulkAction,
  listBulkActions,
  type BulkActionRow,
} from "../../../sql/operators/bulk-actions.js";
import { Argument, argumentText } from "../../common/argument.js";
import { jobsIn } from "../../common/inspect.js";
import {
  actOnJobs,
  actOnParkedEvents,
  fitsState,
  hasItsTime,
  isLimited,
  stopBulkAction,
} from "../../common/operate.js";
import { accepted, found, ok, section } from "../../http/endpoint.js";
import { page, pageQuery, PageQuery } from "../../http/pagination.js";
import { EstimatedEnd, Id, Instant, orNull, shownAs, text, Timestamp } from "../../http/schemas.js";
import { Job, JobNumber, Queue, Why } from "./schemas.js";

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

/** Jobs and parked POS events: what they are, and acts on them. */
export const jobOperations = section({ prefix: "/admin/ops", tag: "Operations" });

jobOperations.get(
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

jobOperations.post(
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

jobOperations.post(
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

jobOperations.get(
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

jobOperations.get(
  "/bulk-actions/:id",
  {
    name: "readBulkAction",
    summary: "Read how far a bulk action is",
    auth: "OBSERVER",
    answers: { 200: BulkAction },
  },
  async ({ params }) => ok(presentAction(found(await findBulkAction(sql, params.id), "This action"))),
);

jobOperations.post(
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

jobOperations.post(
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
