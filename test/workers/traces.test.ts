import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { newVapidKeys } from "../../lib/process/push-keys.js";
import type { Bakery, Character } from "../support/cast.js";
import { startCollector } from "../support/otlp.js";
import type { Service } from "../support/programs.js";
import { startWebPush } from "../support/push/web-push.js";
import { until } from "../support/until.js";

const [collector, web] = [await startCollector(), await startWebPush()];
Object.assign(process.env, newVapidKeys(), {
  ALLOW_PRIVATE_ADDRESSES: "1",
  LOG_SUCCESSES: "0.5",
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20collector",
  // only what a caller wants kept
  OTEL_TRACES_SAMPLER_ARG: "0",
});

// these modules read the configuration
const { logsSuccess } = await import("../../lib/process/log.js");
const { currentSpan, inSpan, startSpan, startTraces, stopTraces, within, withTrace } =
  await import("../../lib/process/traces.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { inBatches } = await import("../../sql/in-batches.js");
const { receivePosEvents } = await import("../../sql/queries/pos-events.js");
const cast = await import("../support/cast.js");
const { prepareService } = await import("../support/programs.js");

let service: Service;
let shop: Bakery;
let item: string;
let anna: Character;

beforeAll(async () => {
  service = await prepareService();
  await Promise.all([service.api.start(), service.workers[0].start()]);
  shop = await cast.bakery(service.client);
  item = await cast.addMenuItem(shop, { price: 60 });
  anna = await cast.user(service.client);
});

afterAll(async () => {
  await service.stop();
  await Promise.all([collector.stop(), web.stop()]);
  await closeDatabase();
  expect(collector.faults).toEqual([]);
});

/** A trace that an app has begun. */
function newTrace(sampled = true) {
  const [traceId, spanId] = [randomBytes(16).toString("hex"), randomBytes(8).toString("hex")];
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-0${sampled ? 1 : 0}` };
}

/** A request id whose success is logged, or is not. */
const newRequestId = (logged: boolean): string => {
  const id = randomUUID();
  return logsSuccess(id) === logged ? id : newRequestId(logged);
};

const order = (headers: Record<string, string>) =>
  anna.client.post(
    "/api/v1/orders",
    { items: [{ menuItemId: item, qty: 1 }], totalAmount: 60, partnerId: shop.id },
    { headers },
  );

const spanOf = (traceId: string, name: string) =>
  until(() => collector.ofTrace(traceId).find((span) => span.name === name));

const linesOf = (msg: string, requestId: string) =>
  [...service.api.lines, ...service.workers[0].lines].filter(
    (line) => line.msg === msg && line["requestId"] === requestId,
  );

test("the metrics name the trace of a request, to scrapers that take OpenMetrics", async () => {
  const { traceId, traceparent } = newTrace();
  expect((await order({ traceparent })).status).toBe(201);
  const scrape = (accept: string) => fetch(`${service.client.url}/metrics`, { headers: { accept } });
  const exemplar = `# {trace_id="${traceId}"}`;
  const line = await until(async () => {
    const text = await (await scrape("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")).text();
    return text.split("\n").find((each) => each.includes(exemplar));
  });
  expect(line).toMatch(/^http_request_duration_seconds_bucket\{.*route="\/api\/v1\/orders".*\} \d+ # \{/);
  const plain = await scrape("text/plain");
  expect(plain.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(await plain.text()).not.toContain("trace_id");
});

test("an order is one trace, from the app's request to the push service's answer", async () => {
  const { body } = await service.client.get("/api/v1/notifications/vapid-public-key");
  const { address, keys } = web.subscribe(String(body["publicKey"]));
  const device = { pushToken: JSON.stringify({ endpoint: address, keys }), platform: "web", locale: "ru-RU" };
  await anna.client.post("/api/v1/notifications/devices", device);
  const quiet = { quietHoursStart: "00:00:00", quietHoursEnd: "00:00:00" };
  await anna.client.put("/api/v1/users/me/notification-preferences", quiet);

  const { traceId, spanId, traceparent } = newTrace();
  const requestId = newRequestId(true);
  expect((await order({ traceparent, "x-request-id": requestId })).status).toBe(201);
  const pushed = await spanOf(traceId, "push service");
  // the event, and a push to each of the two
  await until(() => linesOf("job finished", requestId).length === 3);
  // they end after what they cause
  for (const name of ["POST /api/v1/orders", "job fan-out", "job push"]) await spanOf(traceId, name);

  expect(collector.wayTo(pushed)).toEqual([spanId, "POST /api/v1/orders", "job fan-out", "job push", "push service"]);
  expect(pushed).toMatchObject({
    service: "surplus-food-worker",
    kind: 3,
    attributes: { "server.address": new URL(web.url).host, "http.response.status_code": 201 },
  });
  for (const [way, where] of [
    [[spanId, "POST /api/v1/orders", "placeOrder"], "surplus-food-api"],
    [[spanId, "POST /api/v1/orders", "relay fan-out"], "surplus-food-worker"],
    [[spanId, "POST /api/v1/orders", "job fan-out", "relay push"], "surplus-food-worker"],
    [[spanId, "POST /api/v1/orders", "job fan-out", "insertNotifications"], "surplus-food-worker"],
    [[spanId, "POST /api/v1/orders", "job fan-out", "job push", "claimDeliveries"], "surplus-food-worker"],
  ] as const) {
    const span = await spanOf(traceId, way[way.length - 1] ?? "");
    expect([collector.wayTo(span), span.service]).toEqual([[...way], where]);
  }
  const root = await spanOf(traceId, "POST /api/v1/orders");
  expect(root).toMatchObject({ kind: 2, attributes: { "request.id": requestId, "http.response.status_code": 201 } });

  // names and numbers, nothing of what was sent or stored
  const text = JSON.stringify(collector.ofTrace(traceId));
  for (const value of [anna.phone, shop.id, item, anna.id, new URL(address).pathname, "Багет"])
    expect(text).not.toContain(value);
  for (const msg of ["request", "job finished"])
    for (const line of linesOf(msg, requestId)) expect(line).toMatchObject({ traceId, ms: expect.any(Number) });
});

test("what a caller does not want kept is not, nor what no caller decided, and jobs go by that", async () => {
  const unwanted = newTrace(false);
  await order({ traceparent: unwanted.traceparent });
  const undecided = randomUUID();
  await order({ "x-request-id": undecided, traceparent: "00-nonsense" });
  const wanted = newTrace();
  await order({ traceparent: wanted.traceparent });
  await spanOf(wanted.traceId, "job fan-out");
  expect(collector.ofTrace(unwanted.traceId)).toEqual([]);
  const kept = await sql<{ traceparent: string }[]>`
    select traceparent from staged_jobs
    where queue = 'fan-out' and (traceparent like ${`00-${unwanted.traceId}-%`} or request_id = ${undecided})`;
  expect(kept.map(({ traceparent }) => traceparent.endsWith("-00"))).toEqual([true, true]);
});

test("of successes a share is logged, with their jobs, and every failure", async () => {
  const [silent, logged] = [newRequestId(false), newRequestId(true)];
  await order({ "x-request-id": silent });
  await anna.client.get(`/api/v1/orders/${randomUUID()}`, { headers: { "x-request-id": silent } });
  await order({ "x-request-id": logged });
  await until(() => linesOf("job finished", logged).length > 0);
  await until(
    async () => (await sql`select from staged_jobs where request_id = ${silent} and done_at is null`).count === 0,
  );
  expect(linesOf("job finished", silent)).toEqual([]);
  expect(linesOf("request", silent)).toMatchObject([{ status: 404 }]);
});

test("what a batch does for many is in the trace of the first, with links to the others", async () => {
  await startTraces("test");
  const [one, other] = [newTrace(), newTrace()];
  const double = inBatches((numbers: readonly number[]) =>
    inSpan("double", {}, () => Promise.resolve(numbers.map((number) => number * 2))),
  );
  const ask = async (number: number, parent: string) => {
    const span = startSpan("ask", { parent });
    await within(span, () => double(number));
    span?.end();
    return span?.traceparent.split("-")[2];
  };
  const [first, second] = await Promise.all([ask(1, one.traceparent), ask(2, other.traceparent)]);
  await stopTraces();
  const batch = await spanOf(one.traceId, "batch");
  expect(batch).toMatchObject({ parentSpanId: first, links: [{ traceId: other.traceId, spanId: second }] });
  expect(collector.wayTo(await spanOf(one.traceId, "double"))).toEqual([one.spanId, "ask", "batch", "double"]);
});

test("an event of a POS is applied in the trace of its webhook, with a link to the job", async () => {
  const [one, other] = [newTrace(), newTrace()];
  const events = [one, other].map(({ traceparent }, n) => ({
    provider: "generic",
    partnerId: shop.id,
    account: "account",
    eventId: `event ${n}`,
    change: { kind: "menu.updated" } as const,
    requestId: `webhook-${n} ${traceparent}`,
  }));
  await receivePosEvents(sql, events, "WAIT");
  // the first one has staged it
  const { traceId, spanId } = await spanOf(one.traceId, "job pos-events");
  for (const trace of [one, other])
    expect(await spanOf(trace.traceId, "apply POS event")).toMatchObject({
      parentSpanId: trace.spanId,
      links: [{ traceId, spanId }],
    });
  const stored = await sql`
    select request_id, traceparent from pos_events where partner_id = ${shop.id}::uuid order by id`;
  expect(stored).toEqual([one, other].map(({ traceparent }, n) => ({ requestId: `webhook-${n}`, traceparent })));
  const [staged] = await sql`select request_id, traceparent from staged_jobs where queue = 'pos-events' order by id`;
  expect(staged).toEqual({ requestId: "webhook-0", traceparent: one.traceparent });
});

test("nothing is traced before it is started", async () => {
  expect(startSpan("work")).toBeUndefined();
  expect(
    await inSpan("work", { parent: newTrace().traceparent }, (span) => Promise.resolve([span, currentSpan()])),
  ).toEqual([undefined, undefined]);
  expect(withTrace("request")).toBe("request");
});
