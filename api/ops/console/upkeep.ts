import type { jobOwners, QueueState, upkeepRuns } from "../../common/overview.js";
import type { QueueMinute } from "../../../sql/queries/service-state.js";
import { posEvents } from "../../../queues/index.js";
import { upkeepTasks } from "../../../queues/upkeep.js";
import { chartOf } from "./chart.js";
import { type Html, html } from "./html.js";
import { changedLine, consent, consoleRoot, jobsAt, page, type Page, queueAt, thingAt, time, wide } from "./frame.js";
import { endpointAt } from "./webhooks.js";

type Owner = Awaited<ReturnType<typeof jobOwners>>[number];

const ownerOf = ({ partnerId, partner, userId, endpointId }: Owner): Html | null => {
  if (partnerId !== null) return html`Partner <a href="${thingAt(partnerId)}">${partner ?? partnerId}</a>`;
  if (userId !== null) return html`User <a href="${thingAt(userId)}">${userId}</a>`;
  return endpointId === null ? null : html`Endpoint <a href="${endpointAt(endpointId)}">${endpointId}</a>`;
};

/** Who has the most due jobs: who floods the queue. */
const backlogOf = (owners: readonly Owner[]): Html | null =>
  owners.length === 0
    ? null
    : html`<div ${wide("Whose jobs are due")}>
        <table>
          <caption>
            Who has the most due jobs, of the ten thousand that are due first
          </caption>
          <thead>
            <tr>
              <th scope="col">Whose</th>
              <th scope="col" class="number">Due jobs</th>
              <th scope="col">First due since, UTC</th>
            </tr>
          </thead>
          <tbody>
            ${owners.map(
              (owner) =>
                html`<tr>
                  <th scope="row">${ownerOf(owner)}</th>
                  <td class="number">${owner.jobs}</td>
                  <td>${time(owner.dueSince)}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>`;

/** A queue: what it has to do, and its settings. */
export function queuePage(
  { queue, due, waiting, dead, oldestDueSeconds, pausedAt, pausedWhy, concurrency, perMinute }: QueueState,
  minutes: readonly QueueMinute[],
  owners: readonly Owner[],
  changed: number | null,
): Page {
  const { figure, words } = chartOf(minutes, new Date());
  return page(
    `Queue ${queue}`,
    html`${changedLine(changed, "setting")}
      <p>
        ${pausedAt === null ? "It runs." : html`<strong>Paused since ${time(pausedAt)}: ${pausedWhy}</strong>`} A
        process runs ${concurrency === null ? "as many jobs at once as configured" : `${concurrency} jobs at once`}.
        ${perMinute === null ? "Their rate has no limit." : html`<strong>All together start ${perMinute} a minute.</strong>`}
      </p>
      <ul>
        <li>
          <a href="${jobsAt({ state: "DUE", queue })}">${due} due</a>, the oldest for ${Math.round(oldestDueSeconds)} s
        </li>
        <li><a href="${jobsAt({ state: "WAITING", queue })}">${waiting} waiting for their time</a></li>
        <li><a href="${jobsAt({ state: "DEAD", queue })}">${dead} dead</a></li>
        ${queue === posEvents.queue ? html`<li><a href="${consoleRoot}/pos-events">its events, by partner</a></li>` : null}
        <li class="act"><a href="/admin/queues/queue/${queue}">in the broker</a></li>
      </ul>
      <figure class="big">
        ${figure}
        <figcaption>Jobs in (solid) and out (dashed): ${words}.</figcaption>
      </figure>
      ${backlogOf(owners)}
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
      </form>
      <form class="filter" method="post" action="${queueAt(queue)}">
        <fieldset class="filter">
          <legend>Jobs that all processes together start a minute</legend>
          <label
            >Rate, empty for no limit
            <input name="perMinute" type="number" min="1" max="1000000" value="${perMinute}" /></label
          >${consent}
          <button name="kind" value="RATE">Set the rate</button>
        </fieldset>
      </form>`,
  );
}

/** Upkeep tasks with their last run; they and rollups are run now. */
export const upkeepPage = (runs: Awaited<ReturnType<typeof upkeepRuns>>): Page =>
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
