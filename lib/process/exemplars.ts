import { Histogram, Registry, type HistogramConfiguration, type OpenMetricsContentType } from "prom-client";
import { config } from "./config.js";
import { currentSpan, type Span } from "./traces.js";

/** Histograms have exemplars, which name a trace per bucket, only when tracing is on. */
const areOn = config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined;

interface Terms extends HistogramConfiguration<string> {
  registers: Registry[];
}

/** Observes a value, with the current trace as its exemplar if that is sampled. */
export type Observe = (labels: Readonly<Record<string, string | number>>, value: number, span?: Span) => void;

function openRegistry(): Registry<OpenMetricsContentType> {
  const open = new Registry<OpenMetricsContentType>();
  open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return open;
}

/** Declares a histogram. Each bucket has the trace of its latest sampled value as exemplar. */
export function histogram({ registers, ...terms }: Terms): Observe {
  if (!areOn) {
    const plain = new Histogram({ ...terms, registers });
    return (labels, value) => plain.observe(labels, value);
  }
  // prom-client refuses exemplars in a registry of the text format
  const traced = new Histogram({ ...terms, registers: [openRegistry()], enableExemplars: true });
  for (const registry of registers) registry.registerMetric(traced);
  return (labels, value, span = currentSpan()) =>
    traced.observe({ labels, value, exemplarLabels: span?.sampled ? { trace_id: span.traceId } : {} });
}

export interface Exposition {
  readonly type: string;
  readonly text: string;
}

let turn: Promise<unknown> = Promise.resolve();

/** Serialises scrapes: prom-client removes the suffix from counters' names while it writes OpenMetrics. */
function inTurn<T>(read: () => Promise<T>): Promise<T> {
  const reading = turn.then(read);
  turn = reading.catch(() => undefined);
  return reading;
}

async function openMetricsOf(registry: Registry): Promise<Exposition> {
  const metrics = registry.getMetricsAsArray().map((metric) => ({ metric, name: metric.name }));
  const open = openRegistry();
  for (const { name } of metrics) {
    const metric = registry.getSingleMetric(name);
    if (metric) open.registerMetric(metric);
  }
  try {
    return { type: open.contentType, text: await open.metrics() };
  } finally {
    // a failure would leave counters without their suffix
    for (const { metric, name } of metrics) metric.name = name;
  }
}

/** Whether a scraper accepts OpenMetrics and tracing is on. */
export const wantsExemplars = (accept: string | undefined): boolean =>
  areOn && (accept ?? "").includes("application/openmetrics-text");

/** Returns the metrics of this process, in the text format of Prometheus, or in OpenMetrics with exemplars. */
export function expositionOf(registry: Registry, exemplars: boolean): Promise<Exposition> {
  if (exemplars) return inTurn(() => openMetricsOf(registry));
  const plain = async () => ({ type: registry.contentType, text: await registry.metrics() });
  return areOn ? inTurn(plain) : plain();
}
