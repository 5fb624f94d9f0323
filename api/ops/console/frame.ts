import { partOf } from "../../../lib/domain/progress.js";
import { type Html, html } from "./html.js";
import { style } from "./style.js";

/** The console's path. */
export const consoleRoot = "/admin/ops";

/** The pages that the navigation leads to, by their titles. */
const places = {
  Now: consoleRoot,
  Jobs: `${consoleRoot}/jobs`,
  "Bulk actions": `${consoleRoot}/bulk-actions`,
  "POS events": `${consoleRoot}/pos-events`,
  Webhooks: `${consoleRoot}/webhooks`,
  Upkeep: `${consoleRoot}/upkeep`,
};

/** The attributes of a table's frame, which can be scrolled on a phone, also with the keyboard. */
export const wide = (label: string): Html => html`class="wide" role="region" tabindex="0" aria-label="${label}"`;

/** A page, for those who may act or only look. */
export type Page = (mayAct: boolean) => string;

/** A page that changes under its reader is for those who ask for it: whether they did. */
export const wantsRefresh = (query: Readonly<Record<string, unknown>>): boolean => query["refresh"] === "on";

/** The address of the same page that the browser loads again and again. */
export const refreshedAddress = (address: string): string => `${address}?refresh=on`;

/** The link that begins or ends this. */
export const refreshLink = (address: string, seconds: number, on: boolean): Html =>
  on
    ? html`<a href="${address}">Do not load this page by itself</a>`
    : html`<a href="${refreshedAddress(address)}">Load this page again every ${seconds} seconds</a>`;

/** Makes a whole page; with `refreshSeconds` the browser loads it again and again. */
export const page =
  (title: string, body: Html, refreshSeconds: number | null = null): Page =>
  (mayAct) =>
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          ${refreshSeconds === null ? null : html`<meta http-equiv="refresh" content="${refreshSeconds}" />`}
          <title>${title} – operations</title>
          <link rel="icon" href="data:," />
          <style>
            ${style}
          </style>
        </head>
        <body class="${mayAct ? "" : "observer"}">
          <nav aria-label="Console">
            ${Object.entries(places).map(
              ([name, address]) =>
                html`<a href="${address}" ${name === title ? html` aria-current="page"` : null}>${name}</a>`,
            )}
            ${mayAct ? html`<a href="/admin/queues">Queues</a>` : null}
            <a href="/admin/queues/sign-out">Sign out</a>
            <form action="${consoleRoot}/search" role="search">
              <input
                name="q"
                type="search"
                aria-label="Find"
                required
                maxlength="200"
                placeholder="an id, a number, a code, a phone"
              />
              <button>Find</button>
            </form>
          </nav>
          <main>
            <h1>${title}</h1>
            ${body}
          </main>
        </body>
      </html> `.toString();

export const time = (at: Date) =>
  html`<time datetime="${at.toISOString()}">${at.toISOString().slice(0, 19).replace("T", " ")}</time>`;

export const jobLink = (id: number) => html`<a href="${consoleRoot}/jobs/${id}">${id}</a>`;

/** The address of the list of jobs that match. */
export const jobsAt = (filter: Record<string, string>) =>
  `${consoleRoot}/jobs?${new URLSearchParams(filter).toString()}`;

/** The address of the list of parked events that match. */
export const eventsAt = (filter: Record<string, string>) =>
  `${consoleRoot}/pos-events?${new URLSearchParams(filter).toString()}`;

/** The address of what has this id, such as a partner. */
export const thingAt = (id: string) => `${consoleRoot}/things/${id}`;

export const queueAt = (queue: string) => `${consoleRoot}/queues/${queue}`;

/** How far something is: in words, by a bar where it is known how much there is, and about when it will be done. */
export function barOf(done: number, total: number | null, estimatedEndAt: Date | null): Html {
  const part = partOf(done, total);
  if (total === null || part === null) return html`${done.toLocaleString("en")} so far`;
  return html`<label
      >${done.toLocaleString("en")} of ${total.toLocaleString("en")} (${Math.floor(part * 100)} %)
      <progress max="${total}" value="${Math.min(done, total)}"></progress
    ></label>
    ${estimatedEndAt === null ? null : html`done at about ${time(estimatedEndAt)}`}`;
}

/** What every form asks for before something is done. */
export const consent = html`<label>Why <input name="why" required maxlength="500" /></label>
  <label><input type="checkbox" name="sure" required /> I am sure</label>`;

/** How many rows a form has changed: none, when another operator or the service itself was faster. */
export const changedLine = (changed: number | null, what: string): Html | null =>
  changed === null
    ? null
    : html`<p role="status" class="state">
        Changed: ${changed} ${what}.${changed === 0 ? " There was nothing to change." : null}
      </p>`;

/** A refusal, on a page. */
export const refusalPage = (message: string): Page =>
  page(
    "That did not work",
    html`<p role="alert">${message}</p>
      <p><a href="${consoleRoot}">Back to the console</a></p>`,
  );
