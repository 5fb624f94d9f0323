import { AsyncLocalStorage } from "node:async_hooks";
import { config } from "./config.js";
import { addToLines } from "./log.js";
import type { Span, SpanOptions, Traceparent, Tracer } from "./span.js";
import { withTimeout } from "./with-timeout.js";

export type { Span };

const STOP_LIMIT_MS = 2_000;

let tracer: Tracer | undefined;
const current = new AsyncLocalStorage<Span | undefined>();

/** Traces from now on, if a collector is configured. What that takes is loaded only then. */
export async function startTraces(service: string): Promise<void> {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return;
  const { openTracer } = await import("./otlp.js");
  tracer = openTracer(service, config.OTEL_EXPORTER_OTLP_ENDPOINT);
  addToLines(() => {
    const span = currentSpan();
    return span ? { traceId: span.traceId } : {};
  });
}

/** Sends the last spans, if the collector takes them soon: the process is about to end. */
export async function stopTraces(): Promise<void> {
  const stopped = tracer?.stop();
  tracer = undefined;
  if (stopped) await withTimeout(STOP_LIMIT_MS, stopped).catch(() => undefined);
}

/** The span that the running code is a part of. */
export const currentSpan = (): Span | undefined => (tracer ? current.getStore() : undefined);

/** Returns an id, and behind a blank what the current span is to those that it causes: a staged job keeps both. */
export function withTrace(requestId: string, span = currentSpan()): string {
  return span ? `${requestId} ${span.traceparent}` : requestId;
}

/** The trace behind the id of a request (`withTrace`). */
export const traceOf = (cause: string | null): Traceparent | null => cause?.split(" ")[1] ?? null;

/** Begins a span; undefined when nothing is traced. */
export function startSpan(name: string, options: SpanOptions = {}): Span | undefined {
  if (!tracer) return undefined;
  const { parent = current.getStore()?.traceparent ?? null } = options;
  return tracer.start(name, { ...options, parent });
}

/** Runs work as a part of a span. */
export const within = <T>(span: Span | undefined, work: () => T): T => (tracer ? current.run(span, work) : work());

const reasonOf = (error: unknown): string => (error instanceof Error ? error.name : "unknown");

async function record<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await current.run(span, () => work(span));
  } catch (error) {
    span.fail(reasonOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Runs work in a span of its own. Without a parent that is kept, none is made: only requests and jobs begin traces. */
export function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  const span = options.parent === undefined && !current.getStore()?.sampled ? undefined : startSpan(name, options);
  return span ? record(span, work) : work(undefined);
}

/** Runs work that several have asked for: as a part of the first one's trace, with links to the others. */
export function inSharedSpan<T>(
  name: string,
  spans: readonly (Span | undefined)[],
  work: () => Promise<T>,
): Promise<T> {
  if (!tracer) return work();
  const [first, ...others] = new Set(spans.filter((span) => span?.sampled));
  if (!first || others.length === 0) return current.run(first, work);
  const links = others.flatMap((other) => other?.traceparent ?? []);
  return inSpan(name, { parent: first.traceparent, links, attributes: { "batch.size": spans.length } }, work);
}

/** Runs work that is a part of several traces: each gets its span. */
export async function inEachTrace<T>(
  name: string,
  options: SpanOptions,
  parents: readonly (Traceparent | null)[],
  work: () => Promise<T>,
): Promise<T> {
  if (!tracer) return work();
  const spans = parents.flatMap((parent) => (parent === null ? [] : (startSpan(name, { ...options, parent }) ?? [])));
  try {
    return await current.run(undefined, work);
  } catch (error) {
    for (const span of spans) span.fail(reasonOf(error));
    throw error;
  } finally {
    for (const span of spans) span.end();
  }
}
