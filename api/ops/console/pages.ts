import type { BulkActionRow, JobFilter, JobRow, JobState } from "../../../sql/outbox-operators.js";
import type { FoundRow } from "../../../sql/queries/operations.js";
import { contracts } from "../../../queues/index.js";
import type { inspectNotification, inspectOrder, overview, TimelineEntry } from "../../common/inspect.js";
import { html, type Html } from "./html.js";

/** The console's path. */
export const consoleRoot = "/admin/ops";

const style = html` :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif } body { max-width: 70rem;
margin: 0 auto; padding: 0 1rem 3rem } nav { display: flex; flex-wrap: wrap; gap: .5rem 1.2rem; align-items: center;
padding: .8rem 0; border-bottom: 1px solid #8886 } nav form { margin-left: auto } h1 { font-size: 1.4rem } h2 {
font-size: 1.1rem; margin-top: 2rem } .wide { overflow-x: auto } table { border-collapse: collapse; width: 100% } th, td
{ text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8883; vertical-align: top; overflow-wrap:
anywhere } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums } input, select, button,
textarea { font: inherit; padding: .4rem .6rem } form.filter { display: flex; flex-wrap: wrap; gap: .6rem; align-items:
end } form.filter label { display: grid } fieldset { border: 1px solid #8886; margin: 1.5rem 0; padding: .8rem }
progress { width: 100% } .bad { font-weight: 600; color: light-dark(#b71c1c, #ff8a80) } .note { color: light-dark(#555,
#aaa) } time { white-space: nowrap }`;

/** Returns a whole page; with `refreshSeconds` the browser loads it again and again. */
export const page = (title: string, body: Html, refreshSeconds: number | null = null): string =>
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
      <body>
        <nav aria-label="Console">
          <a href="${consoleRoot}">Now</a>
          <a href="${consoleRoot}/jobs">Jobs</a>
          <a href="${consoleRoot}/bulk-actions">Bulk actions</a>
          <a href="/admin/queues">Queues</a>
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
  for (const { queue, dead, oldestDueSeconds } of queues) {
    if (dead > 0)
      lines.push(html`<a href="${jobsAt("DEAD", queue)}">${dead} dead ${dead === 1 ? "job" : "jobs"} in ${queue}</a>`);
    if (oldestDueSeconds > 60)
      lines.push(html`<a href="${jobsAt("DUE", queue)}">${queue} is ${Math.round(oldestDueSeconds)} s behind</a>`);
  }
  if (parkedPosEvents > 0)
    lines.push(html`${parkedPosEvents} parked POS events of ${partnersWithParkedEvents} partners`);
  if (rollupDaysDue > 0) lines.push(html`${rollupDaysDue} days are not rolled up`);
  return lines;
}

type Overview = Awaited<ReturnType<typeof overview>>;

/** The first page: whether all is well. */
export function nowPage(state: Overview): string {
  const lines = troubles(state);
  return page(
    "Now",
    html` ${
        lines.length === 0
          ? html`<p>All is well.</p>`
          : html`<ul class="bad">
              ${lines.map((line) => html`<li>${line}</li>`)}
            </ul>`
      }
      <div class="wide">
        <table>
          <caption class="note">
            Queues; rates are per minute, over five minutes
          </caption>
          <thead>
            <tr>
              <th scope="col">Queue</th>
              ${["Due", "Oldest, s", "Waiting", "Dead", "In", "Out"].map((name) => html`<th scope="col" class="number">${name}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${state.queues.map(
              ({ queue, due, oldestDueSeconds, waiting, dead, stagedPerMinute, donePerMinute }) =>
                html`<tr>
                  <th scope="row"><a href="/admin/queues/queue/${queue}">${queue}</a></th>
                  <td class="number"><a href="${jobsAt("DUE", queue)}">${due}</a></td>
                  <td class="number">${Math.round(oldestDueSeconds)}</td>
                  <td class="number"><a href="${jobsAt("WAITING", queue)}">${waiting}</a></td>
                  <td class="number"><a href="${jobsAt("DEAD", queue)}">${dead}</a></td>
                  <td class="number">${stagedPerMinute.toFixed(1)}</td>
                  <td class="number">${donePerMinute.toFixed(1)}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>`,
    15,
  );
}

const found: Readonly<Record<string, (id: string) => string>> = {
  ORDER: (id) => `${consoleRoot}/orders/${id}`,
  NOTIFICATION: (id) => `${consoleRoot}/notifications/${id}`,
  JOB: (id) => `${consoleRoot}/jobs/${id}`,
};

/** What a search found. */
export const searchPage = (words: string, rows: readonly FoundRow[]): string =>
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
      : html`<div class="wide">
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
    <div class="wide">
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
export const orderPage = ({
  order,
  notifications,
  timeline,
}: NonNullable<Awaited<ReturnType<typeof inspectOrder>>>): string =>
  page(
    `Order ${order.id}`,
    html`<p>
        ${order.status}; placed at ${time(order.createdAt)} with partner ${order.partnerId},
        ${order.userId === null ? "by no known user" : `by user ${order.userId}`}.
      </p>
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
}: NonNullable<Awaited<ReturnType<typeof inspectNotification>>>): string =>
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

const buttons = html`<label>Why <input name="why" required maxlength="500" /></label>
  <label><input type="checkbox" name="sure" required /> I am sure</label>
  <button name="kind" value="REPLAY">Replay</button>
  <button name="kind" value="DISMISS">Dismiss</button>`;

export interface JobsView extends JobFilter {
  state: Exclude<JobState, "DONE">;
  jobs: readonly JobRow[];
  /** The address of the next page; null on the last. */
  next: string | null;
}

/** Jobs that match, with what can be done to those of them that are dead. */
export const jobsPage = ({ state, queue, error, jobs, next }: JobsView): string =>
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
        state === "DEAD" && jobs.length > 0
          ? html`<form class="filter" method="post" action="${consoleRoot}/bulk-actions">
              <fieldset class="filter">
                <legend>All dead jobs that match, however many</legend>
                <input type="hidden" name="queue" value="${queue ?? ""}" /><input
                  type="hidden"
                  name="error"
                  value="${error ?? ""}"
                />
                ${buttons}
              </fieldset>
            </form>`
          : null
      }
      ${jobs.length === 0 ? html`<p>No jobs.</p>` : null}
      <div class="wide">
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

/** One job. */
export const jobPage = ({
  id,
  queue,
  state,
  payload,
  requestId,
  attempts,
  lastError,
  stagedAt,
  runAt,
}: JobRow): string =>
  page(
    `Job ${id}`,
    html`<p>
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
        state === "DEAD"
          ? html`<form class="filter" method="post" action="${consoleRoot}/jobs/${id}">
              <fieldset class="filter">
                <legend>This job</legend>
                ${buttons}
              </fieldset>
            </form>`
          : null
      }`,
  );

/** The jobs of a request. */
export const requestPage = (id: string, timeline: readonly TimelineEntry[]): string =>
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
    <td><a href="${consoleRoot}/bulk-actions/${action.id}">${action.kind}</a></td>
    <td>${action.queue ?? "all queues"}</td>
    <td>${action.error}</td>
    <td>${action.why}</td>
    <td>${time(action.createdAt)}</td>
    <td>${progressOf(action)}</td>
  </tr>`;

/** Bulk actions with their progress. */
export const actionsPage = (title: string, actions: readonly BulkActionRow[]): string =>
  page(
    title,
    html`<div class="wide">
      <table>
        <thead>
          <tr>
            <th scope="col">What</th>
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

/** A refusal, on a page. */
export const refusalPage = (message: string): string =>
  page(
    "That did not work",
    html`<p role="alert">${message}</p>
      <p><a href="${consoleRoot}">Back to the console</a></p>`,
  );
