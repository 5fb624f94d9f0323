import type { QueueMinute } from "../../../sql/queries/service-state.js";
import { push } from "../../../queues/index.js";
import { minutesOf, type overview, type Vendor } from "../../common/overview.js";
import { chartOf } from "./chart.js";
import { type Html, html } from "./html.js";
import type { RunningJob } from "./running-jobs.js";
import { barOf, consoleRoot, jobLink, jobsAt, page, type Page, queueAt, refreshLink, time, wide } from "./frame.js";

type Overview = Awaited<ReturnType<typeof overview>>;

const REFRESH_SECONDS = 15;

/** Later than this is late. */
const LATE_SECONDS = 60;

/** Vendors that fail now and then are not worth a line. */
const FAILING = 0.2;

/** "1 job", "2 jobs". */
const counted = (amount: number, one: string, many: string) =>
  `${amount.toLocaleString("en")} ${amount === 1 ? one : many}`;

/** Returns the sentences about what everything else depends on. */
function troublesBelow({ processes, canaryAgeSeconds, database }: Overview, brokerAnswers: boolean): Html[] {
  const lines: Html[] = [];
  if (!brokerAnswers)
    lines.push(html`The broker has not answered within a second. Jobs wait in Postgres while it is away`);
  if (!processes.some(({ role, alive }) => role === "WORKER" && alive)) lines.push(html`No worker process is alive`);
  if (canaryAgeSeconds === null || canaryAgeSeconds > 90)
    lines.push(
      html`${canaryAgeSeconds === null ? "No worker has run the canary yet" : `The last canary is ${lasting(canaryAgeSeconds)} old`}:
      are workers and broker up?`,
    );
  if (database.connections > 0.9 * database.maxConnections)
    lines.push(html`${database.connections} of ${database.maxConnections} connections to Postgres are taken`);
  for (const { id, role, alive, silentSeconds, waiting } of processes) {
    if (!alive) lines.push(html`The ${role} process ${id} has been silent for ${lasting(silentSeconds)}`);
    else if (waiting > 0)
      lines.push(
        html`In ${id} ${counted(waiting, "transaction waits", "transactions wait")} for a connection to Postgres`,
      );
  }
  return lines;
}

/** Returns the sentences about queues and what runs by schedule. */
function troublesOfQueues({
  queues,
  queuedPosEvents,
  posEventsDueSeconds,
  parkedPosEvents,
  partnersWithParkedEvents,
  rollupDaysDue,
  vendors,
  upkeep,
}: Overview): Html[] {
  const lines: Html[] = [];
  for (const { queue, pausedAt, pausedWhy } of queues)
    if (pausedAt)
      lines.push(html`<a href="${queueAt(queue)}">${queue} is paused</a> since ${time(pausedAt)}: ${pausedWhy}`);
  for (const { queue, dead } of queues)
    if (dead > 0)
      lines.push(
        html`<a href="${jobsAt({ state: "DEAD", queue })}">${counted(dead, "dead job", "dead jobs")} in ${queue}</a>`,
      );
  for (const { queue, oldestDueSeconds, pausedAt, perMinute } of queues)
    if (!pausedAt && oldestDueSeconds > LATE_SECONDS)
      lines.push(
        html`<a href="${queueAt(queue)}">${queue} is ${lasting(oldestDueSeconds)} behind</a>${
            perMinute === null ? null : html`; an operator has limited it to ${perMinute} jobs a minute`
          }`,
      );
  if (queuedPosEvents > 0 && posEventsDueSeconds > LATE_SECONDS)
    lines.push(
      html`<a href="${consoleRoot}/pos-events"
        >${counted(queuedPosEvents, "POS event waits", "POS events wait")}, the first for
        ${lasting(posEventsDueSeconds)}</a
      >`,
    );
  if (parkedPosEvents > 0)
    lines.push(
      html`<a href="${consoleRoot}/pos-events"
        >${counted(parkedPosEvents, "parked POS event", "parked POS events")} of
        ${counted(partnersWithParkedEvents, "partner", "partners")}</a
      >`,
    );
  for (const { vendor, calls, failed } of vendors)
    if (calls > 0 && failed >= FAILING * calls)
      lines.push(html`${vendor} fails: ${failed} of ${calls} calls in five minutes`);
  if (rollupDaysDue > 0)
    lines.push(html`<a href="${consoleRoot}/upkeep">${counted(rollupDaysDue, "day is", "days are")} not rolled up</a>`);
  for (const { task, startedAt, error } of upkeep)
    if (error !== null && startedAt)
      lines.push(html`<a href="${consoleRoot}/upkeep">Upkeep ${task} failed</a> at ${time(startedAt)}: ${error}`);
  return lines;
}

/** How long something has lasted, to what is worth saying. */
function lasting(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

/** A number in a table, which stands out when it is wrong. */
const figure = (shown: Html | string | number, isWrong = false): Html =>
  html`<td class="${isWrong ? "number bad" : "number"}">${shown}</td>`;

const queuesOf = ({ queues }: Overview, chart: (queue: string) => Html): Html =>
  html`<div ${wide("Queues")}>
    <table>
      <caption>
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
        ${queues.map(
          ({ queue, due, oldestDueSeconds, waiting, dead, stagedPerMinute, donePerMinute, pausedAt }) =>
            html`<tr>
              <th scope="row">
                <a href="${queueAt(queue)}">${queue}</a> ${pausedAt && html`<span class="bad">paused</span>`}
              </th>
              ${figure(html`<a href="${jobsAt({ state: "DUE", queue })}">${due}</a>`)}
              ${figure(Math.round(oldestDueSeconds), oldestDueSeconds > LATE_SECONDS)}
              ${figure(html`<a href="${jobsAt({ state: "WAITING", queue })}">${waiting}</a>`)}
              ${figure(html`<a href="${jobsAt({ state: "DEAD", queue })}">${dead}</a>`, dead > 0)}
              ${figure(stagedPerMinute.toFixed(1))} ${figure(donePerMinute.toFixed(1))}
              <td>${chart(queue)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

/** The last call: the later one of the last that succeeded and the last that failed. */
const lastCallOf = ({ succeededAt, failedAt }: Vendor): Html =>
  failedAt !== null && (succeededAt === null || failedAt > succeededAt)
    ? html`<span class="bad">failed</span>`
    : html`${succeededAt && "succeeded"}`;

const vendorsOf = ({ vendors, paused }: Overview): Html =>
  html`<h2>Third parties</h2>
    ${
      vendors.length === 0
        ? html`<p>None was called in 30 days.</p>`
        : html`<div ${wide("Third parties")}>
            <table>
              <thead>
                <tr>
                  <th scope="col">Called</th>
                  <th scope="col">Last call</th>
                  <th scope="col">Last success, UTC</th>
                  <th scope="col">Last failure, UTC</th>
                  <th scope="col" class="number">Calls in five minutes</th>
                  <th scope="col" class="number">Failed</th>
                </tr>
              </thead>
              <tbody>
                ${vendors.map(
                  (vendor) =>
                    html`<tr>
                      <th scope="row">${vendor.vendor}</th>
                      <td>${lastCallOf(vendor)}</td>
                      <td>${vendor.succeededAt === null ? "none in 30 days" : time(vendor.succeededAt)}</td>
                      <td>${vendor.failedAt === null ? "none in 30 days" : time(vendor.failedAt)}</td>
                      ${figure(vendor.calls)} ${figure(vendor.failed, vendor.failed > 0)}
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>`
    }
    ${
      paused.length === 0
        ? null
        : html`<h3>Paused, as they do not answer</h3>
            <ul>
              ${paused.map(
                ({ queue, origin, since, until, processes: count }) =>
                  html`<li>
                    ${origin} (${queue}) in ${counted(count, "process", "processes")}: since ${time(since)}, to be
                    called again at ${time(until)}
                  </li>`,
              )}
            </ul>`
    }`;

/** When upkeep last ran, in a sentence. */
function upkeepLine({ upkeep }: Overview): Html {
  const ran = upkeep.flatMap(({ startedAt }) => startedAt ?? []);
  const [last = null] = ran.toSorted((a, b) => b.getTime() - a.getTime());
  const failed = upkeep.filter(({ error }) => error !== null).length;
  return html`<h2>Upkeep</h2>
    <p>
      <a href="${consoleRoot}/upkeep">${ran.length} of ${upkeep.length} tasks have run</a
      >${last && html`, the last one at ${time(last)}`};
      ${failed === 0 ? "none failed" : html`<span class="bad">${failed} failed</span>`} when it last ran.
    </p>`;
}

const processesOf = ({ processes, database }: Overview): Html =>
  html`<h2>Processes</h2>
    <p>
      Postgres has ${database.connections} of ${database.maxConnections} connections, and
      ${Math.round(database.bytes / 1_048_576).toLocaleString("en")} MB of data.
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
            ({ id, role, version, startedAt, alive, silentSeconds, statements, transactions, waiting, replicas }) =>
              html`<tr>
                <th scope="row">${id}</th>
                <td>${role}</td>
                <td>${version}</td>
                <td>${time(startedAt)}</td>
                ${figure(lasting(silentSeconds), !alive)} ${figure(statements)} ${figure(transactions)}
                ${figure(waiting, waiting > 0)}
                <td>${replicas.map(({ name, lagSeconds }) => `${name}: ${lasting(lagSeconds)} behind`).join("; ")}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;

/** The jobs that run for long; null when the broker does not answer. */
function underWay(jobs: readonly RunningJob[] | null): Html {
  if (jobs === null) return html`<p>The broker has not answered, so that is not known.</p>`;
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
  const lines = [...troublesBelow(state, running !== null), ...troublesOfQueues(state)];
  const chart = (queue: string) => chartOf(minutesOf(queue, minutes), now).figure;
  const deferred = state.queues.find(({ queue }) => queue === push.queue)?.waiting ?? 0;
  return page(
    "Now",
    html`<div class="${lines.length === 0 ? "state" : "state wrong"}">
        ${
          lines.length === 0
            ? html`<p class="well">All is well.</p>`
            : html`<ul>
                ${lines.map((line) => html`<li>${line}</li>`)}
              </ul>`
        }
      </div>
      ${queuesOf(state, chart)}
      <p>${counted(deferred, "notification is", "notifications are")} deferred.</p>
      <h2>Under way</h2>
      ${underWay(running)} ${vendorsOf(state)} ${upkeepLine(state)} ${processesOf(state)}
      <p class="note">As of ${time(now)} UTC. ${refreshLink(consoleRoot, REFRESH_SECONDS, refreshes)}</p>`,
    refreshes ? REFRESH_SECONDS : null,
  );
}
