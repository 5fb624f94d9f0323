import { Router, type Response } from "express";
import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { contracts, rollups } from "../../../queues/index.js";
import { upkeepTasks } from "../../../queues/upkeep.js";
import { sql } from "../../../sql/db.js";
import { findBulkAction, insertBulkAction, listBulkActions } from "../../../sql/operators/bulk-actions.js";
import { anyJob, findJobs } from "../../../sql/operators/jobs.js";
import { listParkedEvents } from "../../../sql/queries/pos-events.js";
import {
  inspectNotification,
  inspectOrder,
  inspectRequest,
  inspectThing,
  jobsIn,
  progressOfJob,
  recently,
  search,
} from "../../common/inspect.js";
import {
  allQueueMinutes,
  jobOwners,
  overview,
  partnerEvents,
  queueMinutes,
  queueState,
  upkeepRuns,
} from "../../common/overview.js";
import {
  actOnJobs,
  actOnParkedEvents,
  changeQueue,
  disconnectPos,
  fitsState,
  hasItsTime,
  isLimited,
  rollUpNow,
  runUpkeepNow,
  showContact,
  stopBulkAction,
} from "../../common/operate.js";
import { Argument } from "../../common/argument.js";
import { found } from "../../http/endpoint.js";
import { notFound } from "../../http/refusals.js";
import { Day, text } from "../../http/schemas.js";
import { guardPages, requireOperator } from "../dashboard/guard.js";
import { listRunningJobs } from "./running-jobs.js";
import { actionAt, actionsPage, stopPage } from "./bulk-actions.js";
import { EVERYTHING } from "./choice.js";
import { fieldsOf, jobPage, jobsPage } from "./jobs.js";
import { parkedFieldsOf, posEventsPage } from "./pos-events.js";
import { notificationPage, orderPage, requestPage, searchPage, thingPage } from "./found.js";
import { consoleRoot, eventsAt, jobsAt, refreshedAddress, wantsRefresh } from "./frame.js";
import { acts, by, Changed, Consent, explain, IdParams, operatorOf, orEmpty, readForm, shows, Time } from "./handle.js";
import { nowPage } from "./now.js";
import { queuePage, upkeepPage } from "./upkeep.js";
import { webhookPages } from "./webhooks-router.js";

const PAGE_SIZE = 50;
const LATEST_ACTIONS = 50;
const CHART_HOURS = 3;

const Queue = z.enum(contracts.map(({ queue }) => queue));
const Filter = z.object({
  queue: orEmpty(Queue),
  error: orEmpty(text(200)),
  stagedFrom: orEmpty(Time),
  stagedBefore: orEmpty(Time),
  minAttempts: orEmpty(z.coerce.number().int().min(1).max(999)),
  argument: orEmpty(Argument),
});
const JobsQuery = Filter.extend({
  state: z.enum(["DEAD", "DUE", "WAITING"]).default("DEAD"),
  after: z.coerce.number().int().positive().optional(),
});
const Parked = z.object({ partnerId: orEmpty(z.uuid()), error: orEmpty(text(200)) });
const PosEventsQuery = Parked.extend({ after: z.coerce.number().int().positive().optional() });
const SearchQuery = z.object({ q: text(200), at: Time.optional() });
const Act = Consent.extend({ kind: z.enum(enums.bulkActionKind), until: orEmpty(Time) });
/** The time is for snoozed jobs only; for others the field is ignored. */
const timed = <A extends z.output<typeof Act>>(act: A) => ({ ...act, until: act.kind === "SNOOZE" ? act.until : null });
const wrongTime = { path: ["until"], message: "must be a later time for jobs that are snoozed" };
const JobAct = Act.transform(timed).refine(hasItsTime, wrongTime);
const RowNumber = z.coerce.number().int().positive();
/** Rows of a table that are chosen one by one, or all that match. */
const Chosen = z.object({
  all: z.enum(["on", EVERYTHING]).optional(),
  ids: z.union([RowNumber.transform((id) => [id]), z.array(RowNumber)]).optional(),
});
const isChosen = ({ all, ids }: z.output<typeof Chosen>) => (all === undefined) === (ids !== undefined);
const notChosen = { path: ["ids"], message: "choose some, or all that match" };
const isSaid = (form: { all?: string | undefined } & Parameters<typeof isLimited>[0]) =>
  form.all !== "on" || isLimited(form);
const notSaid = {
  path: ["all"],
  message: "no condition limits what is meant: load the page again, and choose all there",
};
const JobsForm = Act.extend({ ...Filter.shape, ...Chosen.shape, state: z.enum(["DEAD", "DUE", "WAITING"]) })
  .transform(timed)
  .refine(hasItsTime, wrongTime)
  .refine(({ kind, state }) => fitsState(kind, state), { path: ["kind"], message: "does not fit the state" })
  .refine(isChosen, notChosen)
  .refine((form) => isSaid({ ...form, partnerId: null }), notSaid);
const QueueParams = z.object({ queue: Queue });
const QueueForm = Consent.extend({
  kind: z.enum(["PAUSE", "RESUME", "CONCURRENCY", "RATE"]),
  concurrency: orEmpty(z.coerce.number().int().min(1).max(1_000)),
  perMinute: orEmpty(z.coerce.number().int().min(1).max(1_000_000)),
});
const PosEventsForm = Consent.extend({
  kind: z.enum(["REPLAY", "DISMISS"]),
  ...Parked.shape,
  ...Chosen.shape,
})
  .refine(isChosen, notChosen)
  .refine((form) => isSaid({ ...anyJob, ...form }), notSaid);
const UpkeepForm = Consent.extend({ task: z.enum(upkeepTasks) });
const RollupForm = Consent.extend({ from: Day, to: Day });
const JobParams = z.object({ id: RowNumber });
const requestIdOf = (response: Response) => String(response.getHeader("x-request-id"));

const pages = Router();
pages.use(guardPages(consoleRoot), requireOperator);

pages.get(
  "/",
  shows(async ({ query }) => {
    const [state, minutes, running] = await Promise.all([overview(), allQueueMinutes(CHART_HOURS), listRunningJobs()]);
    return nowPage(state, minutes, running, wantsRefresh(query));
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
  "/things/:id",
  shows(async ({ params, query }) => {
    const thing = found(await inspectThing(IdParams.parse(params).id), "This id");
    return thingPage(thing, Changed.parse(query).changed);
  }),
);
pages.post(
  "/things/:id/disconnect",
  acts(async ({ params, body }, response) => {
    const { id } = IdParams.parse(params);
    const changed = await disconnectPos(id, by(response, Consent.parse(body)), requestIdOf(response));
    return `${consoleRoot}/things/${id}?changed=${Number(changed)}`;
  }),
);
pages.get(
  "/requests/:id",
  shows(async ({ params, query }) => {
    const { q, at } = SearchQuery.parse({ ...query, q: params["id"] });
    return requestPage(q, await inspectRequest(q, recently(at)));
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
    const id = await insertBulkAction(sql, { ...form, partnerId: null, actorId: operatorOf(response) });
    // who has asked for it wants to see how it goes
    return refreshedAddress(actionAt(id));
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
  shows(async ({ query }) => {
    const actions = await listBulkActions(sql, null, LATEST_ACTIONS);
    return actionsPage("Bulk actions", actions, `${consoleRoot}/bulk-actions`, wantsRefresh(query));
  }),
);
pages.get(
  "/bulk-actions/:id",
  shows(async ({ params, query }) => {
    const action = found(await findBulkAction(sql, IdParams.parse(params).id), "This action");
    return actionsPage("Bulk action", [action], actionAt(action.id), wantsRefresh(query));
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
    return actionAt(id);
  }),
);

pages.get(
  "/queues/:queue",
  shows(async ({ params, query }) => {
    const { queue } = QueueParams.parse(params);
    const [state, minutes, owners] = await Promise.all([
      queueState(queue),
      queueMinutes(queue, CHART_HOURS),
      jobOwners(queue),
    ]);
    return queuePage(found(state, "This queue"), minutes, owners, Changed.parse(query).changed);
  }),
);
pages.post(
  "/queues/:queue",
  acts(async ({ params, body }, response) => {
    const { queue } = QueueParams.parse(params);
    const { kind, concurrency, perMinute, ...form } = QueueForm.parse(body);
    const changes = {
      PAUSE: { paused: true },
      RESUME: { paused: false },
      CONCURRENCY: { concurrency },
      RATE: { perMinute },
    };
    const changed = await changeQueue(queue, changes[kind], by(response, form));
    return `${consoleRoot}/queues/${queue}?changed=${Number(changed)}`;
  }),
);
pages.get(
  "/pos-events",
  shows(async ({ query }) => {
    const { after = null, ...filter } = PosEventsQuery.parse(query);
    const [rows, partners] = await Promise.all([listParkedEvents(sql, filter, after, PAGE_SIZE + 1), partnerEvents()]);
    const events = rows.slice(0, PAGE_SIZE);
    const last = events.at(-1);
    const next =
      rows.length > PAGE_SIZE && last ? eventsAt({ ...parkedFieldsOf(filter), after: String(last.id) }) : null;
    return posEventsPage({ ...filter, events, partners, next, changed: Changed.parse(query).changed });
  }),
);
pages.post(
  "/pos-events",
  acts(async ({ body }, response) => {
    const { kind, ids, why, ...filter } = PosEventsForm.parse(body);
    if (ids !== undefined) {
      const which = { ids, partnerId: null };
      const changed = await actOnParkedEvents(kind, which, by(response, { why }), requestIdOf(response));
      return eventsAt({ ...parkedFieldsOf(filter), changed: String(changed) });
    }
    const { partnerId, error } = filter;
    const meant = { ...anyJob, state: "PARKED" as const, partnerId, error };
    const id = await insertBulkAction(sql, { ...meant, kind, until: null, why, actorId: operatorOf(response) });
    // who has asked for it wants to see how it goes
    return refreshedAddress(actionAt(id));
  }),
);
pages.use("/webhooks", webhookPages);
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

pages.use(() => {
  throw notFound("This page");
});
pages.use(explain);

/** The operators' console: what the service does, why something was not sent, and what to do about dead jobs. */
export const operatorsConsole = Router().use(consoleRoot, pages);
