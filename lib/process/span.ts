/** What others may need of a span, wherever they run: W3C's `traceparent`. */
export type Traceparent = string;

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  readonly kind?: "server" | "client" | "producer" | "consumer";
  /** What it is a part of, where that is not the current span; null begins a trace. */
  readonly parent?: Traceparent | null;
  /** What else caused it. */
  readonly links?: readonly Traceparent[];
  /** Names and numbers, no personal data and no secret. */
  readonly attributes?: Attributes;
}

/** A piece of work in a trace. */
export interface Span {
  readonly traceId: string;
  readonly traceparent: Traceparent;
  /** Whether it is kept; the spans of its parts are not made otherwise. */
  readonly sampled: boolean;
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** Says why it failed, in words without values. */
  fail(reason: string): void;
  end(): void;
}

/** Makes spans and sends them to a collector. */
export interface Tracer {
  start(name: string, options: SpanOptions): Span;
  /** Sends what has ended, and no more. */
  stop(): Promise<void>;
}
