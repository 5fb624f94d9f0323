import { expect, test } from "@jest/globals";
import { Counter, Registry } from "prom-client";
import type { Span } from "../../../lib/process/traces.js";

process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9";
const { expositionOf, histogram, wantsExemplars } = await import("../../../lib/process/exemplars.js");

const registry = new Registry();
const calls = new Counter({ name: "calls_total", help: "Calls.", registers: [registry] });
const observe = histogram({
  ...{ name: "call_seconds", help: "Durations.", labelNames: ["kind"], buckets: [1, 2], registers: [registry] },
});

const nothing = () => undefined;
const span = (traceId: string, sampled: boolean): Span => ({
  ...{ traceId, traceparent: `00-${traceId}-0000000000000001-01`, sampled },
  ...{ rename: nothing, set: nothing, fail: nothing, end: nothing },
});

/** The samples of an exposition, without their exemplars. */
const samplesOf = (text: string) =>
  text.split("\n").flatMap((line) => (/^(#|$)/.test(line) ? [] : [line.split(" # ")[0]]));

test("a bucket names the trace of its latest value that is kept, in OpenMetrics only", async () => {
  calls.inc();
  observe({ kind: "a" }, 0.5, span("a".repeat(32), true));
  observe({ kind: "a" }, 1.5, span("b".repeat(32), false));
  observe({ kind: "a" }, 9, span("c".repeat(32), true));
  observe({ kind: "a" }, 0.5);
  const before = await expositionOf(registry, false);
  expect(before.type).toMatch(/^text\/plain/);
  expect(before.text).not.toContain("trace_id");
  // both at once, as two scrapers may ask
  const [open, after] = await Promise.all([expositionOf(registry, true), expositionOf(registry, false)]);
  expect(open.type).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
  expect(open.text).toMatch(/^call_seconds_bucket\{le="1",kind="a"\} 2 # \{trace_id="a{32}"\} 0\.5 \d+/m);
  expect(open.text).toMatch(/^call_seconds_bucket\{le="2",kind="a"\} 3$/m);
  expect(open.text).toMatch(/^call_seconds_bucket\{le="\+Inf",kind="a"\} 4 # \{trace_id="c{32}"\} 9 \d+/m);
  expect(open.text.endsWith("# EOF\n")).toBe(true);
  expect(after).toEqual(before);
  expect(samplesOf(open.text)).toEqual(samplesOf(before.text));
  expect(samplesOf(before.text)).toContain("calls_total 1");
});

test("a scraper gets OpenMetrics when it takes that", () => {
  expect(wantsExemplars("application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5")).toBe(true);
  expect(wantsExemplars("text/plain")).toBe(false);
  expect(wantsExemplars(undefined)).toBe(false);
});
