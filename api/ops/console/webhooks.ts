import { enums, type Enum } from "../../../lib/domain/enums.js";
import type { WatchedEndpoint } from "../../../sql/queries/webhook-operations.js";
import type { WebhookDeliveryRow } from "../../../sql/queries/webhooks.js";
import { MOST_RESENT } from "../../common/webhook-endpoints.js";
import { type Html, html } from "./html.js";
import { changedLine, consent, consoleRoot, page, type Page, time, wide } from "./frame.js";

/** The address of the list of endpoints that match. */
export const webhooksAt = (filter: Record<string, string>) =>
  `${consoleRoot}/webhooks?${new URLSearchParams(filter).toString()}`;

/** The address of an endpoint's page, with a part of its deliveries. */
export const endpointAt = (id: string, filter: Record<string, string> = {}) =>
  `${consoleRoot}/webhooks/${id}?${new URLSearchParams(filter).toString()}`;

const ownerOf = ({ partnerId, partner }: WatchedEndpoint): Html =>
  partnerId === null
    ? html`the platform`
    : html`<a href="${consoleRoot}/search?q=${encodeURIComponent(partnerId)}">${partner ?? partnerId}</a>`;

const reasons: Readonly<Record<Enum<"webhookStop">, string>> = {
  BY_OWNER: "its owner has stopped it",
  BY_OPERATOR: "an operator has stopped it",
  GONE: "it answered 410",
  FAILING: "it failed for a day",
};

const stateOf = ({ stoppedAt, stoppedWhy, failures, failingSince, pausedUntil }: WatchedEndpoint): Html => {
  if (stoppedAt !== null && stoppedWhy !== null)
    return html`<span class="bad">stopped at ${time(stoppedAt)}: ${reasons[stoppedWhy]}</span>`;
  if (failures === 0 || failingSince === null) return html`works`;
  return html`<span class="bad">${failures} failures since ${time(failingSince)}</span>${
      pausedUntil && html`, called again at ${time(pausedUntil)}`
    }`;
};

const oldestOf = ({ oldestAt }: WatchedEndpoint): Html | null => oldestAt && time(oldestAt);

interface EndpointsView {
  show: "FAILING" | "ALL";
  endpoints: readonly WatchedEndpoint[];
  /** The address of the next page; null on the last. */
  next: string | null;
}

/** Webhook endpoints of all owners: those that fail, or all. */
export const endpointsPage = ({ show, endpoints, next }: EndpointsView): Page =>
  page(
    "Webhooks",
    html`<p>
        ${
          show === "FAILING"
            ? html`Endpoints that fail, or were stopped for that. <a href="${webhooksAt({ show: "ALL" })}">Show all</a>`
            : html`All endpoints. <a href="${webhooksAt({ show: "FAILING" })}">Show those that fail</a>`
        }
      </p>
      ${endpoints.length === 0 ? html`<p>None.</p>` : null}
      <div ${wide("Endpoints")}>
        <table>
          <thead>
            <tr>
              <th scope="col">Endpoint</th>
              <th scope="col">Of</th>
              <th scope="col">State</th>
              <th scope="col" class="number">Sent later</th>
              <th scope="col">Oldest event not sent, UTC</th>
            </tr>
          </thead>
          <tbody>
            ${endpoints.map(
              (endpoint) =>
                html`<tr>
                  <td><a href="${endpointAt(endpoint.id)}">${new URL(endpoint.url).host}</a></td>
                  <td>${ownerOf(endpoint)}</td>
                  <td>${stateOf(endpoint)}</td>
                  <td class="number">${endpoint.pending}</td>
                  <td>${oldestOf(endpoint)}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      ${next === null ? null : html`<p><a href="${next}" rel="next">Older endpoints</a></p>`}`,
  );

interface EndpointView {
  endpoint: WatchedEndpoint;
  /** Null: of every status. */
  status: Enum<"webhookStatus"> | null;
  deliveries: readonly WebhookDeliveryRow[];
  next: string | null;
  /** How many events a form has just had sent again. */
  changed: number | null;
}

const switchForm = (id: string, kind: "STOP" | "START", legend: string): Html =>
  html`<form class="filter" method="post" action="${consoleRoot}/webhooks/${id}/switch">
    <fieldset class="filter">
      <legend>${legend}</legend>
      ${consent}
      <button name="kind" value="${kind}">${kind === "STOP" ? "Stop" : "Start"}</button>
    </fieldset>
  </form>`;

/** Stops or starts an endpoint, and has events of a time sent again to one that runs. */
const formsOf = ({ id, stoppedAt, stoppedWhy }: WatchedEndpoint): Html =>
  html`${stoppedAt === null ? null : switchForm(id, "START", "Start it: it gets the events from now on")}
  ${stoppedWhy === "BY_OPERATOR" ? null : switchForm(id, "STOP", "Stop it: its owner cannot start it")}
  ${
    stoppedAt === null
      ? html`<form class="filter" method="post" action="${consoleRoot}/webhooks/${id}/resend">
          <fieldset class="filter">
            <legend>Send the events of a time again, ${MOST_RESENT.toLocaleString("en")} at most</legend>
            <label>Since, UTC <input name="since" type="datetime-local" required /></label>
            <label>Before, UTC, empty for now <input name="before" type="datetime-local" /></label>
            ${consent}
            <button>Send again</button>
          </fieldset>
        </form>`
      : null
  }`;

/** One endpoint, with what can be done to it and what was sent to it. */
export const endpointPage = ({ endpoint, status, deliveries, next, changed }: EndpointView): Page =>
  page(
    `Webhook endpoint ${new URL(endpoint.url).host}`,
    html`${changedLine(changed, changed === 1 ? "event" : "events")}
      <p>Of ${ownerOf(endpoint)}: ${stateOf(endpoint)}.</p>
      <ul>
        <li>Events: ${endpoint.types === null ? "all" : endpoint.types.join(", ")}</li>
        <li>${endpoint.pending} deliveries are sent later</li>
        <li>
          ${endpoint.oldestAt === null ? "It has all its events" : html`The oldest event that it has not got is of ${time(endpoint.oldestAt)}`}
        </li>
      </ul>
      ${formsOf(endpoint)}
      <h2>Deliveries</h2>
      <p>
        ${[null, ...enums.webhookStatus].map((each) =>
          each === status
            ? html`<strong>${each ?? "all"}</strong>`
            : html`<a href="${endpointAt(endpoint.id, { status: each ?? "" })}">${each ?? "all"}</a>`,
        )}
      </p>
      ${deliveries.length === 0 ? html`<p>None.</p>` : null}
      <div ${wide("Deliveries")}>
        <table>
          <thead>
            <tr>
              <th scope="col">Event</th>
              <th scope="col">Status</th>
              <th scope="col" class="number">Attempts</th>
              <th scope="col">Last, UTC</th>
              <th scope="col" class="number">Took, ms</th>
              <th scope="col">Answer</th>
              <th scope="col">Next, UTC</th>
            </tr>
          </thead>
          <tbody>
            ${deliveries.map(
              ({ position, type, status: of, attempts, attemptedAt, ms, answered, answer, nextAttemptAt }) =>
                html`<tr>
                  <td>${type} ${position}</td>
                  <td>${of}</td>
                  <td class="number">${attempts}</td>
                  <td>${attemptedAt && time(attemptedAt)}</td>
                  <td class="number">${ms}</td>
                  <td>${answered} ${answer}</td>
                  <td>${nextAttemptAt && time(nextAttemptAt)}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      ${next === null ? null : html`<p><a href="${next}" rel="next">Earlier events</a></p>`}`,
  );
