import { type Enum, enums } from "../../../lib/domain/enums.js";
import { estimateEnd, partOf } from "../../../lib/domain/progress.js";
import type { BulkActionRow, JobFilter, JobRow, JobState } from "../../../sql/outbox-operators.js";
import type { WorkProgress } from "../../../sql/queries/menu-imports.js";
import type { ListedPosEvent } from "../../../sql/queries/pos-events.js";
import { contracts } from "../../../queues/index.js";
import { fitsState } from "../../common/operate.js";
import { type Html, html } from "./html.js";
import { barOf, changedLine, consent, consoleRoot, jobLink, page, type Page, time, wide } from "./frame.js";

const stateOptions = (chosen: string) =>
  ["DEAD", "DUE", "WAITING"].map(
    (state) => html`<option${state === chosen ? html` selected` : null}>${state}</option>`,
  );

const queueOptions = (chosen: string | null) => [
  html`<option value="">all queues</option>`,
  ...contracts.map(({ queue }) => html`<option${queue === chosen ? html` selected` : null}>${queue}</option>`),
];

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

/** The form that the checkboxes of a table belong to: they are outside of it, as who only looks sees the table without the form. */
const chosenForm = "act";

/** The box that chooses a row. */
const chooser = (label: string, id: number): Html =>
  html`<input form="${chosenForm}" type="checkbox" name="ids" value="${id}" aria-label="${label} ${id}" />`;

export interface JobsView extends JobFilter {
  state: Exclude<JobState, "DONE">;
  jobs: readonly JobRow[];
  /** How many jobs a form has just changed. */
  changed: number | null;
  /** The address of the next page; null on the last. */
  next: string | null;
}

/** Which jobs are meant, as the fields of a form or of an address. */
export const fieldsOf = (filter: JobFilter & { state: string }): Record<string, string> => ({
  state: filter.state,
  queue: filter.queue ?? "",
  error: filter.error ?? "",
  stagedFrom: filter.stagedFrom?.toISOString() ?? "",
  stagedBefore: filter.stagedBefore?.toISOString() ?? "",
  minAttempts: String(filter.minAttempts ?? ""),
});

/** A field for a time, to the minute. */
const timeField = (label: string, name: string, value: Date | null): Html =>
  html`<label
    >${label} <input name="${name}" type="datetime-local" value="${value?.toISOString().slice(0, 16) ?? ""}"
  /></label>`;

/** Jobs that match, with what can be done to chosen ones or to all of them. */
export const jobsPage = ({ jobs, next, changed, ...view }: JobsView): Page =>
  page(
    "Jobs",
    html`${changedLine(changed, changed === 1 ? "job" : "jobs")}
      <form class="filter" action="${consoleRoot}/jobs">
        <label
          >State
          <select name="state">
            ${stateOptions(view.state)}
          </select></label
        >
        <label
          >Queue
          <select name="queue">
            ${queueOptions(view.queue)}
          </select></label
        >
        <label>Error contains <input name="error" value="${view.error}" maxlength="200" /></label>
        ${timeField("Staged from, UTC", "stagedFrom", view.stagedFrom)}
        ${timeField("Staged before, UTC", "stagedBefore", view.stagedBefore)}
        <label
          >Attempts, at least <input name="minAttempts" type="number" min="1" max="999" value="${view.minAttempts}"
        /></label>
        <button>Show</button>
      </form>
      ${
        jobs.length > 0
          ? html`<form id="${chosenForm}" class="filter" method="post" action="${consoleRoot}/jobs">
              <fieldset class="filter">
                <legend>Chosen ${view.state.toLowerCase()} jobs, or all that match</legend>
                <label><input type="checkbox" name="all" /> All that match, however many</label>
                ${Object.entries(fieldsOf(view)).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
                ${buttonsFor(view.state)}
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
                  <td>${chooser("Job", id)} ${jobLink(id)}</td>
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

const progressLine = ({ done, total, startedAt }: WorkProgress): Html =>
  html`<p>${barOf(done, total, estimateEnd(partOf(done, total), startedAt, Date.now()))}</p>`;

/** One job, with how far it is where its rows say it; `changed` says whether a form on it has just changed it. */
export const jobPage = (
  { id, queue, state, payload, requestId, attempts, lastError, stagedAt, runAt }: JobRow,
  progress: WorkProgress | null,
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
      ${progress === null ? null : progressLine(progress)}
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

const progressOf = ({ id, matched, changed, startedAt, settledAt, stoppedWhy }: BulkActionRow): Html => {
  if (settledAt === null)
    return html`${barOf(changed, matched, estimateEnd(partOf(changed, matched), startedAt, Date.now()))}
      <a class="act" href="${consoleRoot}/bulk-actions/${id}/stop">Stop it</a>`;
  if (stoppedWhy === null) return html`${changed} of ${matched}, done at ${time(settledAt)}`;
  return html`${changed} of ${matched}, stopped at ${time(settledAt)}: ${stoppedWhy}`;
};

/** Which jobs an action is about, in words. */
const meant = ({ state, queue, error, stagedFrom, stagedBefore, minAttempts }: BulkActionRow): Html =>
  html`${state} of
  ${queue ?? "all queues"}${error === null ? null : `, error contains “${error}”`}${stagedFrom && html`, staged from ${time(stagedFrom)}`}${stagedBefore && html`, staged before ${time(stagedBefore)}`}${minAttempts === null ? null : `, at least ${minAttempts} attempts`}`;

const actionRow = (action: BulkActionRow): Html =>
  html`<tr>
    <td>
      <a href="${consoleRoot}/bulk-actions/${action.id}">${action.kind}</a>
      ${action.until === null ? null : html`until ${time(action.until)}`}
    </td>
    <td>${meant(action)}</td>
    <td>${action.why}</td>
    <td>${time(action.createdAt)}</td>
    <td>${progressOf(action)}</td>
  </tr>`;

const actionsOf = (actions: readonly BulkActionRow[]): Html =>
  html`<div ${wide("Bulk actions")}>
    <table>
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">To which jobs</th>
          <th scope="col">Why</th>
          <th scope="col">Asked for, UTC</th>
          <th scope="col">Jobs</th>
        </tr>
      </thead>
      <tbody>
        ${actions.map(actionRow)}
      </tbody>
    </table>
  </div>`;

/** Bulk actions with their progress. */
export const actionsPage = (title: string, actions: readonly BulkActionRow[]): Page =>
  page(title, actionsOf(actions), actions.some(({ settledAt }) => settledAt === null) ? 2 : null);

/** The form that stops a bulk action: on a page that does not load itself again, so that it can be filled in. */
export const stopPage = (action: BulkActionRow): Page =>
  page(
    "Stop a bulk action",
    html`${actionsOf([action])}
      <form class="filter" method="post" action="${consoleRoot}/bulk-actions/${action.id}/stop">
        <fieldset class="filter">
          <legend>Stop it; what it has changed stays so</legend>
          ${consent}
          <button>Stop</button>
        </fieldset>
      </form>`,
  );

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
        : html`<form id="${chosenForm}" class="filter" method="post" action="${consoleRoot}/pos-events">
              <fieldset class="filter">
                <legend>Parked events: chosen ones, those of a partner, or all</legend>
                <label>Partner’s id, empty for any <input name="partnerId" maxlength="36" /></label>
                <label><input type="checkbox" name="all" /> All that match, ten thousand at most</label>
                ${consent} ${button("REPLAY")} ${button("DISMISS")}
              </fieldset>
            </form>
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
                        <td>${chooser("Event", id)} ${id}</td>
                        <td>${partnerId}</td>
                        <td>${provider}: ${kind}</td>
                        <td>${time(receivedAt)}</td>
                        <td class="number">${attempts}</td>
                        <td>${lastError}</td>
                      </tr>`,
                  )}
                </tbody>
              </table>
            </div>`
    }
    ${next === null ? null : html`<p><a href="${next}" rel="next">Older events</a></p>`}`,
  );
