import { estimateEnd, partOf } from "../../../lib/domain/progress.js";
import type { BulkActionRow } from "../../../sql/operators/bulk-actions.js";
import { wordsOf } from "./choice.js";
import { type Html, html } from "./html.js";
import { barOf, consent, consoleRoot, page, type Page, time, wide } from "./frame.js";

const progressOf = ({ id, matched, changed, startedAt, settledAt, stoppedWhy }: BulkActionRow): Html => {
  if (settledAt === null)
    return html`${barOf(changed, matched, estimateEnd(partOf(changed, matched), startedAt, Date.now()))}
      <a class="act" href="${consoleRoot}/bulk-actions/${id}/stop">Stop it</a>`;
  if (stoppedWhy === null) return html`${changed} of ${matched}, done at ${time(settledAt)}`;
  return html`${changed} of ${matched}, stopped at ${time(settledAt)}: ${stoppedWhy}`;
};

const actionRow = (action: BulkActionRow): Html =>
  html`<tr>
    <td>
      <a href="${consoleRoot}/bulk-actions/${action.id}">${action.kind}</a>
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
