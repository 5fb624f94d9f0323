import { Counter } from "prom-client";
import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import type { Logger } from "../../../lib/process/log.js";
import { MalformedWebhook, type PosAdapter, type PosEvent, type WebhookCall } from "../../../lib/pos/adapter.js";
import { findAdapter } from "../../../lib/pos/index.js";
import { batches, inTurn, sql } from "../../../sql/db.js";
import { inBatches } from "../../../sql/in-batches.js";
import { receivePosEvents, type ReceivedEvent } from "../../../sql/queries/pos-events.js";
import { ok, section } from "../../http/endpoint.js";
import { refusal } from "../../http/refusal.js";
import { bodyTooLarge, invalidFields, notFound, requestTooSlow } from "../../http/refusals.js";
import { registry } from "../../http/registry.js";
import { findWebhookAccount, type WebhookAccount } from "./secrets.js";
import { callerKey, isSmall, limitLargeBodies } from "../../http/limits.js";
import { readRawBody } from "../../http/raw-body.js";

const MAX_BYTES = 1_048_576;

const received = new Counter({
  name: "pos_webhook_events_total",
  help: "Events of verified webhooks: stored (kept), delivered again (repeated), of an account without a partner (unknown_account), or of an unused type (ignored).",
  labelNames: ["provider", "outcome"],
  registers: [registry],
});

const signatureInvalid = refusal(
  401,
  "UNAUTHORIZED",
  "SIGNATURE_INVALID",
  "The signature is missing, wrong or too old.",
  "Check the shared secret, and the clock; the signature is made of the bytes of the body.",
);

function readEvents({ name, webhook }: PosAdapter, call: WebhookCall, log: Logger): readonly PosEvent[] {
  try {
    return webhook.read(call);
  } catch (error) {
    if (!(error instanceof MalformedWebhook)) throw error;
    log.warn(
      { provider: name, fields: error.errors.slice(0, 20).map(({ path }) => path) },
      "a POS sent an undocumented payload",
    );
    throw invalidFields("BAD_REQUEST", error.errors);
  }
}

/** Verifies a webhook and reads its events. The signature must be valid for the account of each event. */
async function verifiedEvents(adapter: PosAdapter, call: WebhookCall, log: Logger) {
  const { webhook } = adapter;
  const now = new Date();
  const verified = new Map<string | null, WebhookAccount>();
  const verify = async (account: string | null) => {
    if (verified.has(account)) return;
    const known = await findWebhookAccount(adapter, account);
    if (!webhook.verify(call, known.secrets, now)) throw signatureInvalid();
    verified.set(account, known);
  };
  await verify(webhook.account(call));
  const events = readEvents(adapter, call, log);
  for (const { account } of events) await verify(account);
  return events.map((event) => ({ ...event, partnerId: verified.get(event.account)?.partnerId ?? null }));
}

/** The most webhooks whose events are stored by one statement. */
const MOST_AT_ONCE = 100;

/**
 * Stores the events of one partner, in one statement with those of other partners that come at the same time; returns the number
 * of new ones. Null when the partner's inbox is locked or does not exist yet: the events of others do not wait for that.
 */
const storeWithOthers = inBatches(
  async (webhooks: readonly (readonly ReceivedEvent[])[]) => {
    const stored = await receivePosEvents(batches, webhooks.flat(), "SKIP");
    const added = new Map(stored.map((each) => [each.partnerId, each.added]));
    return webhooks.map(([event]) => (event && added.get(event.partnerId)) ?? null);
  },
  { most: MOST_AT_ONCE },
);

/** Stores events, when their partners' inboxes are free; returns the number of new ones. */
async function storeAlone(events: readonly ReceivedEvent[]): Promise<number> {
  const stored = await receivePosEvents(sql, events, "WAIT");
  return stored.reduce((sum, { added }) => sum + added, 0);
}

/** Stores the events of a webhook that the partners of their accounts get. */
async function keep(
  { name: provider }: PosAdapter,
  events: Awaited<ReturnType<typeof verifiedEvents>>,
  { requestId, log, small }: { requestId: string; log: Logger; small: boolean },
): Promise<void> {
  const count = (outcome: string, added: number) => received.inc({ provider, outcome }, added);
  const kept: ReceivedEvent[] = [];
  for (const { id, account, partnerId, change } of events) {
    if (partnerId === null) {
      // an error would only make the provider deliver it again
      log.warn({ provider, account }, "a POS sent an event of an account without a partner");
      count("unknown_account", 1);
    } else if (change === null) {
      count("ignored", 1);
    } else {
      kept.push({ provider, partnerId, account, eventId: id, change, requestId });
    }
  }
  const [first] = kept;
  if (!first) return;
  const goesWithOthers = small && kept.every(({ partnerId }) => partnerId === first.partnerId);
  // what comes for one partner at once waits for the same row
  const added = await inTurn(
    `inbox ${first.partnerId}`,
    async () => (goesWithOthers ? await storeWithOthers(kept) : null) ?? storeAlone(kept),
  );
  count("kept", added);
  count("repeated", kept.length - added);
}

/** The signature of the generic provider (Standard Webhooks); the others have headers of their own. */
const SignatureHeaders = z.object({
  "webhook-id": z.string().optional().meta({ description: "of provider `generic`", example: "msg_1" }),
  "webhook-timestamp": z.string().optional().meta({ description: "of provider `generic`", example: "1772366400" }),
  "webhook-signature": z.string().optional().meta({
    description: "of provider `generic`: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in Base64",
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  }),
});

export const posWebhooks = section({ prefix: "/pos/webhooks", tag: "POS", invalid: "BAD_REQUEST" });

posWebhooks.post(
  "/:provider",
  {
    name: "receivePosWebhook",
    summary: "Receive a POS webhook",
    description:
      "For providers, in their own format and with their own signature: with the partner's `webhookSecret` if the credentials " +
      "have one, else with the deployment's. The response is sent as soon as the events are stored. Each event is applied " +
      "once, however often it is delivered, in the order in which the partner's events were received. At most 1 MB.",
    auth: "ANYONE",
    limit: { name: "pos webhooks", perMinute: config.RATE_LIMIT_WEBHOOKS },
    // the caller is a provider, for many partners; it is refused only when its turn does not come
    waits: true,
    params: z.object({
      provider: z.string().max(64).meta({ description: "one of `GET /pos/adapters`", example: "generic" }),
    }),
    headers: SignatureHeaders,
    rawBody: z.unknown().meta({
      description: "one event or several, in the provider's own format; the signature is made of these bytes",
      example: { type: "menu.updated", externalId: "evt-1", partnerExternalId: "shop-1" },
    }),
    answers: { 200: z.object({ received: z.boolean() }) },
    errors: [signatureInvalid, bodyTooLarge, requestTooSlow],
  },
  async ({ params: { provider }, incoming, ip, requestId, log }) => {
    const adapter = findAdapter(provider);
    if (!adapter) throw notFound("This provider");
    const small = isSmall(incoming);
    const receive = async () => {
      const call = { headers: incoming.headers, body: await readRawBody(incoming, MAX_BYTES) };
      await keep(adapter, await verifiedEvents(adapter, call, log), { requestId, log, small });
      return ok({ received: true });
    };
    // anyone may have sent it
    return small ? receive() : limitLargeBodies(callerKey({ ip }, null), receive);
  },
);
