import { fileURLToPath } from "node:url";
import { between, markdownTable } from "../../markdown.js";
import { sum, type Cost } from "./costs.js";
import { assumptions, jobsOfRedis, perOrder, sizeFor, sizes, yearOf, type Size } from "./model.js";
import type { Run } from "./run.js";

export const pagePath = fileURLToPath(new URL("../../ops/capacity.md", import.meta.url));

const mark = "<!-- capacity: `npm run capacity -- --table FILE` writes this part -->\n\n";
const endMark = "\n\n<!-- end of capacity -->";

/** Rounds to two digits, or to whole numbers. */
function rounded(value: number): string {
  const digits = Math.max(0, 1 - Math.floor(Math.log10(Math.abs(value) || 1)));
  const step = value >= 100 ? 10 ** (Math.floor(Math.log10(value)) - 1) : 1;
  return new Intl.NumberFormat("en", { maximumFractionDigits: Math.min(digits, 3) }).format(
    value >= 100 ? Math.round(value / step) * step : value,
  );
}

/** A number of bytes in the unit that leaves few digits. */
function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(value, 1)) / 3)));
  return `${rounded(power === 0 ? Math.round(value) : value / 1_000 ** power)} ${units[power] ?? ""}`;
}

const powerOf = (value: number) =>
  `10${String(Math.round(Math.log10(value))).replaceAll(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)] ?? "")}`;

function costRow(name: string, { cpuMs, statements, walBytes, jobs }: Cost): string[] {
  const { api, workers, postgres, redis } = cpuMs;
  const cpu = [api, workers, postgres, redis, api + workers + postgres + redis].map((ms) => ms.toFixed(2));
  return [name, ...cpu, rounded(statements), bytes(walBytes), rounded(sum(Object.values(jobs)))];
}

function costs({ measured }: Run): string {
  const { steps, operations } = measured;
  const { life, all } = perOrder(measured);
  const rows: [string, Cost][] = [
    ["an order is placed, two are notified", steps.placed],
    ["the customer is reminded", steps.reminded],
    ["it is ready, the customer is notified", steps.ready],
    ["it is completed, with points and a notification", steps.completed],
    ["it is reviewed, the partner is notified", steps.reviewed],
    ["its share of a rollup", steps.rolledUp],
    ["its share of vacuum", steps.vacuumed],
    ["its jobs, keys and notifications are purged", steps.purged],
    ["**the whole life of an order**", life],
    ["reading a box", operations.box],
    ["a list of 20 boxes", operations.list],
    ["a search for 20 partners around a place", operations.nearby],
    ["a list of one's own orders", operations.orders],
    ["a webhook: an order at the counter", operations.sale],
    ["an upload: a photograph of 12 megapixels", operations.upload],
    ["a new box", operations.newBox],
    ["a new box, 1,000 followers are notified", operations.newBoxWithFollowers],
    ["**an order, with all that comes with it**", all],
  ];
  const header = ["Operation", "API", "Workers", "Postgres", "Redis", "All", "Statements", "WAL", "Jobs"];
  return markdownTable(
    header,
    rows.map(([name, cost]) => costRow(name, cost)),
  );
}

const used = ({ part, used: share }: Size["limit"]) => `${part}, ${rounded(share * 100)} %`;

function sizing({ measured }: Run): string {
  const all = sizes.map((orders) => sizeFor(measured, orders));
  const row = (name: string, text: (size: (typeof all)[number]) => string) => [name, ...all.map(text)];
  return markdownTable(
    ["Orders a day", ...all.map(({ orders }) => powerOf(orders))],
    [
      row("Orders a second at the peak", ({ peak }) => rounded(peak)),
      row("API processes, of a core each", ({ apiProcesses }) => rounded(apiProcesses)),
      row("Worker processes, of a core each", ({ workerProcesses }) => rounded(workerProcesses)),
      row("Cores of Postgres", ({ postgresCores }) => rounded(Math.max(1, Math.ceil(postgresCores)))),
      row("Use of a Redis node", ({ redisCores }) => `${rounded(redisCores * 100)} %`),
      row("Connections to Postgres, at most", ({ connections }) => rounded(connections)),
      row("Jobs a second of the busiest queue at the peak", ({ queue, jobs }) => `${rounded(jobs)} (${queue})`),
      row("WAL a day", ({ walBytesPerDay }) => bytes(walBytesPerDay)),
      row("WAL a second at the peak", ({ peak, orders, walBytesPerDay }) => bytes((peak * walBytesPerDay) / orders)),
      row("Database growth a day, before purges", ({ diskBytesPerDay }) => bytes(diskBytesPerDay)),
      row("Database after a year", ({ orders }) => bytes(yearOf(measured, orders).bytes)),
      row("The limit, and how much of it is used", ({ limit }) => used(limit)),
      row("The same of the primary alone", ({ primary }) => used(primary)),
    ],
  );
}

const year = ({ measured }: Run): string =>
  markdownTable(
    ["Table", "Rows", "Size", "Kept"],
    yearOf(measured, 1e6).tables.map(({ table, rows, bytes: size, kept }) => [
      `\`${table}\``,
      rounded(rows),
      bytes(size),
      kept,
    ]),
  );

/** The figures of a run, and what follows from them, as Markdown. */
export function describe(run: Run): string {
  const { measured, cores, node, date, commit, seconds } = run;
  const redis = measured.waitingJobBytes;
  const idle = measured.idle.cpuMs;
  return [
    `Measured on ${cores} cores with Node ${node}, ${date.slice(0, 10)}${commit === null ? "" : `, commit ${commit}`}, in ${Math.round(seconds)} s. CPU time is in milliseconds:`,
    costs(run),
    [
      `An idle second costs the API ${rounded(idle.api)} ms, a worker process ${rounded(idle.workers)} ms, Postgres ${rounded(idle.postgres)} ms and Redis ${rounded(idle.redis)} ms; that is left out above.`,
      ...(redis === null
        ? []
        : [
            `One node of Redis carries ${rounded(jobsOfRedis(measured))} jobs a second, and needs ${bytes(redis)} for each job that waits.`,
          ]),
    ].join(" "),
    "It is assumed that:",
    Object.entries(assumptions)
      .map(
        ([name, [value, meaning]]) =>
          `- \`${name}\`: ${name.includes("Bytes") ? bytes(value) : rounded(value)} ${meaning}`,
      )
      .join("\n"),
    "From that follows:",
    sizing(run),
    "A year at 10⁶ orders a day leaves these tables:",
    year(run),
  ].join("\n\n");
}

/** Returns the page with what follows from a run between its two marks. */
export const withCapacity = (page: string, run: Run): string => between(page, mark, endMark, describe(run));
