import { partOf } from "../../../lib/domain/progress.js";
import { type Html, html } from "./html.js";

/** The console's path. */
export const consoleRoot = "/admin/ops";

const style = html` :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; background: light-dark(#fff,
#121212); color: light-dark(#111, #eee) } a { color: light-dark(#0842a0, #8ab4f8) } a:visited { color:
light-dark(#5b2d90, #c8a8f0) } body { max-width: 70rem; margin: 0 auto; padding: 0 1rem 3rem } nav { display: flex;
flex-wrap: wrap; gap: .5rem 1.2rem; align-items: center; padding: .8rem 0; border-bottom: 1px solid #8886 } nav form {
margin-left: auto } h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem } h3 { font-size: 1rem } td.words
{ min-width: 13rem } td.pick { white-space: nowrap } .wide { overflow-x: auto } table { border-collapse: collapse;
width: 100% } th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8883; vertical-align:
top; overflow-wrap: break-word } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums } input,
select, button, textarea { font: inherit; padding: .4rem .6rem } .chart { width: 11rem; height: 1.8rem; overflow:
visible } .chart path { fill: none; stroke: light-dark(#0b57d0, #8ab4f8); stroke-width: 1.5; vector-effect:
non-scaling-stroke } .chart .out { stroke: light-dark(#146c2e, #7fd694); stroke-dasharray: 4 3 } .big .chart { width:
100%; height: 8rem } .observer form[method=post], .observer .act, .observer td input { display: none } th[scope=col] {
overflow-wrap: normal } figure { margin: 1rem 0 } form.filter label:has([type=checkbox]) { display: block } form.filter
{ display: flex; flex-wrap: wrap; gap: .6rem; align-items: end } form.filter label { display: grid } fieldset { border:
1px solid #8886; margin: 1.5rem 0; padding: .8rem } progress { width: 100% } .bad { font-weight: 600; color:
light-dark(#b71c1c, #ff8a80) } .note { color: light-dark(#555, #aaa) } time { white-space: nowrap }`;

/** The attributes of a table's frame, which can be scrolled on a phone, also with the keyboard. */
export const wide = (label: string): Html => html`class="wide" role="region" tabindex="0" aria-label="${label}"`;

/** A page, for those who may act or only look. */
export type Page = (mayAct: boolean) => string;

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
            <a href="${consoleRoot}">Now</a>
            <a href="${consoleRoot}/jobs">Jobs</a>
            <a href="${consoleRoot}/bulk-actions">Bulk actions</a>
            <a href="${consoleRoot}/pos-events">POS events</a>
            <a href="${consoleRoot}/webhooks">Webhooks</a>
            <a href="${consoleRoot}/upkeep">Upkeep</a>
            ${mayAct ? html`<a href="/admin/queues">Queues</a>` : null}
            <a href="/admin/queues/sign-out">Sign out</a>
            <form action="${consoleRoot}/search" role="search">
              <label
                >Find
                <input name="q" type="search" required maxlength="200" placeholder="an id, a number, a code, a phone"
              /></label>
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

/** How many rows a form has changed. */
export const changedLine = (changed: number | null, what: string): Html | null =>
  changed === null ? null : html`<p role="status">Changed: ${changed} ${what}.</p>`;

/** A refusal, on a page. */
export const refusalPage = (message: string): Page =>
  page(
    "That did not work",
    html`<p role="alert">${message}</p>
      <p><a href="${consoleRoot}">Back to the console</a></p>`,
  );
