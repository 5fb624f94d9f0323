import express, { Router, type Request, type RequestHandler, type Response } from "express";
import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { ApiError } from "../../../lib/process/errors.js";
import { contracts, rollups } from "../../../queues/index.js";
import { upkeepTasks } from "../../../queues/upkeep.js";
import { sql } from "../../../sql/db.js";
import { findBulkAction, findJobs, insertBulkAction, listBulkActions } from "../../../sql/outbox-operators.js";
import { listPosEvents } from "../../../sql/queries/pos-events.js";
import {
  allQueueMinutes,
  inspectNotification,
  inspectOrder,
  inspectRequest,
  jobsIn,
  overview,
  progressOfJob,
  queueMinutes,
  queueState,
  recently,
  search,
  upkeepRuns,
} from "../../common/inspect.js";
import {
  actOnJobs,
  actOnParkedEvents,
  changeQueue,
  fitsState,
  hasItsTime,
  rollUpNow,
  runUpkeepNow,
  showContact,
  stopBulkAction,
} from "../../common/operate.js";
import { found } from "../../http/endpoint.js";
import { text } from "../../http/schemas.js";
import { guardPages, requireOperator } from "../dashboard/guard.js";
import { listRunningJobs } from "./running-jobs.js";
import { actionsPage, fieldsOf, jobPage, jobsPage, posEventsPage, stopPage } from "./actions.js";
import { notificationPage, orderPage, requestPage, searchPage } from "./found.js";
import { consoleRoot, jobsAt, refusalPage, type Page } from "./frame.js";
import { nowPage } from "./now.js";
import { queuePage, upkeepPage } from "./upkeep.js";

const PAGE_SIZE = 50;
const LATEST_ACTIONS = 50;
const CHART_HOURS = 3;

/** A field of a form that is left empty is null. */
const orEmpty = <S extends z.ZodType>(field: S) =>
  z
    .literal("")
    .transform(() => null)
    .or(field)
    .optional()
    .transform((value) => value ?? null);

const Queue = z.enum(contracts.map(({ queue }) => queue));
/** A form's local time is meant as UTC, which the pages show. */
const Time = z
  .string()
  .transform((at) => new Date(/(Z|[+-]\d\d:\d\d)$/.test(at) ? at : `${at}Z`))
  .refine((at) => !Number.isNaN(at.getTime()), "must be a time");
const Filter = z.object({
  queue: orEmpty(Queue),
  error: orEmpty(text(200)),
  stagedFrom: orEmpty(Time),
  stagedBefore: orEmpty(Time),
  minAttempts: orEmpty(z.coerce.number().int().min(1).max(999)),
});
const JobsQuery = Filter.extend({
  state: z.enum(["DEAD", "DUE", "WAITING"]).default("DEAD"),
  after: z.coerce.number().int().positive().optional(),
});
const PosEventsQuery = z.object({ after: z.coerce.number().int().positive().optional() });
const SearchQuery = z.object({ q: text(200), at: Time.optional() });
/** What every form has that does something. */
const Consent = z.object({ why: text(500), sure: z.literal("on") });
const Act = Consent.extend({ kind: z.enum(enums.bulkActionKind), until: orEmpty(Time) });
/** The time is for snoozed jobs only; for others the field is ignored. */
const timed = <A extends z.output<typeof Act>>(act: A) => ({ ...act, until: act.kind === "SNOOZE" ? act.until : null });
const wrongTime = { path: ["until"], message: "must be a later time for jobs that are snoozed" };
const JobAct = Act.transform(timed).refine(hasItsTime, wrongTime);
const RowNumber = z.coerce.number().int().positive();
/** Rows of a table that are chosen one by one, or all that match. */
const Chosen = z.object({
  all: z.literal("on").optional(),
  ids: z.union([RowNumber.transform((id) => [id]), z.array(RowNumber)]).optional(),
});
const isChosen = ({ all, ids }: z.output<typeof Chosen>) => (all === undefined) === (ids !== undefined);
const notChosen = { path: ["ids"], message: "choose some, or all that match" };
const JobsForm = Act.extend({ ...Filter.shape, ...Chosen.shape, state: z.enum(enums.bulkActionState) })
  .transform(timed)
  .refine(hasItsTime, wrongTime)
  .refine(({ kind, state }) => fitsState(kind, state), { path: ["kind"], message: "does not fit the state" })
  .refine(isChosen, notChosen);
const QueueParams = z.object({ queue: Queue });
const QueueForm = Consent.extend({
  kind: z.enum(["PAUSE", "RESUME", "CONCURRENCY"]),
  concurrency: orEmpty(z.coerce.number().int().min(1).max(1_000)),
});
const PosEventsForm = Consent.extend({
  kind: z.enum(["REPLAY", "DISMISS"]),
  partnerId: orEmpty(z.uuid()),
  ...Chosen.shape,
}).refine(isChosen, notChosen);
const UpkeepForm = Consent.extend({ task: z.enum(upkeepTasks) });
const RollupForm = Consent.extend({ from: z.iso.date(), to: z.iso.date() });
/** The number that a form has changed, in the address that it leads to. */
const Changed = z.object({ changed: orEmpty(z.coerce.number().int()) });
const JobParams = z.object({ id: RowNumber });
const IdParams = z.object({ id: z.uuid() });
const operatorOf = (response: Response) => String(response.locals["operatorId"]);
const requestIdOf = (response: Response) => String(response.getHeader("x-request-id"));
const by = (response: Response, { why }: { why: string }) => ({ actorId: operatorOf(response), why });

const mayActOf = (response: Response) => response.locals["mayAct"] === true;

/** Shows invalid input and refusals on a page. */
const explains =
  (handle: (request: Request, response: Response) => Promise<void>): RequestHandler =>
  async (request, response) => {
    try {
      await handle(request, response);
    } catch (error) {
      if (error instanceof z.ZodError)
        response.status(400).send(refusalPage(z.prettifyError(error))(mayActOf(response)));
      else if (error instanceof ApiError)
        response.status(error.status).send(refusalPage(error.message)(mayActOf(response)));
      else throw error;
    }
  };

/** Handles a request for a page. */
const shows = (make: (request: Request, response: Response) => Promise<Page>): RequestHandler =>
  explains(async (request, response) => {
    response.send((await make(request, response))(mayActOf(response)));
  });

const readForm = express.urlencoded({ extended: false, limit: 8_000 });

/** Handles a form, and leads to the page that `act` returns. */
const acts = (act: (request: Request, response: Response) => Promise<string>): RequestHandler[] => [
  readForm,
  explains(async (request, response) => {
    response.redirect(303, await act(request, response));
  }),
];

const pages = Router();
pages.use(guardPages(consoleRoot), requireOperator);

pages.get(
  "/",
  // a page that changes under its reader is for those who ask for it
  shows(async ({ query }) => {
    const [state, minutes, running] = await Promise.all([overview(), allQueueMinutes(CHART_HOURS), listRunningJobs()]);
    return nowPage(state, minutes, running, query["refresh"] === "on");
  }),
);
pages.get(
  "/search",
  shows(async ({ query }, response) => {
    const { q, at } = SearchQuery.parse(query);
    return searchPage(q, await search(q, recently(at), operatorOf(response)));
  }),
);
pages.get(
  "/orders/:id",
  shows(async ({ params }) => orderPage(found(await inspectOrder(IdParams.parse(params).id), "This order"), null)),
);
pages.post(
  "/orders/:id",
  readForm,
  shows(async ({ params, body }, response) => {
    const { id } = IdParams.parse(params);
    const contact = found(await showContact(id, by(response, Consent.parse(body))), "This order");
    return orderPage(found(await inspectOrder(id), "This order"), contact);
  }),
);
pages.get(
  "/notifications/:id",
  shows(async ({ params }) =>
    notificationPage(found(await inspectNotification(IdParams.parse(params).id), "This notification")),
  ),
);
pages.get(
  "/requests/:id",
  shows(async ({ params, query }) => {
    const { q, at } = SearchQuery.parse({ ...query, q: params["id"] });
    return requestPage(q, (await inspectRequest(q, recently(at))).timeline);
  }),
);
pages.get(
  "/jobs",
  shows(async ({ query }) => {
    const { state, after = null, ...filter } = JobsQuery.parse(query);
    const rows = await jobsIn(state, filter, after, PAGE_SIZE + 1);
    const jobs = rows.slice(0, PAGE_SIZE);
    const last = jobs.at(-1);
    const more = rows.length > PAGE_SIZE && last !== undefined;
    const view = { state, ...filter, jobs, changed: Changed.parse(query).changed };
    return jobsPage({ ...view, next: more ? jobsAt({ ...fieldsOf(view), after: String(last.id) }) : null });
  }),
);
pages.post(
  "/jobs",
  acts(async ({ body }, response) => {
    const form = JobsForm.parse(body);
    if (form.ids !== undefined) {
      const changed = await actOnJobs(form, form.ids, by(response, form));
      return jobsAt({ ...fieldsOf(form), changed: String(changed) });
    }
    const id = await insertBulkAction(sql, { ...form, actorId: operatorOf(response) });
    return `${consoleRoot}/bulk-actions/${id}`;
  }),
);
pages.get(
  "/jobs/:id",
  shows(async ({ params, query }) => {
    const [row] = await findJobs(sql, [JobParams.parse(params).id]);
    const job = found(row, "This job");
    return jobPage(job, (await progressOfJob(job)) ?? null, Changed.parse(query).changed);
  }),
);
pages.post(
  "/jobs/:id",
  acts(async ({ params, body }, response) => {
    const { id } = JobParams.parse(params);
    const act = JobAct.parse(body);
    const changed = await actOnJobs(act, [id], by(response, act));
    return `${consoleRoot}/jobs/${id}?changed=${changed}`;
  }),
);
pages.get(
  "/bulk-actions",
  shows(async () => actionsPage("Bulk actions", await listBulkActions(sql, null, LATEST_ACTIONS))),
);
pages.get(
  "/bulk-actions/:id",
  shows(async ({ params }) => {
    const action = found(await findBulkAction(sql, IdParams.parse(params).id), "This action");
    return actionsPage("Bulk action", [action]);
  }),
);
pages.get(
  "/bulk-actions/:id/stop",
  shows(async ({ params }) => stopPage(found(await findBulkAction(sql, IdParams.parse(params).id), "This action"))),
);
pages.post(
  "/bulk-actions/:id/stop",
  acts(async ({ params, body }, response) => {
    const { id } = IdParams.parse(params);
    await stopBulkAction(id, by(response, Consent.parse(body)));
    return `${consoleRoot}/bulk-actions/${id}`;
  }),
);

pages.get(
  "/queues/:queue",
  shows(async ({ params }) => {
    const { queue } = QueueParams.parse(params);
    return queuePage(found(await queueState(queue), "This queue"), await queueMinutes(queue, CHART_HOURS));
  }),
);
pages.post(
  "/queues/:queue",
  acts(async ({ params, body }, response) => {
    const { queue } = QueueParams.parse(params);
    const { kind, concurrency, ...form } = QueueForm.parse(body);
    await changeQueue(
      queue,
      kind === "CONCURRENCY" ? { concurrency } : { paused: kind === "PAUSE" },
      by(response, form),
    );
    return `${consoleRoot}/queues/${queue}`;
  }),
);
pages.get(
  "/pos-events",
  shows(async ({ query }) => {
    const { after = null } = PosEventsQuery.parse(query);
    const rows = await listPosEvents(sql, ["PARKED"], after, PAGE_SIZE + 1);
    const events = rows.slice(0, PAGE_SIZE);
    const last = events.at(-1);
    const next = rows.length > PAGE_SIZE && last ? `${consoleRoot}/pos-events?after=${last.id}` : null;
    return posEventsPage({ events, next, changed: Changed.parse(query).changed });
  }),
);
pages.post(
  "/pos-events",
  acts(async ({ body }, response) => {
    const { kind, partnerId, ids = null, ...form } = PosEventsForm.parse(body);
    const changed = await actOnParkedEvents(kind, { ids, partnerId }, by(response, form), requestIdOf(response));
    return `${consoleRoot}/pos-events?changed=${changed}`;
  }),
);
pages.get(
  "/upkeep",
  shows(async () => upkeepPage(await upkeepRuns())),
);
pages.post(
  "/upkeep",
  acts(async ({ body }, response) => {
    const { task, ...form } = UpkeepForm.parse(body);
    return `${consoleRoot}/jobs/${await runUpkeepNow(task, by(response, form), requestIdOf(response))}`;
  }),
);
pages.post(
  "/rollups",
  acts(async ({ body }, response) => {
    const { why, from, to } = RollupForm.parse(body);
    await rollUpNow({ from, to }, by(response, { why }), requestIdOf(response));
    return jobsAt({ state: "DUE", queue: rollups.queue });
  }),
);

/** The operators' console: what the service does, why something was not sent, and what to do about dead jobs. */
export const operatorsConsole = Router().use(consoleRoot, pages);
