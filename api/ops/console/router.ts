import express, { Router, type Request, type RequestHandler, type Response } from "express";
import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { ApiError } from "../../../lib/process/errors.js";
import { contracts } from "../../../queues/index.js";
import { upkeepTasks } from "../../../queues/upkeep.js";
import { sql } from "../../../sql/db.js";
import { findBulkAction, findJobs, insertBulkAction, listBulkActions } from "../../../sql/outbox-operators.js";
import { listPosEvents } from "../../../sql/queries/pos-events.js";
import {
  inspectNotification,
  inspectOrder,
  inspectRequest,
  jobsIn,
  overview,
  queueMinutes,
  recently,
  search,
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
} from "../../common/operate.js";
import { found } from "../../http/endpoint.js";
import { text } from "../../http/schemas.js";
import { guardPages, requireOperator } from "../dashboard/guard.js";
import {
  actionsPage,
  consoleRoot,
  jobPage,
  jobsPage,
  notificationPage,
  nowPage,
  orderPage,
  posEventsPage,
  queuePage,
  refusalPage,
  requestPage,
  searchPage,
  upkeepPage,
  type Page,
} from "./pages.js";

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
const Filter = z.object({
  queue: orEmpty(Queue),
  error: orEmpty(text(200)),
});
const JobsQuery = Filter.extend({
  state: z.enum(["DEAD", "DUE", "WAITING"]).default("DEAD"),
  after: z.coerce.number().int().positive().optional(),
});
const PosEventsQuery = z.object({ after: z.coerce.number().int().positive().optional() });
/** A form's local time is meant as UTC, which the pages show. */
const Time = z
  .string()
  .transform((at) => new Date(/(Z|[+-]\d\d:\d\d)$/.test(at) ? at : `${at}Z`))
  .refine((at) => !Number.isNaN(at.getTime()), "must be a time");
const SearchQuery = z.object({ q: text(200), at: Time.optional() });
/** What every form has that does something. */
const Consent = z.object({ why: text(500), sure: z.literal("on") });
const Act = Consent.extend({ kind: z.enum(enums.bulkActionKind), until: orEmpty(Time) });
/** The time is for snoozed jobs only; for others the field is ignored. */
const timed = <A extends z.output<typeof Act>>(act: A) => ({ ...act, until: act.kind === "SNOOZE" ? act.until : null });
const wrongTime = { path: ["until"], message: "must be a later time for jobs that are snoozed" };
const JobAct = Act.transform(timed).refine(hasItsTime, wrongTime);
const BulkAct = Act.extend({ ...Filter.shape, state: z.enum(enums.bulkActionState) })
  .transform(timed)
  .refine(hasItsTime, wrongTime)
  .refine(({ kind, state }) => fitsState(kind, state), { path: ["kind"], message: "does not fit the state" });
const QueueParams = z.object({ queue: Queue });
const QueueForm = Consent.extend({
  kind: z.enum(["PAUSE", "RESUME", "CONCURRENCY"]),
  concurrency: orEmpty(z.coerce.number().int().min(1).max(1_000)),
});
const RowNumber = z.coerce.number().int().positive();
const PosEventsForm = Consent.extend({
  kind: z.enum(["REPLAY", "DISMISS"]),
  partnerId: orEmpty(z.uuid()),
  all: z.literal("on").optional(),
  ids: z.union([RowNumber.transform((id) => [id]), z.array(RowNumber)]).optional(),
}).refine(({ all, ids }) => (all === undefined) === (ids !== undefined), {
  path: ["ids"],
  message: "choose events, or all that match",
});
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
  shows(async ({ query }) =>
    nowPage(await overview(), await queueMinutes(null, CHART_HOURS), query["refresh"] === "on"),
  ),
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
    const { state, queue, error, after = null } = JobsQuery.parse(query);
    const rows = await jobsIn(state, { queue, error }, after, PAGE_SIZE + 1);
    const jobs = rows.slice(0, PAGE_SIZE);
    const last = jobs.at(-1);
    const more = rows.length > PAGE_SIZE && last !== undefined;
    const rest = { state, queue: queue ?? "", error: error ?? "" };
    const next = more
      ? `${consoleRoot}/jobs?${new URLSearchParams({ ...rest, after: String(last.id) }).toString()}`
      : null;
    return jobsPage({ state, queue, error, jobs, next });
  }),
);
pages.get(
  "/jobs/:id",
  shows(async ({ params, query }) => {
    const [job] = await findJobs(sql, [JobParams.parse(params).id]);
    return jobPage(found(job, "This job"), Changed.parse(query).changed);
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
pages.post(
  "/bulk-actions",
  acts(async ({ body }, response) => {
    const id = await insertBulkAction(sql, { ...BulkAct.parse(body), actorId: operatorOf(response) });
    return `${consoleRoot}/bulk-actions/${id}`;
  }),
);

pages.get(
  "/queues/:queue",
  shows(async ({ params }) => {
    const { queue } = QueueParams.parse(params);
    return queuePage(
      found(
        (await overview()).queues.find((shown) => shown.queue === queue),
        "This queue",
      ),
      await queueMinutes(queue, CHART_HOURS),
    );
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
  shows(async () => upkeepPage((await overview()).upkeep)),
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
    return `${consoleRoot}/jobs?${new URLSearchParams({ state: "DUE", queue: "rollups" }).toString()}`;
  }),
);

/** The operators' console: what the service does, why something was not sent, and what to do about dead jobs. */
export const operatorsConsole = Router().use(consoleRoot, pages);
