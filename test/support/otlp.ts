import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { z } from "zod";

const Place = z.object({ traceId: z.string().regex(/^[0-9a-f]{32}$/), spanId: z.string().regex(/^[0-9a-f]{16}$/) });
const Value = z.object({
  stringValue: z.string().optional(),
  intValue: z.number().optional(),
  boolValue: z.boolean().optional(),
  doubleValue: z.number().optional(),
});
const Attributes = z
  .array(z.object({ key: z.string(), value: Value }))
  .default([])
  .transform((entries) => Object.fromEntries(entries.map(({ key, value }) => [key, Object.values(value)[0]])));
const Span = Place.extend({
  parentSpanId: z.string().default(""),
  name: z.string(),
  kind: z.int(),
  startTimeUnixNano: z.string(),
  endTimeUnixNano: z.string(),
  attributes: Attributes,
  links: z.array(Place).default([]),
  status: z.object({ code: z.int().default(0), message: z.string().optional() }),
});
const Export = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(z.object({ spans: z.array(Span) })),
    }),
  ),
});

export interface ReceivedSpan extends z.output<typeof Span> {
  service: unknown;
}

/** A collector of traces that takes OTLP in JSON. */
export async function startCollector() {
  const spans: ReceivedSpan[] = [];
  const faults: unknown[] = [];
  const server = createServer((request, response) => {
    const receive = async () => {
      if (request.url !== "/v1/traces" || request.headers.authorization !== "Bearer collector")
        throw new Error(`${request.url ?? ""} is not for a collector`);
      for (const { resource, scopeSpans } of Export.parse(await json(request)).resourceSpans)
        for (const span of scopeSpans.flatMap((scope) => scope.spans))
          spans.push({ ...span, service: resource.attributes["service.name"] });
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    };
    receive().catch((error: unknown) => {
      faults.push(error);
      response.writeHead(400).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const ofTrace = (traceId: string) => spans.filter((span) => span.traceId === traceId);
  return {
    url: `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : ""}`,
    /** What it could not take. */
    faults,
    ofTrace,
    /** The names of a span's ancestors, the first one's parent in front, and its own. */
    wayTo: (span: ReceivedSpan): string[] => {
      const way: string[] = [];
      let next: ReceivedSpan | undefined = span;
      for (let top = ""; next; next = ofTrace(span.traceId).find(({ spanId }) => spanId === top)) {
        top = next.parentSpanId;
        way.unshift(next.name);
        if (!ofTrace(span.traceId).some(({ spanId }) => spanId === top)) way.unshift(top);
      }
      return way;
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
