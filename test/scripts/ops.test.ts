import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { endpoints } from "../../api/app.js";
import { closeBroker } from "../../queues/broker.js";
import { contracts } from "../../queues/index.js";
import { closeDatabase } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { observeJob, registry } from "../../workers/metrics.js";
import { startApi } from "../support/api.js";
import { until } from "../support/until.js";

/** The exported metrics: by name their labels, and by label the values seen. */
const exported = new Map<string, Map<string, Set<string>>>();

/** Labels that Prometheus adds itself. */
exported.set("up", new Map());
const added = ["job", "instance"];

/** The metrics that rules record, each with its labels. They are of this service, as what they are made of is. */
const recorded = new Map<string, Map<string, Set<string>>>();

/** Records what a process exports, in Prometheus's text format. */
function note(text: string): void {
  for (const line of text.split("\n")) {
    const [, metric = "", kind] = /^# TYPE (\w+) (\w+)$/.exec(line) ?? [];
    const suffixes = kind === "histogram" ? ["_bucket", "_count", "_sum"] : kind === undefined ? [] : [""];
    for (const suffix of suffixes)
      exported.set(metric + suffix, exported.get(metric + suffix) ?? new Map<string, Set<string>>());
    const [, name = "", labels = ""] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    const known = exported.get(name);
    for (const [, label = "", value = ""] of labels.matchAll(/(\w+)="([^"]*)"/g))
      known?.set(label, (known.get(label) ?? new Set()).add(value));
  }
}

/** Labels of which all values were seen. */
const complete = ["state", "pool", "outcome", "queue", "service", "result", "level"];

/** The values of a matcher that do not exist. */
function missing(label: string, wanted: string, seen: ReadonlySet<string>): string[] {
  // of the forms of a bound one is there
  if (label === "le") return wanted.split("|").some((value) => seen.has(value)) ? [] : [wanted];
  if (complete.includes(label)) return wanted.split("|").filter((value) => !seen.has(value));
  return label !== "route" || endpoints.some(({ path }) => path === wanted) ? [] : [wanted];
}

/** The mistakes of an expression: it uses metrics that do not exist, or matches other services too. */
function mistakes(expression: string): string[] {
  const found: string[] = [];
  const labels = new Set(added);
  const ungrouped = expression.replace(/\bby \([^)]*\)|\$__rate_interval/g, "");
  for (const [, name = "", matchers = ""] of ungrouped.matchAll(
    /(?<![\w:])([a-z][\w:]*_[\w:]+|up)\b(?!\()(?:\{([^}]*)\})?/g,
  )) {
    const known = exported.get(name) ?? recorded.get(name);
    if (!known) found.push(`no process exports ${name}`);
    if (!recorded.has(name) && !matchers.includes('job=~"surplus-food-.*"'))
      found.push(`${name} may be another service's: add job=~"surplus-food-.*"`);
    for (const label of known?.keys() ?? []) labels.add(label);
    for (const [, label = "", wanted = ""] of matchers.matchAll(/(\w+)=~?"([^"]*)"/g)) {
      const seen = known?.get(label);
      if (seen) found.push(...missing(label, wanted, seen));
      else if (!added.includes(label)) found.push(`${name} has no ${label}`);
    }
  }
  for (const [, grouped = ""] of expression.matchAll(/\bby \(([^)]*)\)/g))
    found.push(...grouped.split(", ").flatMap((label) => (labels.has(label) ? [] : `nothing has a ${label}`)));
  return found;
}

const read = (name: string) => readFile(new URL(`../../scripts/ops/${name}`, import.meta.url), "utf8");

const Dashboard = z.object({
  panels: z.array(
    z.object({
      id: z.int(),
      title: z.string(),
      gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
      targets: z.array(z.object({ refId: z.string(), expr: z.string(), legendFormat: z.string() })).optional(),
    }),
  ),
});

const { panels } = Dashboard.parse(JSON.parse(await read("grafana.json")));
const alerts = await read("alerts.yml");
const workers = await read("kubernetes/workers.yaml");
const runbook = await read("runbook.md");

for (const [, name = "", label = "", value = ""] of alerts.matchAll(
  /- record: (\S+)\n +expr: .+\n(?: +labels: \{ (\w+): (\w+) \}\n)?/g,
)) {
  const labels = recorded.get(name) ?? new Map<string, Set<string>>();
  recorded.set(name, labels);
  if (label !== "") labels.set(label, (labels.get(label) ?? new Set()).add(value));
  // what is made of recorded metrics has their labels
  else labels.set("level", recorded.get("service_level:all:rate5m")?.get("level") ?? new Set());
}

beforeAll(async () => {
  const { client, stop } = await startApi();
  await fetch(`${client.url}/healthz`);
  // a scrape leaves out what it cannot read in time, as on a slow machine
  await until(async () => {
    note(await (await fetch(`${client.url}/metrics`)).text());
    return ["queue_jobs", "outbox_dead_jobs", "queue_paused"].every((name) => exported.get(name)?.has("queue"));
  });
  await stop();
  // with labels only when there are replicas (test/sql/replicas.test.ts)
  note('database_replica_lag_seconds{replica="one"} 0\n');
  for (const outcome of ["answered", "empty", "failed", "passed_over"])
    note(`database_replica_reads_total{replica="one",outcome="${outcome}"} 0\n`);
  // with labels only when requests were refused (test/api/http/overload.test.ts)
  note('http_requests_shed_total{method="POST",route="/api/v1/orders"} 0\n');
  for (const { queue } of contracts) {
    for (const outcome of ["done", "skipped", "snoozed", "failed", "dead"] as const)
      observeJob({ queue, outcome }, 0.1);
  }
  note(await registry.metrics());
});

afterAll(async () => {
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
});

describe("each panel of the dashboard uses exported metrics", () => {
  const asked = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }): [string, string] => [title, expr]));
  test.each(asked)("%s: %s", (_title, expr) => expect(mistakes(expr)).toEqual([]));
});

describe("each alert", () => {
  const asked = [...alerts.matchAll(/- (?:alert|record): (\S+)\n +expr: (.+)\n/g)].map(([, name = "", expr = ""]) => [
    name,
    expr,
  ]);
  test.each(asked)("%s uses exported metrics: %s", (_name, expr) => expect(mistakes(expr)).toEqual([]));

  const names = Array.from(alerts.matchAll(/- alert: (\w+)/g), ([, name = ""]) => name);

  test("has a severity and a summary", () => {
    for (const part of [/severity: (critical|warning) /g, /^ +summary: ./gm, /^ +for: \d+m$/gm])
      expect(alerts.match(part)).toHaveLength(names.length);
  });

  test("names its paragraph of the runbook, which says what is seen, where to look and what to do", () => {
    expect(Array.from(alerts.matchAll(/^ +runbook: (.+)$/gm), ([, place]) => place)).toEqual(
      names.map((name) => `scripts/ops/runbook.md#${name.toLowerCase()}`),
    );
    for (const name of names)
      expect(runbook).toMatch(
        new RegExp(
          `\n### ${name}\n\n- \\*\\*Symptom\\.\\*\\* [^#]+\n- \\*\\*Look\\.\\*\\* [^#]+\n- \\*\\*Do\\.\\*\\*\\s`,
        ),
      );
    const [, part = ""] = runbook.split("\n## When an alert fires\n");
    const [paragraphs = ""] = part.split("\n## ");
    expect(Array.from(paragraphs.matchAll(/^### (.+)$/gm), ([, name]) => name)).toEqual(names);
  });
});

describe("what scales the workers in Kubernetes", () => {
  const asked = [...workers.matchAll(/^ +query: (.+)$/gm)].map(([, query = ""]) => query);
  test.each(asked)("uses exported metrics: %s", (query) => expect(mistakes(query)).toEqual([]));
});

test.each([
  ["outbox_lag", ["no process exports outbox_lag", 'outbox_lag may be another service\'s: add job=~"surplus-food-.*"']],
  ['max by (quue) (queue_jobs{job=~"surplus-food-.*",state="wating"})', ["wating", "nothing has a quue"]],
  ['rate(job_duration_seconds_count{job=~"surplus-food-.*",outcome=~"failed|ded"}[5m])', ["ded"]],
  ['up{job=~"surplus-food-.*",queue="push"} == 0', ["up has no queue"]],
  ['http_request_duration_seconds_sum{job=~"surplus-food-.*",route="/orders"}', ["/orders"]],
])("a mistake is found: %s", (expr, found) => expect(mistakes(expr)).toEqual(found));

test("panels do not overlap, and each has its own id", () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, n) => `${x + (n % w)} ${y + Math.floor(n / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
});
