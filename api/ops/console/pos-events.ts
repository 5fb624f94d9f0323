import type { ListedPosEvent, ParkedFilter } from "../../../sql/queries/pos-events.js";
import { anyJob } from "../../../sql/operators/jobs.js";
import type { PartnerEvents } from "../../../sql/queries/operations.js";
import { allChooser, buttonsFor, chooser, chosenForm } from "./choice.js";
import { type Html, html } from "./html.js";
import { changedLine, consoleRoot, eventsAt, page, type Page, thingAt, time, wide } from "./frame.js";

export interface PosEventsView extends ParkedFilter {
  events: readonly ListedPosEvent[];
  /** Those with the most events that are not applied. */
  partners: readonly PartnerEvents[];
  changed: number | null;
  /** The address of the next page; null on the last. */
  next: string | null;
}

/** Which events are meant, as the fields of a form or of an address. */
export const parkedFieldsOf = ({ partnerId, error }: ParkedFilter): Record<string, string> => ({
  partnerId: partnerId ?? "",
  error: error ?? "",
});

const rowOf = ({ id, partnerId, provider, kind, receivedAt, attempts, lastError }: ListedPosEvent): Html =>
  html`<tr>
    <td class="pick">${chooser("Event", id)} ${id}</td>
    <td class="words">${lastError}</td>
    <td class="words"><a href="${consoleRoot}/pos-events?partnerId=${partnerId}">${partnerId}</a></td>
    <td>${provider}: ${kind}</td>
    <td>${time(receivedAt)}</td>
    <td class="number">${attempts}</td>
  </tr>`;

const backlogOf = (partners: readonly PartnerEvents[]): Html =>
  partners.length === 0
    ? html`<p>Every event is applied.</p>`
    : html`<div ${wide("Events that are not applied")}>
        <table>
          <caption>
            Partners with the most events that are not applied, of the first ten thousand that are queued or parked
          </caption>
          <thead>
            <tr>
              <th scope="col">Partner</th>
              <th scope="col" class="number">Queued</th>
              <th scope="col" class="number">Parked</th>
              <th scope="col">First received, UTC</th>
            </tr>
          </thead>
          <tbody>
            ${partners.map(
              ({ partnerId, partner, queued, parked, oldestAt }) =>
                html`<tr>
                  <th scope="row"><a href="${thingAt(partnerId)}">${partner}</a></th>
                  <td class="number">${queued}</td>
                  <td class="number">
                    ${parked === 0 ? parked : html`<a href="${eventsAt({ partnerId })}">${parked}</a>`}
                  </td>
                  <td>${time(oldestAt)}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>`;

/** Whose POS events wait, and the parked ones that match, with what can be done to chosen ones or to all of them. */
export const posEventsPage = ({ events, partners, changed, next, ...filter }: PosEventsView): Page =>
  page(
    "POS events",
    html`${changedLine(changed, changed === 1 ? "event" : "events")} ${backlogOf(partners)}
      <h2>Parked events</h2>
      <form class="filter" action="${consoleRoot}/pos-events">
        <label>Partner’s id <input name="partnerId" value="${filter.partnerId}" maxlength="36" /></label>
        <label>Error contains <input name="error" value="${filter.error}" maxlength="200" /></label>
        <button>Show</button>
      </form>
      ${
        events.length === 0
          ? html`<p>None.</p>`
          : html`<form id="${chosenForm}" class="filter" method="post" action="${consoleRoot}/pos-events">
                <fieldset class="filter">
                  <legend>Chosen events, or all</legend>
                  ${allChooser({ ...anyJob, ...filter, state: "PARKED" })}
                  ${Object.entries(parkedFieldsOf(filter)).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
                  ${buttonsFor("PARKED")}
                </fieldset>
              </form>
              <div ${wide("Parked events")}>
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Event</th>
                      <th scope="col">Last error</th>
                      <th scope="col">Partner</th>
                      <th scope="col">Kind</th>
                      <th scope="col">Received, UTC</th>
                      <th scope="col" class="number">Attempts</th>
                    </tr>
                  </thead>
                  <tbody>
                    ${events.map(rowOf)}
                  </tbody>
                </table>
              </div>`
      }
      ${next === null ? null : html`<p><a href="${next}" rel="next">Older events</a></p>`}`,
  );
