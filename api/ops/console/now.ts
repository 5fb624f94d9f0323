import type { QueueMinute } from "../../../sql/queries/service-state.js";
import { minutesOf, type overview } from "../../common/inspect.js";
import { chartOf } from "./chart.js";
import { type Html, html } from "./html.js";
import type { RunningJob } from "./running-jobs.js";
import { barOf, consoleRoot, jobLink, jobsAt, page, type Page, queueAt, time, wide } from "./frame.js";

type Overview = Awaited<ReturnType<typeof overview>>;

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
  for (const { queue, dead, oldestDueSeconds, pausedAt, pausedWhy, perMinute } of queues) {
    if (dead > 0)
      lines.push(
        html`<a href="${jobsAt({ state: "DEAD", queue })}">${dead} dead ${dead === 1 ? "job" : "jobs"} in ${queue}</a>`,
      );
    if (pausedAt)
      lines.push(html`<a href="${queueAt(queue)}">${queue} is paused</a> since ${time(pausedAt)}: ${pausedWhy}`);
    else if (oldestDueSeconds > 60)
      lines.push(
        html`<a href="${jobsAt({ state: "DUE", queue })}">${queue} is ${Math.round(oldestDueSeconds)} s behind</a>${
            perMinute === null
              ? null
              : html`; <a href="${queueAt(queue)}">an operator has limited it</a> to ${perMinute} jobs a minute`
          }`,
      );
  }
  if (parkedPosEvents > 0)
    lines.push(
      html`<a href="${consoleRoot}/pos-events"
        >${parkedPosEvents} parked POS ${parkedPosEvents === 1 ? "event" : "events"} of ${partnersWithParkedEvents}
        ${partnersWithParkedEvents === 1 ? "partner" : "partners"}</a
      >`,
    );
  if (rollupDaysDue > 0) lines.push(html`${rollupDaysDue} days are not rolled up`);
  return lines;
}

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

const aroundOf = ({ processes, vendors, paused, database }: Overview): Html =>
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
    }
    ${paused.length === 0 ? null : html`<h3>Paused, as they do not answer</h3>`}
    <ul>
      ${paused.map(
        ({ queue, origin, since, until, processes: count }) =>
          html`<li>
            ${origin} (${queue}) in ${count} ${count === 1 ? "process" : "processes"}: since ${time(since)}, to be
            called again at ${time(until)}
          </li>`,
      )}
    </ul>`;

/** The jobs that run for long; null when the broker does not answer. */
function underWay(jobs: readonly RunningJob[] | null): Html {
  if (jobs === null) return html`<p class="bad">The broker does not answer. Jobs wait in Postgres until it does.</p>`;
  if (jobs.length === 0) return html`<p>No job that says how far it is has run for longer than a second.</p>`;
  return html`<div ${wide("Under way")}>
    <table>
      <thead>
        <tr>
          <th scope="col">Job</th>
          <th scope="col">Started, UTC</th>
          <th scope="col">Progress</th>
        </tr>
      </thead>
      <tbody>
        ${jobs.map(
          ({ name, number, done, total, startedAt, estimatedEndAt }) =>
            html`<tr>
              <th scope="row">${name} ${number === null ? null : jobLink(number)}</th>
              <td>${startedAt === null ? null : time(startedAt)}</td>
              <td>${barOf(done, total, estimatedEndAt)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** The first page: whether all is well. */
export function nowPage(
  state: Overview,
  minutes: readonly QueueMinute[],
  running: readonly RunningJob[] | null,
  refreshes: boolean,
): Page {
  const now = new Date();
  const lines = [...troubles(state), ...troublesAround(state)];
  const chart = (queue: string) => chartOf(minutesOf(queue, minutes), now).figure;
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
                  <td class="number"><a href="${jobsAt({ state: "DUE", queue })}">${due}</a></td>
                  <td class="number">${Math.round(oldestDueSeconds)}</td>
                  <td class="number"><a href="${jobsAt({ state: "WAITING", queue })}">${waiting}</a></td>
                  <td class="number"><a href="${jobsAt({ state: "DEAD", queue })}">${dead}</a></td>
                  <td class="number">${stagedPerMinute.toFixed(1)}</td>
                  <td class="number">${donePerMinute.toFixed(1)}</td>
                  <td>${chart(queue)}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <p>${state.queues.find(({ queue }) => queue === "push")?.waiting ?? 0} notifications are deferred.</p>
      <h2>Under way</h2>
      ${underWay(running)} ${aroundOf(state)}
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
