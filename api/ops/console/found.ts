import type { FoundRow, OrderContact } from "../../../sql/queries/operations.js";
import type {
  inspectNotification,
  inspectOrder,
  inspectRequest,
  inspectThing,
  TimelineEntry,
} from "../../common/inspect.js";
import { type Html, html } from "./html.js";
import { changedLine, consent, consoleRoot, eventsAt, jobsAt, page, type Page, thingAt, time, wide } from "./frame.js";

const found: Readonly<Record<string, (id: string) => string>> = {
  ORDER: (id) => `${consoleRoot}/orders/${id}`,
  NOTIFICATION: (id) => `${consoleRoot}/notifications/${id}`,
  JOB: (id) => `${consoleRoot}/jobs/${id}`,
  BOX: thingAt,
  FILE: thingAt,
  MENU_IMPORT: thingAt,
  PARTNER: thingAt,
  POS_SYNC: thingAt,
  POS_EVENT: (id) => jobsAt({ argument: `eventId=${id}` }),
};

/** The field by which the payloads of jobs name it. */
const fields: Readonly<Record<string, string>> = {
  BOX: "subjectId",
  FILE: "fileId",
  MENU_IMPORT: "importId",
  PARTNER: "partnerId",
  POS_SYNC: "syncId",
};

const orderLink = (id: string) => html`<a href="${consoleRoot}/orders/${id}">${id}</a>`;

const notificationLink = (id: string) => html`<a href="${consoleRoot}/notifications/${id}">${id}</a>`;

/** What a search found. */
export const searchPage = (words: string, rows: readonly FoundRow[]): Page =>
  page(
    "Found",
    rows.length === 0
      ? html`<p>
            Nothing was found for “${words}”. Look for it in the errors of
            <a href="${jobsAt({ state: "DEAD", error: words })}">dead</a>,
            <a href="${jobsAt({ state: "DUE", error: words })}">due</a> or
            <a href="${jobsAt({ state: "WAITING", error: words })}">waiting jobs</a>, or of
            <a href="${eventsAt({ error: words })}">parked POS events</a>.
          </p>
          <p>A request is found within ten minutes after the given time, a few minutes ago by default:</p>
          <form class="filter" action="${consoleRoot}/search">
            <label>Request <input name="q" value="${words}" required /></label>
            <label>Made at about, UTC <input name="at" type="datetime-local" required /></label>
            <button>Find</button>
          </form>`
      : html`<div ${wide("Found")}>
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
    <div ${wide("Timeline")}>
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

const notificationsOf = (notifications: readonly { id: string; kind: string; why: string }[]): Html =>
  html`<h2>Notifications</h2>
    ${notifications.length === 0 ? html`<p>None.</p>` : null}
    <ul>
      ${notifications.map(({ id, kind, why }) => html`<li>${kind}, ${notificationLink(id)}: ${why}</li>`)}
    </ul>`;

/** An order and all that it caused. */
export const orderPage = (
  { order, notifications, timeline }: NonNullable<Awaited<ReturnType<typeof inspectOrder>>>,
  shown: OrderContact | null,
): Page =>
  page(
    `Order ${order.id}`,
    html`<p>
        ${order.status}; placed at ${time(order.createdAt)} with partner
        <a href="${thingAt(order.partnerId)}">${order.partnerId}</a>,
        ${order.userId === null ? "by no known user" : `by user ${order.userId}`}.
      </p>
      <p>Phone: ${(shown ?? order).phone ?? "none"}; address: ${(shown ?? order).address ?? "none"}.</p>
      ${notificationsOf(notifications)} ${timelineOf(timeline)}
      ${
        shown === null
          ? html`<form class="filter" method="post" action="${consoleRoot}/orders/${order.id}">
              <fieldset class="filter">
                <legend>Show phone and address, which is audited</legend>
                ${consent}
                <button>Show</button>
              </fieldset>
            </form>`
          : null
      }`,
  );

/** A notification, and why it was sent or not. */
export const notificationPage = ({
  notification: { id, kind, userId, orderId, why },
  timeline,
}: NonNullable<Awaited<ReturnType<typeof inspectNotification>>>): Page =>
  page(
    `Notification ${id}`,
    html`<p>${kind} for user ${userId}${orderId === null ? null : html`, about order ${orderLink(orderId)}`}.</p>
      <p><strong>${why}</strong></p>
      ${timelineOf(timeline)}`,
  );

const jobsWith = (argument: string, state: string): Html =>
  html`<a href="${jobsAt({ state, argument })}">${state.toLowerCase()}</a>`;

const disconnectForm = (partnerId: string): Html =>
  html`<form class="filter" method="post" action="${thingAt(partnerId)}/disconnect">
    <fieldset class="filter">
      <legend>Disconnect its POS: further events of it are ignored</legend>
      ${consent}
      <button>Disconnect</button>
    </fieldset>
  </form>`;

/** Something else that was found, such as a file, with the jobs that it caused. */
export const thingPage = (
  { found: { kind, id, state, at }, timeline }: NonNullable<Awaited<ReturnType<typeof inspectThing>>>,
  changed: number | null,
): Page => {
  const argument = fields[kind] && `${fields[kind]}=${id}`;
  return page(
    `${kind} ${id}`,
    html`${changedLine(changed, changed === 1 ? "connection" : "connections")}
      <p>${state}; made at ${time(at)}.</p>
      ${argument ? html`<p>Jobs with ${argument}: ${jobsWith(argument, "DEAD")}, ${jobsWith(argument, "DUE")}, ${jobsWith(argument, "WAITING")}.</p>` : null}
      ${kind === "PARTNER" ? disconnectForm(id) : null} ${timelineOf(timeline)}`,
  );
};

/** The jobs of a request, and their notifications. */
export const requestPage = (
  id: string,
  { notifications, timeline }: Awaited<ReturnType<typeof inspectRequest>>,
): Page =>
  page(
    `Request ${id}`,
    timeline.length === 0
      ? html`<p>It has caused no job that is still kept.</p>`
      : html`${notificationsOf(notifications)} ${timelineOf(timeline)}`,
  );
