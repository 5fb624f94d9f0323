import { estimateEnd, partOf } from "../../../lib/domain/progress.js";
import type { JobFilter, JobRow, JobState } from "../../../sql/operators/jobs.js";
import type { WorkProgress } from "../../../sql/queries/menu-imports.js";
import { contracts } from "../../../queues/index.js";
import { argumentText } from "../../common/argument.js";
import { allChooser, buttonsFor, chooser, chosenForm } from "./choice.js";
import { type Html, html } from "./html.js";
import { barOf, changedLine, consoleRoot, jobLink, jobsAt, page, type Page, time, wide } from "./frame.js";

const stateOptions = (chosen: string) =>
  ["DEAD", "DUE", "WAITING"].map(
    (state) => html`<option${state === chosen ? html` selected` : null}>${state}</option>`,
  );

const queueOptions = (chosen: string | null) => [
  html`<option value="">all queues</option>`,
  ...contracts.map(({ queue }) => html`<option${queue === chosen ? html` selected` : null}>${queue}</option>`),
];

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
  argument: filter.argument === null ? "" : argumentText(filter.argument),
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
        <label
          >Argument, name=value
          <input
            name="argument"
            value="${view.argument === null ? null : argumentText(view.argument)}"
            maxlength="200"
            placeholder="partnerId=01978d2e-…"
        /></label>
        <details${(view.stagedFrom ?? view.stagedBefore ?? view.minAttempts) ? html` open` : null}>
          <summary>Times and attempts</summary>
          <div>
            ${timeField("Staged from, UTC", "stagedFrom", view.stagedFrom)}
            ${timeField("Staged before, UTC", "stagedBefore", view.stagedBefore)}
            <label
              >Attempts, at least <input name="minAttempts" type="number" min="1" max="999" value="${view.minAttempts}"
            /></label>
          </div>
        </details>
        <button>Show</button>
      </form>
      ${
        jobs.length > 0
          ? html`<form id="${chosenForm}" class="filter" method="post" action="${consoleRoot}/jobs">
              <fieldset class="filter">
                <legend>Chosen ${view.state.toLowerCase()} jobs, or all</legend>
                ${allChooser({ ...view, partnerId: null })}
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
              <th scope="col">Last error</th>
              <th scope="col">Staged, UTC</th>
              <th scope="col">Runs</th>
              <th scope="col" class="number">Attempts</th>
            </tr>
          </thead>
          <tbody>
            ${jobs.map(
              ({ id, queue: of, stagedAt, runAt, attempts, lastError }) =>
                html`<tr>
                  <td class="pick">${chooser("Job", id)} ${jobLink(id)}</td>
                  <td>${of}</td>
                  <td class="words">${lastError}</td>
                  <td>${time(stagedAt)}</td>
                  <td>${time(runAt)}</td>
                  <td class="number">${attempts}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      ${next === null ? null : html`<p><a href="${next}" rel="next">Older jobs</a></p>`}`,
  );

const progressLine = ({ done, total, startedAt }: WorkProgress): Html =>
  html`<p>${barOf(done, total, estimateEnd(partOf(done, total), startedAt, Date.now()))}</p>`;

/** A value that may be the id of something leads to what it is. */
const valueOf = (value: JobRow["payload"][string]): Html =>
  typeof value === "string"
    ? html`<a href="${consoleRoot}/search?q=${encodeURIComponent(value)}">${value}</a>`
    : html`${String(value)}`;

/** Leads to the dead and the due jobs with the same argument. */
const sameOf = (name: string, value: JobRow["payload"][string]): Html => {
  const argument = argumentText({ [name]: value });
  return html`(others with it:
    <a href="${jobsAt({ state: "DEAD", argument })}" aria-label="dead jobs with ${argument}">dead</a>,
    <a href="${jobsAt({ state: "DUE", argument })}" aria-label="due jobs with ${argument}">due</a>)`;
};

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
        ${Object.entries(payload).map(([name, value]) => html`<li>${name}: ${valueOf(value)} ${sameOf(name, value)}</li>`)}
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
