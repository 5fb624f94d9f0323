import { estimateEnd, partOf } from "../../../lib/domain/progress.js";
import type { BulkActionRow } from "../../../sql/operators/bulk-actions.js";
import { wordsOf } from "./choice.js";
import { type Html, html } from "./html.js";
import { barOf, consent, consoleRoot, page, type Page, refreshLink, time, wide } from "./frame.js";

const REFRESH_SECONDS = 2;

const progressOf = ({ id, matched, changed, startedAt, settledAt, stoppedWhy }: BulkActionRow): Html => {
  if (settledAt === null)
    return html`${barOf(changed, matched, estimateEnd(partOf(changed, matched), startedAt, Date.now()))}
      <a class="act" href="${actionAt(id)}/stop">Stop it</a>`;
  if (stoppedWhy === null) return html`${changed} of ${matched}, done at ${time(settledAt)}`;
  return html`${changed} of ${matched}, stopped at ${time(settledAt)}: ${stoppedWhy}`;
};

const actionRow = (action: BulkActionRow): Html =>
  html`<tr>
    <td>
      <a href="${actionAt(action.id)}">${action.kind}</a>
      ${action.until === null ? null : html`until ${time(action.until)}`}
    </td>
    <td class="words">${progressOf(action)}</td>
    <td class="words">${wordsOf(action)}</td>
    <td class="words">${action.why}</td>
    <td>${time(action.createdAt)}</td>
  </tr>`;

const actionsOf = (actions: readonly BulkActionRow[]): Html =>
  html`<div ${wide("Bulk actions")}>
    <table>
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">Changed</th>
          <th scope="col">To what</th>
          <th scope="col">Why</th>
          <th scope="col">Asked for, UTC</th>
        </tr>
      </thead>
      <tbody>
        ${actions.map(actionRow)}
      </tbody>
    </table>
  </div>`;

/** The address of a bulk action's page. */
export const actionAt = (id: string): string => `${consoleRoot}/bulk-actions/${id}`;

/** Bulk actions with their progress, at this address; the page can load itself again while one is under way. */
export function actionsPage(
  title: string,
  actions: readonly BulkActionRow[],
  address: string,
  refreshes: boolean,
): Page {
  if (actions.every(({ settledAt }) => settledAt !== null)) return page(title, actionsOf(actions));
  return page(
    title,
    html`${actionsOf(actions)}
      <p class="note">${refreshLink(address, REFRESH_SECONDS, refreshes)}</p>`,
    refreshes ? REFRESH_SECONDS : null,
  );
}

/** The form that stops a bulk action: on a page that does not load itself again, so that it can be filled in. */
export const stopPage = (action: BulkActionRow): Page =>
  page(
    "Stop a bulk action",
    html`${actionsOf([action])}
      <form class="filter" method="post" action="${actionAt(action.id)}/stop">
        <fieldset class="filter">
          <legend>Stop it; what it has changed stays so</legend>
          ${consent}
          <button>Stop</button>
        </fieldset>
      </form>`,
  );
