import express, { Router, type Request, type RequestHandler, type Response } from "express";
import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { ApiError } from "../../../lib/process/errors.js";
import { contracts } from "../../../queues/index.js";
import { sql } from "../../../sql/db.js";
import { findBulkAction, findJobs, insertBulkAction, listBulkActions } from "../../../sql/outbox-operators.js";
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
import { found } from "../../http/endpoint.js";
import { text } from "../../http/schemas.js";
import { guardPages, requireAdmin } from "../dashboard/guard.js";
import {
  actionsPage,
  consoleRoot,
  jobPage,
  jobsPage,
  notificationPage,
  nowPage,
  orderPage,
  refusalPage,
  requestPage,
  searchPage,
} from "./pages.js";

const PAGE_SIZE = 50;
const LATEST_ACTIONS = 50;

/** A field of a form that is left empty is null. */
const orEmpty = <S extends z.ZodType>(field: S) =>
  z
    .literal("")
    .transform(() => null)
    .or(field)
    .optional()
    .transform((value) => value ?? null);

const Filter = z.object({
  queue: orEmpty(z.enum(contracts.map(({ queue }) => queue))),
  error: orEmpty(text(200)),
});
const JobsQuery = Filter.extend({
  state: z.enum(["DEAD", "DUE", "WAITING"]).default("DEAD"),
  after: z.coerce.number().int().positive().optional(),
});
/** A form's local time is meant as UTC, which the pages show. */
const At = z
  .string()
  .transform((at) => new Date(/(Z|[+-]\d\d:\d\d)$/.test(at) ? at : `${at}Z`))
  .refine((at) => !Number.isNaN(at.getTime()), "must be a time")
  .optional();
const SearchQuery = z.object({ q: text(200), at: At });
const Decision = z.object({ kind: z.enum(enums.bulkActionKind), why: text(500), sure: z.literal("on") });
const JobParams = z.object({ id: z.coerce.number().int().positive() });
const IdParams = z.object({ id: z.uuid() });
const operatorOf = (response: Response) => String(response.locals["operatorId"]);

/** Handles a request for a page: invalid input and refusals are shown on a page. */
const shows =
  (make: (request: Request, response: Response) => Promise<string>): RequestHandler =>
  async (request, response) => {
    try {
      response.send(await make(request, response));
    } catch (error) {
      if (error instanceof z.ZodError) response.status(400).send(refusalPage(z.prettifyError(error)));
      else if (error instanceof ApiError) response.status(error.status).send(refusalPage(error.message));
      else throw error;
    }
  };

/** Handles a form, and leads to the page that `act` returns. */
const acts = (act: (request: Request, response: Response) => Promise<string>): RequestHandler[] => [
  express.urlencoded({ extended: false, limit: 4_000 }),
  async (request, response, next) => {
    try {
      response.redirect(303, await act(request, response));
    } catch (error) {
      if (error instanceof z.ZodError) response.status(400).send(refusalPage(z.prettifyError(error)));
      else next(error);
    }
  },
];

const pages = Router();
pages.use(guardPages(consoleRoot), requireAdmin);

pages.get(
  "/",
  shows(async () => nowPage(await overview())),
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
  shows(async ({ params }) => orderPage(found(await inspectOrder(IdParams.parse(params).id), "This order"))),
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
  shows(async ({ params }) => jobPage(found((await findJobs(sql, [JobParams.parse(params).id]))[0], "This job"))),
);
pages.post(
  "/jobs/:id",
  acts(async ({ params, body }, response) => {
    const { id } = JobParams.parse(params);
    const { kind, why } = Decision.parse(body);
    await settleWithAudit(kind, [id], why, operatorOf(response));
    return `${consoleRoot}/jobs/${id}`;
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
    const { kind, why, queue, error } = Decision.extend(Filter.shape).parse(body);
    const id = await insertBulkAction(sql, { kind, why, queue, error, actorId: operatorOf(response) });
    return `${consoleRoot}/bulk-actions/${id}`;
  }),
);

/** The operators' console: what the service does, why something was not sent, and what to do about dead jobs. */
export const operatorsConsole = Router().use(consoleRoot, pages);
