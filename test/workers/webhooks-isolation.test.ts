import { afterAll, expect, test } from "@jest/globals";
import { startSilentServers } from "../support/silent-servers.js";
import { until } from "../support/until.js";
import { startWebhookReceiver } from "../support/webhook-receiver.js";

// receivers of this test are on this machine
process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const { newWebhookSecret, webhookCaller } = await import("../../lib/outbound/webhook.js");
const { encryptEnvelope } = await import("../../lib/security/envelope.js");
const { webhooks } = await import("../../queues/index.js");
const { sql } = await import("../../sql/db.js");
const { numberEvents } = await import("../../sql/queries/events.js");
const { insertWebhookEndpoint, newWebhookEndpointId, webhookSecretContext } =
  await import("../../sql/queries/webhooks.js");
const { webhookSender } = await import("../../workers/webhooks.js");
const { disconnect, startQueueWorker } = await import("../support/queue-worker.js");

const HANGING = 50;
const ANSWERING = 30;
const EVENTS = 3;

afterAll(disconnect);

/** Inserts an endpoint of a new partner at each address; returns the partners' ids. */
async function newEndpoints(urls: readonly string[], secret: string): Promise<string[]> {
  const partners = await sql<{ id: string }[]>`
    with city as (
      insert into cities (id, name, timezone) values (gen_random_uuid()::text, 'Omsk', 'Asia/Omsk') returning id
    )
    insert into partners (slug, name, city_id, address, latitude, longitude, status)
    select gen_random_uuid()::text, 'Bakery', city.id, '-', 0, 0, 'ACTIVE'
    from city, generate_series(1, ${urls.length}::integer)
    returning id`;
  const ids = partners.map(({ id }) => id);
  for (const [n, partnerId] of ids.entries()) {
    const id = await newWebhookEndpointId(sql);
    const envelope = encryptEnvelope(secret, webhookSecretContext(id));
    await insertWebhookEndpoint(sql, {
      id,
      partnerId,
      apiKeyId: null,
      url: urls[n]!,
      description: null,
      types: null,
      secret: envelope,
    });
  }
  return ids;
}

/** Inserts and numbers events of each of these partners. */
async function happen(partnerIds: readonly string[]): Promise<void> {
  await sql`
    select record_event('box.back', partner, jsonb_build_object('n', n))
    from generate_series(1, ${EVENTS}::integer) as n, unnest(${[...partnerIds]}::uuid[]) as partner
    order by n`;
  await numberEvents(sql, 1_000);
}

test("50 endpoints that never answer hold up no other, not even those that were never called before", async () => {
  const secret = newWebhookSecret();
  const silent = await startSilentServers(HANGING);
  const receivers = await Promise.all(Array.from({ length: ANSWERING }, () => startWebhookReceiver(secret)));
  const hanging = await newEndpoints(
    silent.urls.map((url) => `${url}/events`),
    secret,
  );
  const answering = await newEndpoints(
    receivers.map(({ url }) => url),
    secret,
  );
  // no call ends by itself, so a wait for one of them never ends
  const sender = webhookSender(webhookCaller({ timeoutMs: 3_600_000 }));
  const worker = startQueueWorker(webhooks, sender, webhooks.concurrency);

  await happen(hanging);
  await until(() => silent.open() === HANGING);
  await happen(answering);
  await until(() => receivers.every(({ received }) => received.length === EVENTS));
  for (const { received } of receivers) expect(received.map(({ data }) => data["n"])).toEqual([1, 2, 3]);
  // one call of each at a time
  expect([silent.open(), silent.most()]).toEqual([HANGING, HANGING]);

  // the open calls end with their servers
  await silent.stop();
  await worker.stop();
  await Promise.all(receivers.map((receiver) => receiver.stop()));
});
