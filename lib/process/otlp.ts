import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type SpanContext,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { config } from "./config.js";
import { log } from "./log.js";
import type { SpanOptions, Traceparent, Tracer } from "./span.js";
import { version } from "./version.js";

/** Spans that wait to be sent; further ones are dropped, so that a collector that is down costs nothing but them. */
const MOST_WAITING = 8_192;
const SEND_EVERY_MS = 1_000;
/** A collector that refuses spans refuses all: it is logged once in a minute. */
const QUIET_MS = 60_000;
const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};

/** Reads W3C's text; undefined when it is none. Later versions of it begin with the same fields. */
function contextOf(traceparent: Traceparent | null | undefined): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] =
    /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/.exec(traceparent ?? "") ??
    [];
  if (traceId === "") return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}

const traceparentOf = ({ traceId, spanId, traceFlags }: SpanContext): Traceparent =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;

/** Opens a tracer that sends spans to a collector, in OTLP over HTTP. */
export function openTracer(service: string, endpoint: string): Tracer {
  let quietUntil = 0;
  // its messages may quote what the collector answers
  diag.setLogger(
    {
      error: () => {
        if (performance.now() < quietUntil) return;
        quietUntil = performance.now() + QUIET_MS;
        log.warn("spans could not be sent to OTEL_EXPORTER_OTLP_ENDPOINT and are lost");
      },
      warn: () => undefined,
      info: () => undefined,
      debug: () => undefined,
      verbose: () => undefined,
    },
    { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true },
  );
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, "")}/v1/traces`,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": service, "service.version": version }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(config.OTEL_TRACES_SAMPLER_ARG) }),
    spanProcessors: [
      new BatchSpanProcessor({ exporter, maxQueueSize: MOST_WAITING, scheduledDelayMillis: SEND_EVERY_MS }),
    ],
  });
  const tracer = provider.getTracer("surplus-food", version);

  return {
    start(name, { kind, parent, links = [], attributes = {} }: SpanOptions) {
      const context = contextOf(parent);
      const span = tracer.startSpan(
        name,
        {
          kind: kind === undefined ? SpanKind.INTERNAL : kinds[kind],
          attributes,
          links: links.flatMap((link) => {
            const linked = contextOf(link);
            return linked ? [{ context: linked }] : [];
          }),
        },
        context ? trace.setSpanContext(ROOT_CONTEXT, context) : ROOT_CONTEXT,
      );
      const own = span.spanContext();
      return {
        traceId: own.traceId,
        traceparent: traceparentOf(own),
        // not once it has ended: a loop or a timer that it began is no part of it
        get sampled() {
          return span.isRecording();
        },
        rename: (newName) => void span.updateName(newName),
        set: (more) => void span.setAttributes(more),
        fail: (message) => void span.setStatus({ code: SpanStatusCode.ERROR, message }),
        end: () => span.end(),
      };
    },
    stop: () => provider.shutdown(),
  };
}
