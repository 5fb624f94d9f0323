import { enums, type Enum } from "../../../lib/domain/enums.js";
import type { BulkActionRow, JobFilter, JobRow, JobState } from "../../../sql/outbox-operators.js";
import type { FoundRow, OrderContact } from "../../../sql/queries/operations.js";
import type { ListedPosEvent } from "../../../sql/queries/pos-events.js";
import type { QueueMinute } from "../../../sql/queries/service-state.js";
import { contracts } from "../../../queues/index.js";
import { upkeepTasks } from "../../../queues/upkeep.js";
import type { inspectNotification, inspectOrder, overview, TimelineEntry } from "../../common/inspect.js";
import { fitsState } from "../../common/operate.js";
import { chartOf } from "./chart.js";
import { html, type Html } from "./html.js";

/** The console's path. */
export const consoleRoot = "/admin/ops";

const style = html` :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; background: light-dark(#fff,
#121212); color: light-dark(#111, #eee) } a { color: light-dark(#0842a0, #8ab4f8) } a:visited { color:
light-dark(#5b2d90, #c8a8f0) } body { max-width: 70rem; margin: 0 auto; padding: 0 1rem 3rem } nav { display: flex;
flex-wrap: wrap; gap: .5rem 1.2rem; align-items: center; padding: .8rem 0; border-bottom: 1px solid #8886 } nav form {
margin-left: auto } h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem } .wide { overflow-x: auto } table
{ border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px
solid #8883; vertical-align: top; overflow-wrap: anywhere } td.number, th.number { text-align: right;
font-variant-numeric: tabular-nums } input, select, button, textarea { font: inherit; padding: .4rem .6rem } .chart {
width: 11rem; height: 1.8rem; overflow: visible } .chart polyline { fill: none; stroke: light-dark(#0b57d0, #8ab4f8);
stroke-width: 1.5; vector-effect: non-scaling-stroke } .chart .out { stroke: light-dark(#146c2e, #7fd694);
stroke-dasharray: 4 3 } .big .chart { width: 100%; height: 8rem } .observer form[method=post] { display: none }
th[scope=col] { overflow-wrap: normal } figure { margin: 1rem 0 } form.filter label:has([type=checkbox]) { display:
block } form.filter { display: flex; flex-wrap: wrap; gap: .6rem; align-items: end } form.filter label { display: grid }
fieldset { border: 1px solid #8886; margin: 1.5rem 0; padding: .8rem } progress { width: 100% } .bad { font-weight: 600;
color: light-dark(#b71c1c, #ff8a80) } .note { color: light-dark(#555, #aaa) } time { white-space: nowrap }`;

/** The attributes of a table's frame, which can be scrolled on a phone, also with the keyboard. */
const wide = (label: string): Html => html`class="wide" role="region" tabindex="0" aria-label="${label}"`;

/** A page, for those who may act or only look. */
export type Page = (mayAct: boolean) => string;

/** Makes a whole page; with `refreshSeconds` the browser loads it again and again. */
const page =
  (title: string, body: Html, refreshSeconds: number | null = null): Page =>
  (mayAct) =>
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          ${refreshSeconds === null ? null : html`<meta http-equiv="refresh" content="${refreshSeconds}" />`}
          <title>${title} – operations</title>
          <link rel="icon" href="data:," />
          <style>
            ${style}
          </style>
        </head>
        <body class="${mayAct ? "" : "observer"}">
          <nav aria-label="Console">
            <a href="${consoleRoot}">Now</a>
            <a href="${consoleRoot}/jobs">Jobs</a>
            <a href="${consoleRoot}/bulk-actions">Bulk actions</a>
            <a href="${consoleRoot}/pos-events">POS events</a>
            <a href="${consoleRoot}/upkeep">Upkeep</a>
            ${mayAct ? html`<a href="/admin/queues">Queues</a>` : null}
            <a href="/admin/queues/sign-out">Sign out</a>
            <form action="${consoleRoot}/search" role="search">
              <label
                >Find
                <input name="q" type="search" required maxlength="200" placeholder="an id, a number, a code, a phone"
              /></label>
              <button>Find</button>
            </form>
          </nav>
          <main>
            <h1>${title}</h1>
            ${body}
          </main>
        </body>
      </html> `.toString();

const time = (at: Date) =>
  html`<time datetime="${at.toISOString()}">${at.toISOString().slice(0, 19).replace("T", " ")}</time>`;
const orderLink = (id: string) => html`<a href="${consoleRoot}/orders/${id}">${id}</a>`;
const notificationLink = (id: string) => html`<a href="${consoleRoot}/notifications/${id}">${id}</a>`;
const jobLink = (id: number) => html`<a href="${consoleRoot}/jobs/${id}">${id}</a>`;

/** The address of the list of jobs that match. */
const jobsAt = (state: string, queue: string) =>
  `${consoleRoot}/jobs?${new URLSearchParams({ state, queue }).toString()}`;

const queueAt = (queue: string) => `${consoleRoot}/queues/${queue}`;

/** Returns the sentences that say what needs an operator. */
function troubles({
  queues,
  parkedPosEvents,
  partnersWithParkedEvents,
  rollupDaysDue,
  canaryAgeSeconds,
}: Overview): Html[] {
  const lines: Html[] = [];
  if (canaryAgeSeconds === null || canaryAgeSeconds > 90)
    lines.push(
      html`${canaryAgeSeconds === null ? "No worker has run the canary yet" : `The last canary is ${Math.round(canaryAgeSeconds)} s old`}:
      are workers and broker up?`,
    );
  for (const { queue, dead, oldestDueSeconds, pausedAt, pausedWhy } of queues) {
    if (dead > 0)
      lines.push(html`<a href="${jobsAt("DEAD", queue)}">${dead} dead ${dead === 1 ? "job" : "jobs"} in ${queue}</a>`);
    if (pausedAt)
      lines.push(html`<a href="${queueAt(queue)}">${queue} is paused</a> since ${time(pausedAt)}: ${pausedWhy}`);
    else if (oldestDueSeconds > 60)
      lines.push(html`<a href="${jobsAt("DUE", queue)}">${queue} is ${Math.round(oldestDueSeconds)} s behind</a>`);
  }
  if (parkedPosEvents > 0)
    lines.push(
      html`<a href="${consoleRoot}/pos-events"
        >${parkedPosEvents} parked POS events of ${partnersWithParkedEvents} partners</a
      >`,
    );
  if (rollupDaysDue > 0) lines.push(html`${rollupDaysDue} days are not rolled up`);
  return lines;
}

type Overview = Awaited<ReturnType<typeof overview>>;

/** Vendors that fail now and then are not worth a line. */
const FAILING = 0.2;

function troublesAround({ processes, vendors, upkeep, database }: Overview): Html[] {
  const lines: Html[] = [];
  if (!processes.some(({ role, alive }) => role === "WORKER" && alive)) lines.push(html`No worker process is alive`);
  for (const { id, role, alive, silentSeconds, waiting } of processes) {
    if (!alive) lines.push(html`The ${role} process ${id} has been silent for ${Math.round(silentSeconds)} s`);
    else if (waiting > 0) lines.push(html`In ${id} ${waiting} transactions wait for a connection to Postgres`);
  }
  for (const { vendor, calls, failed } of vendors)
    if (failed >= FAILING * calls) lines.push(html`${vendor} fails: ${failed} of ${calls} calls in five minutes`);
  for (const { task, startedAt, error } of upkeep)
    if (error !== null && startedAt)
      lines.push(html`<a href="${consoleRoot}/upkeep">Upkeep ${task} failed</a> at ${time(startedAt)}: ${error}`);
  if (database.connections > 0.9 * database.maxConnections)
    lines.push(html`${database.connections} of ${database.maxConnections} connections to Postgres are taken`);
  return lines;
}

const seconds = (amount: number) => `${Math.round(amount)} s`;

const aroundOf = ({ processes, vendors, database }: Overview): Html =>
  html`<h2>Processes</h2>
    <p>
      Postgres has ${database.connections} of ${database.maxConnections} connections, and
      ${Math.round(database.bytes / 1_048_576)} MB of data.
    </p>
    <div ${wide("Processes")}>
      <table>
        <thead>
          <tr>
            <th scope="col">Process</th>
            <th scope="col">Role</th>
            <th scope="col">Version</th>
            <th scope="col">Started, UTC</th>
            ${["Last beat", "Statements", "Transactions", "Waiting"].map((name) => html`<th scope="col" class="number">${name}</th>`)}
            <th scope="col">Replicas</th>
          </tr>
        </thead>
        <tbody>
          ${processes.map(
            ({ id, role, version, startedAt, silentSeconds, statements, transactions, waiting, replicas }) =>
              html`<tr>
                <th scope="row">${id}</th>
                <td>${role}</td>
                <td>${version}</td>
                <td>${time(startedAt)}</td>
                <td class="number">${seconds(silentSeconds)}</td>
                <td class="number">${statements}</td>
                <td class="number">${transactions}</td>
                <td class="number">${waiting}</td>
                <td>${replicas.map(({ name, lagSeconds }) => `${name}: ${seconds(lagSeconds)} behind`).join("; ")}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <h2>Calls to third parties, in five minutes</h2>
    ${
      vendors.length === 0
        ? html`<p>None.</p>`
        : html`<ul>
            ${vendors.map(({ vendor, calls, failed }) => html`<li>${vendor}: ${calls}, of which ${failed} failed</li>`)}
          </ul>`
    }`;

/** The first page: whether all is well. */
export function nowPage(state: Overview, minutes: readonly QueueMinute[], refreshes: boolean): Page {
  const now = new Date();
  const lines = [...troubles(state), ...troublesAround(state)];
  const chart = (queue: string) =>
    chartOf(
      minutes.filter((row) => row.queue === queue),
      now,
    ).figure;
  return page(
    "Now",
    html` ${
        lines.length === 0
          ? html`<p>All is well.</p>`
          : html`<ul class="bad">
              ${lines.map((line) => html`<li>${line}</li>`)}
            </ul>`
      }
      <div ${wide("Queues")}>
        <table>
          <caption class="note">
            Queues; rates are per minute, over five minutes
          </caption>
          <thead>
            <tr>
              <th scope="col">Queue</th>
              ${["Due", "Oldest, s", "Waiting", "Dead", "In", "Out"].map((name) => html`<th scope="col" class="number">${name}</th>`)}
              <th scope="col">In (solid) and out, three hours</th>
            </tr>
          </thead>
          <tbody>
            ${state.queues.map(
              ({ queue, due, oldestDueSeconds, waiting, dead, stagedPerMinute, donePerMinute }) =>
                html`<tr>
                  <th scope="row"><a href="${queueAt(queue)}">${queue}</a></th>
                  <td class="number"><a href="${jobsAt("DUE", queue)}">${due}</a></td>
                  <td class="number">${Math.round(oldestDueSeconds)}</td>
                  <td class="number"><a href="${jobsAt("WAITING", queue)}">${waiting}</a></td>
                  <td class="number"><a href="${jobsAt("DEAD", queue)}">${dead}</a></td>
                  <td class="number">${stagedPerMinute.toFixed(1)}</td>
                  <td class="number">${donePerMinute.toFixed(1)}</td>
                  <td>${chart(queue)}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <p>${state.queues.find(({ queue }) => queue === "push")?.waiting ?? 0} notifications are deferred.</p>
      ${aroundOf(state)}
      <p>
        ${
          refreshes
            ? html`<a href="${consoleRoot}">Do not load this page by itself</a>`
            : html`<a href="${consoleRoot}?refresh=on">Load this page again every 15 seconds</a>`
        }
      </p>`,
    refreshes ? 15 : null,
  );
}

const found: Readonly<Record<string, (id: string) => string>> = {
  ORDER: (id) => `${consoleRoot}/orders/${id}`,
  NOTIFICATION: (id) => `${consoleRoot}/notifications/${id}`,
  JOB: (id) => `${consoleRoot}/jobs/${id}`,
};

/** What a search found. */
export const searchPage = (words: string, rows: readonly FoundRow[]): Page =>
  page(
    "Found",
    rows.length === 0
      ? html`<p>
            Nothing was found for “${words}”. A request is found within ten minutes after the given time, a few minutes
            ago by default:
          </p>
          <form class="filter" action="${consoleRoot}/search">
            <label>Request <input name="q" value="${words}" required /></label>
            <label>Made at about, UTC <input name="at" type="datetime-local" required /></label>
            <button>Find</button>
          </form>`
      : html`<div ${wide("Found")}>
          <table>
            <thead>
              <tr>
                <th scope="col">What</th>
                <th scope="col">Id</th>
                <th scope="col">State</th>
                <th scope="col">At, UTC</th>
              </tr>
            </thead>
            <tbody>
              ${rows.map(
                ({ kind, id, state, at }) =>
                  html`<tr>
                    <td>${kind}</td>
                    <td>${found[kind] ? html`<a href="${found[kind](id)}">${id}</a>` : id}</td>
                    <td>${state}</td>
                    <td>${time(at)}</td>
                  </tr>`,
              )}
            </tbody>
          </table>
        </div>`,
  );

const timelineOf = (entries: readonly TimelineEntry[]): Html =>
  html`<h2>Timeline</h2>
    <div ${wide("Timeline")}>
      <table>
        <thead>
          <tr>
            <th scope="col">UTC</th>
            <th scope="col">What</th>
          </tr>
        </thead>
        <tbody>
          ${entries.map(
            ({ at, what, jobId }) =>
              html`<tr>
                <td>${time(at)}</td>
                <td>${jobId === null ? what : html`<a href="${consoleRoot}/jobs/${jobId}">${what}</a>`}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <p class="note">Jobs that are done are kept for a day.</p>`;

/** An order and all that it caused. */
export const orderPage = (
  { order, notifications, timeline }: NonNullable<Awaited<ReturnType<typeof inspectOrder>>>,
  shown: OrderContact | null,
): Page =>
  page(
    `Order ${order.id}`,
    html`<p>
        ${order.status}; placed at ${time(order.createdAt)} with partner ${order.partnerId},
        ${order.userId === null ? "by no known user" : `by user ${order.userId}`}.
      </p>
      <p>Phone: ${(shown ?? order).phone ?? "none"}; address: ${(shown ?? order).address ?? "none"}.</p>
      ${
        shown === null
          ? html`<form class="filter" method="post" action="${consoleRoot}/orders/${order.id}">
              <fieldset class="filter">
                <legend>Show phone and address, which is audited</legend>
                ${consent}
                <button>Show</button>
              </fieldset>
            </form>`
          : null
      }
      <h2>Notifications</h2>
      ${notifications.length === 0 ? html`<p>None.</p>` : null}
      <ul>
        ${notifications.map(({ id, kind, why }) => html`<li>${kind}, ${notificationLink(id)}: ${why}</li>`)}
      </ul>
      ${timelineOf(timeline)}`,
  );

/** A notification, and why it was sent or not. */
export const notificationPage = ({
  notification: { id, kind, userId, orderId, why },
  timeline,
}: NonNullable<Awaited<ReturnType<typeof inspectNotification>>>): Page =>
  page(
    `Notification ${id}`,
    html`<p>${kind} for user ${userId}${orderId === null ? null : html`, about order ${orderLink(orderId)}`}.</p>
      <p><strong>${why}</strong></p>
      ${timelineOf(timeline)}`,
  );

const stateOptions = (chosen: string) =>
  ["DEAD", "DUE", "WAITING"].map(
    (state) => html`<option${state === chosen ? html` selected` : null}>${state}</option>`,
  );
const queueOptions = (chosen: string | null) => [
  html`<option value="">all queues</option>`,
  ...contracts.map(({ queue }) => html`<option${queue === chosen ? html` selected` : null}>${queue}</option>`),
];

/** What every form asks for before something is done. */
const consent = html`<label>Why <input name="why" required maxlength="500" /></label>
  <label><input type="checkbox" name="sure" required /> I am sure</label>`;

const labels: Readonly<Record<Enum<"bulkActionKind">, string>> = {
  REPLAY: "Replay",
  DISMISS: "Dismiss",
  RUN: "Run now",
  SNOOZE: "Snooze",
  CANCEL: "Cancel",
};
const button = (kind: keyof typeof labels) => html`<button name="kind" value="${kind}">${labels[kind]}</button>`;

/** The fields and buttons for jobs in this state. */
const buttonsFor = (state: Enum<"bulkActionState">): Html =>
  html`${consent}
  ${state === "DEAD" ? null : html`<label>Snooze until, UTC <input name="until" type="datetime-local" /></label>`}
  ${enums.bulkActionKind.filter((kind) => fitsState(kind, state)).map(button)}`;

/** How many rows a form has changed. */
const changedLine = (changed: number | null, what: string): Html | null =>
  changed === null ? null : html`<p role="status">Changed: ${changed} ${what}.</p>`;

export interface JobsView extends JobFilter {
  state: Exclude<JobState, "DONE">;
  jobs: readonly JobRow[];
  /** The address of the next page; null on the last. */
  next: string | null;
}

/** Jobs that match, with what can be done to all of them. */
export const jobsPage = ({ state, queue, error, jobs, next }: JobsView): Page =>
  page(
    "Jobs",
    html`<form class="filter" action="${consoleRoot}/jobs">
        <label
          >State
          <select name="state">
            ${stateOptions(state)}
          </select></label
        >
        <label
          >Queue
          <select name="queue">
            ${queueOptions(queue)}
          </select></label
        >
        <label>Error contains <input name="error" value="${error ?? ""}" maxlength="200" /></label>
        <button>Show</button>
      </form>
      ${
        jobs.length > 0
          ? html`<form class="filter" method="post" action="${consoleRoot}/bulk-actions">
              <fieldset class="filter">
                <legend>All ${state.toLowerCase()} jobs that match, however many</legend>
                <input type="hidden" name="state" value="${state}" />
                <input type="hidden" name="queue" value="${queue ?? ""}" /><input
                  type="hidden"
                  name="error"
                  value="${error ?? ""}"
                />
                ${buttonsFor(state)}
              </fieldset>
            </form>`
          : null
      }
      ${jobs.length === 0 ? html`<p>No jobs.</p>` : null}
      <div ${wide("Jobs")}>
        <table>
          <thead>
            <tr>
              <th scope="col">Job</th>
              <th scope="col">Queue</th>
              <th scope="col">Staged, UTC</th>
              <th scope="col">Runs</th>
              <th scope="col">Attempts</th>
              <th scope="col">Last error</th>
            </tr>
          </thead>
          <tbody>
            ${jobs.map(
              ({ id, queue: of, stagedAt, runAt, attempts, lastError }) =>
                html`<tr>
                  <td>${jobLink(id)}</td>
                  <td>${of}</td>
                  <td>${time(stagedAt)}</td>
                  <td>${time(runAt)}</td>
                  <td class="number">${attempts}</td>
                  <td>${lastError}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      ${next === null ? null : html`<p><a href="${next}" rel="next">Older jobs</a></p>`}`,
  );

/** One job; `changed` says whether a form on it has just changed it. */
export const jobPage = (
  { id, queue, state, payload, requestId, attempts, lastError, stagedAt, runAt }: JobRow,
  changed: number | null,
): Page =>
  page(
    `Job ${id}`,
    html`${changedLine(changed, changed === 1 ? "job" : "jobs")}
      <p>
        ${queue}: ${state}, after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}; staged at ${time(stagedAt)},
        to run at ${time(runAt)}.
      </p>
      ${lastError === null ? null : html`<p class="bad">${lastError}</p>`}
      <h2>Payload</h2>
      <ul>
        ${Object.entries(payload).map(([name, value]) => html`<li>${name}: ${typeof value === "string" ? html`<a href="${consoleRoot}/search?q=${encodeURIComponent(value)}">${value}</a>` : String(value)}</li>`)}
      </ul>
      ${
        requestId === null
          ? null
          : html`<p>
              Caused by request
              <a href="${consoleRoot}/requests/${encodeURIComponent(requestId)}?at=${stagedAt.toISOString()}"
                >${requestId}</a
              >.
            </p>`
      }
      ${
        state === "DONE"
          ? null
          : html`<form class="filter" method="post" action="${consoleRoot}/jobs/${id}">
              <fieldset class="filter">
                <legend>This job</legend>
                ${buttonsFor(state)}
              </fieldset>
            </form>`
      }`,
  );

/** The jobs of a request. */
export const requestPage = (id: string, timeline: readonly TimelineEntry[]): Page =>
  page(
    `Request ${id}`,
    timeline.length === 0 ? html`<p>It has caused no job that is still kept.</p>` : timelineOf(timeline),
  );

const progressOf = ({ matched, changed, settledAt }: BulkActionRow): Html =>
  settledAt === null
    ? html`<label>${changed} of ${matched} <progress max="${matched}" value="${changed}"></progress></label>`
    : html`${changed} of ${matched}, done at ${time(settledAt)}`;

const actionRow = (action: BulkActionRow): Html =>
  html`<tr>
    <td>
      <a href="${consoleRoot}/bulk-actions/${action.id}">${action.kind}</a>
      ${action.until === null ? null : html`until ${time(action.until)}`}
    </td>
    <td>${action.state}</td>
    <td>${action.queue ?? "all queues"}</td>
    <td>${action.error}</td>
    <td>${action.why}</td>
    <td>${time(action.createdAt)}</td>
    <td>${progressOf(action)}</td>
  </tr>`;

/** Bulk actions with their progress. */
export const actionsPage = (title: string, actions: readonly BulkActionRow[]): Page =>
  page(
    title,
    html`<div ${wide("Bulk actions")}>
      <table>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">State</th>
            <th scope="col">Queue</th>
            <th scope="col">Error contains</th>
            <th scope="col">Why</th>
            <th scope="col">Asked for, UTC</th>
            <th scope="col">Jobs</th>
          </tr>
        </thead>
        <tbody>
          ${actions.map(actionRow)}
        </tbody>
      </table>
    </div>`,
    actions.some(({ settledAt }) => settledAt === null) ? 2 : null,
  );

/** A queue: what it has to do, and its settings. */
export function queuePage(
  { queue, due, waiting, dead, oldestDueSeconds, pausedAt, pausedWhy, concurrency }: Overview["queues"][number],
  minutes: readonly QueueMinute[],
): Page {
  const { figure, words } = chartOf(minutes, new Date());
  return page(
    `Queue ${queue}`,
    html`<p>
        ${pausedAt === null ? "It runs." : html`<strong>Paused since ${time(pausedAt)}: ${pausedWhy}</strong>`} A
        process runs ${concurrency === null ? "as many jobs at once as configured" : `${concurrency} jobs at once`}.
      </p>
      <ul>
        <li><a href="${jobsAt("DUE", queue)}">${due} due</a>, the oldest for ${Math.round(oldestDueSeconds)} s</li>
        <li><a href="${jobsAt("WAITING", queue)}">${waiting} waiting for their time</a></li>
        <li><a href="${jobsAt("DEAD", queue)}">${dead} dead</a></li>
        <li><a href="/admin/queues/queue/${queue}">in the broker</a></li>
      </ul>
      <figure class="big">
        ${figure}
        <figcaption>Jobs in (solid) and out (dashed): ${words}.</figcaption>
      </figure>
      <form class="filter" method="post" action="${queueAt(queue)}">
        <fieldset class="filter">
          <legend>${pausedAt === null ? "Pause it: its jobs wait, and those that run end" : "Resume it"}</legend>
          ${consent}
          ${
            pausedAt === null
              ? html`<button name="kind" value="PAUSE">Pause</button>`
              : html`<button name="kind" value="RESUME">Resume</button>`
          }
        </fieldset>
      </form>
      <form class="filter" method="post" action="${queueAt(queue)}">
        <fieldset class="filter">
          <legend>Jobs that a process runs at once</legend>
          <label
            >Number, empty for the configured one
            <input name="concurrency" type="number" min="1" max="1000" value="${concurrency}" /></label
          >${consent}
          <button name="kind" value="CONCURRENCY">Set</button>
        </fieldset>
      </form>`,
  );
}

export interface PosEventsView {
  events: readonly ListedPosEvent[];
  changed: number | null;
  /** The address of the next page; null on the last. */
  next: string | null;
}

/** Parked POS events, with what can be done to them. */
export const posEventsPage = ({ events, changed, next }: PosEventsView): Page =>
  page(
    "Parked POS events",
    html`${changedLine(changed, changed === 1 ? "event" : "events")}
    ${
      events.length === 0
        ? html`<p>None.</p>`
        : html`<form class="filter" method="post" action="${consoleRoot}/pos-events">
            <fieldset class="filter">
              <legend>Parked events: chosen ones, those of a partner, or all</legend>
              <label>Partner’s id, empty for any <input name="partnerId" maxlength="36" /></label>
              <label><input type="checkbox" name="all" /> All that match, ten thousand at most</label>
              ${consent} ${button("REPLAY")} ${button("DISMISS")}
            </fieldset>
            <div ${wide("Parked events")}>
              <table>
                <thead>
                  <tr>
                    <th scope="col">Event</th>
                    <th scope="col">Partner</th>
                    <th scope="col">Kind</th>
                    <th scope="col">Received, UTC</th>
                    <th scope="col">Attempts</th>
                    <th scope="col">Last error</th>
                  </tr>
                </thead>
                <tbody>
                  ${events.map(
                    ({ id, partnerId, provider, kind, receivedAt, attempts, lastError }) =>
                      html`<tr>
                        <td>
                          <label><input type="checkbox" name="ids" value="${id}" /> ${id}</label>
                        </td>
                        <td>${partnerId}</td>
                        <td>${provider}: ${kind}</td>
                        <td>${time(receivedAt)}</td>
                        <td class="number">${attempts}</td>
                        <td>${lastError}</td>
                      </tr>`,
                  )}
                </tbody>
              </table>
            </div>
          </form>`
    }
    ${next === null ? null : html`<p><a href="${next}" rel="next">Older events</a></p>`}`,
  );

/** Upkeep tasks with their last run; they and rollups are run now. */
export const upkeepPage = (runs: Overview["upkeep"]): Page =>
  page(
    "Upkeep",
    html`<div ${wide("Upkeep tasks")}>
        <table>
          <thead>
            <tr>
              <th scope="col">Task</th>
              <th scope="col">Last run, UTC</th>
              <th scope="col" class="number">Took, ms</th>
              <th scope="col" class="number">Rows</th>
              <th scope="col">Result</th>
            </tr>
          </thead>
          <tbody>
            ${runs.map(
              ({ task, startedAt, ms, changed, error }) =>
                html`<tr>
                  <th scope="row">${task}</th>
                  <td>${startedAt === null ? "never" : time(startedAt)}</td>
                  <td class="number">${ms}</td>
                  <td class="number">${changed}</td>
                  <td>
                    ${error === null ? (startedAt === null ? "" : "done") : html`<span class="bad">${error}</span>`}
                  </td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <form class="filter" method="post" action="${consoleRoot}/upkeep">
        <fieldset class="filter">
          <legend>Run a task now, beside its schedule</legend>
          <label
            >Task
            <select name="task">
              ${upkeepTasks.map((task) => html`<option>${task}</option>`)}
            </select></label
          >
          ${consent}
          <button>Run now</button>
        </fieldset>
      </form>
      <form class="filter" method="post" action="${consoleRoot}/rollups">
        <fieldset class="filter">
          <legend>Roll up past days again</legend>
          <label>From <input name="from" type="date" required /></label>
          <label>To <input name="to" type="date" required /></label>
          ${consent}
          <button>Roll up</button>
        </fieldset>
      </form>`,
  );

/** A refusal, on a page. */
export const refusalPage = (message: string): Page =>
  page(
    "That did not work",
    html`<p role="alert">${message}</p>
      <p><a href="${consoleRoot}">Back to the console</a></p>`,
  );
