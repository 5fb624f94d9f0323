import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { json } from "node:stream/consumers";
import { z } from "zod";
import { newWebhookSecret } from "../../../lib/outbound/webhook.js";
import { encryptEnvelope } from "../../../lib/security/envelope.js";
import { prepareBroker } from "../../../queues/broker.js";
import { webhooks } from "../../../queues/index.js";
import { jobsDue, sql } from "../../../sql/db.js";
import { numberEvents } from "../../../sql/queries/events.js";
import { insertWebhookEndpoint, newWebhookEndpointId, webhookSecretContext } from "../../../sql/queries/webhooks.js";
import { signalLeader } from "../../../sql/signals.js";
import { consume } from "../../../workers/consume.js";
import { startNumbering } from "../../../workers/number-events.js";
import { startRelay } from "../../../workers/relay.js";
import { sendWebhooks } from "../../../workers/webhooks.js";
import { WebhooksPlan } from "../messages.js";
import { answerParent } from "./answer.js";

// Sends events to webhook endpoints, each at an origin of its own, while some of them never answer.

/** Receivers that do not answer hold their events for hours: only those of others are waited for. */
const LONGEST_WAIT_MS = 120_000;

const Received = z.object({ data: z.object({ n: z.int() }) });

await prepareBroker();
const { concurrency } = webhooks;
await consume(webhooks, sendWebhooks, { concurrency, signal: new AbortController().signal }).worker;
startRelay([webhooks]);
// events of the chapters before, which nothing has numbered, would be numbered first
while ((await numberEvents(sql, 1_000)) > 0);
startNumbering();

const arrived = new Map<number, number>();

const answering = () =>
  createHttpServer((request, response) => {
    void json(request).then((body) => {
      const { n } = Received.parse(body).data;
      // one that comes again has arrived before
      if (!arrived.has(n)) arrived.set(n, performance.now());
      response.writeHead(204).end();
    });
  });
const silent = () => createServer((socket) => void socket.on("error", () => undefined).resume());

/** Starts a receiver at an origin of its own; returns its address. */
async function startReceiver(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a receiver does not listen");
  return `http://127.0.0.1:${address.port}/events`;
}

/** Inserts an endpoint of a new partner; returns the partner's id. */
async function insertEndpoint(url: string): Promise<string> {
  const [partner] = await sql<{ id: string }[]>`
    insert into partners (slug, name, city_id, address, latitude, longitude, status)
    select gen_random_uuid()::text, 'Bakery', id, '-', 0, 0, 'ACTIVE' from cities limit 1
    returning id`;
  if (!partner) throw new Error("there is no city");
  const id = await newWebhookEndpointId(sql);
  const secret = encryptEnvelope(newWebhookSecret(), webhookSecretContext(id));
  await insertWebhookEndpoint(sql, {
    id,
    partnerId: partner.id,
    apiKeyId: null,
    url,
    description: null,
    types: null,
    secret,
  });
  return partner.id;
}

answerParent(WebhooksPlan, async ({ endpoints, hanging, perSecond, seconds }) => {
  const partners: { id: string; answers: boolean }[] = [];
  for (let n = 0; n < endpoints; n += 1) {
    // spread among the others
    const answers = (n * hanging) % endpoints >= hanging;
    const url = await startReceiver(answers ? answering() : silent());
    partners.push({ id: await insertEndpoint(url), answers });
  }
  await sql`analyze partners, webhook_endpoints`;
  // all that never answer hang from the beginning
  const silentIds = partners.flatMap(({ id, answers }) => (answers ? [] : id));
  await sql`
    select from unnest(${silentIds}::uuid[]) as partner cross join lateral record_event('box.back', partner, '{"n": -1}')`;

  const committed = new Map<number, number>();
  const began = performance.now();
  for (let n = 0; n < perSecond * seconds; n += 1) {
    const partner = partners[(n * 7) % endpoints];
    if (!partner) throw new Error("there are no endpoints");
    await delay(began + (n * 1_000) / perSecond - performance.now());
    if (partner.answers) committed.set(n, performance.now());
    await sql`select from record_event('box.back', ${partner.id}::uuid, jsonb_build_object('n', ${n}::integer))`;
    await signalLeader(sql, jobsDue);
  }
  const end = performance.now() + LONGEST_WAIT_MS;
  while ([...committed.keys()].some((n) => !arrived.has(n)) && performance.now() < end) await delay(100);
  return {
    latencies: [...committed].map(([n, at]) => {
      const arrival = arrived.get(n);
      return arrival === undefined ? null : arrival - at;
    }),
  };
});
