import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Reply } from "../../../support/api.js";
import type { Bakery, Character } from "../../../support/cast.js";
import { newSecret, signed, startTill, type Till, type TillEvent } from "../../../support/till.js";

const [secret, formerSecret] = [newSecret(), newSecret()];
process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
process.env["CORS_ORIGINS"] = "*";
process.env["RATE_LIMIT_ADDRESS"] = "50";
process.env["RATE_LIMIT_WEBHOOKS"] = "500";
process.env["POS_WEBHOOK_SECRETS"] = JSON.stringify({ generic: [secret, formerSecret] });

const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { countBlocked, lockRows } = await import("../../../support/locks.js");
const { until } = await import("../../../support/until.js");
const { readMetrics } = await import("../../../../api/ops/metrics.js");
const { closeBroker } = await import("../../../../queues/broker.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { closeSignals } = await import("../../../../sql/signals.js");

let api: Awaited<ReturnType<typeof startApi>>;
let till: Till;
let admin: Character;
let bakery: Bakery;
let account: string;

beforeAll(async () => {
  api = await startApi();
  till = await startTill();
  admin = await cast.admin(api.client);
});

afterAll(async () => {
  await api.stop();
  await till.stop();
  // the metrics have opened it
  await closeBroker();
  await closeSignals();
  await closeDatabase();
});

beforeEach(async () => {
  bakery = await cast.bakery(api.client);
  account = await connect(bakery);
});

/** Connects a bakery to a new account; returns the account. */
async function connect({ id }: Bakery, fields: Record<string, unknown> = {}): Promise<string> {
  const accountId = `account-${randomUUID()}`;
  const { status } = await admin.client.put("/api/v1/pos/credentials", {
    partnerId: id,
    adapterName: "generic",
    credentialsJson: till.credentials(accountId, fields),
  });
  expect(status).toBe(200);
  return accountId;
}

const newEvent = (fields: Partial<TillEvent> = {}): TillEvent => ({
  type: "menu.updated",
  externalId: randomUUID(),
  partnerExternalId: account,
  data: {},
  ...fields,
});

const deliver = (body: string | Uint8Array, headers: Record<string, string>, provider = "generic") =>
  api.client.send("post", `/api/v1/pos/webhooks/${provider}`, body, { headers });

function send(event: TillEvent, by = secret, at = new Date()): Promise<Reply> {
  const { body, headers } = signed(event, by, at);
  return deliver(body, headers);
}

const stored = (partnerId: string) =>
  sql<{ eventId: string; kind: string }[]>`
    select event_id as "eventId", change ->> 'kind' as kind from pos_events where partner_id = ${partnerId}::uuid order by id`;

const jobs = async (partnerId: string) =>
  (
    await sql`
      select from staged_jobs where queue = 'pos-events' and payload ->> 'partnerId' = ${partnerId} and done_at is null`
  ).count;

describe("an event", () => {
  test("is stored with one job for its inbox, and acknowledged", async () => {
    const event = newEvent();
    const reply = await send(event);
    expect([reply.status, reply.body]).toEqual([200, { received: true }]);
    expect(await stored(bakery.id)).toMatchObject([
      { eventId: `menu.updated:${event.externalId}`, kind: "menu.updated" },
    ]);
    expect(await jobs(bakery.id)).toBe(1);
    const [job] = await sql<{ payload: unknown; requestId: string }[]>`
      select payload, request_id as "requestId" from staged_jobs
      where queue = 'pos-events' and payload ->> 'partnerId' = ${bakery.id}`;
    expect(job).toEqual({
      payload: { partnerId: bakery.id },
      requestId: reply.headers.get("x-request-id"),
    });
  });

  test("is stored once, however often and concurrently it is delivered", async () => {
    const event = newEvent();
    const replies = await Promise.all(Array.from({ length: 20 }, () => send(event)));
    expect(replies.map(outcome)).toEqual(replies.map(() => "200"));
    expect(await stored(bakery.id)).toHaveLength(1);
    expect(await jobs(bakery.id)).toBe(1);
  });

  test("is distinct from another account's event with the same id", async () => {
    const other = await cast.bakery(api.client);
    const event = newEvent();
    await send(event);
    await send({ ...event, partnerExternalId: await connect(other) });
    expect([await stored(bakery.id), await stored(other.id)]).toMatchObject([[{}], [{}]]);
  });

  test("is distinct from one with the same id of the account that its partner had before", async () => {
    const event = newEvent();
    await send(event);
    const next = { ...event, partnerExternalId: await connect(bakery) };
    for (let n = 0; n < 2; n += 1) expect(outcome(await send(next))).toBe("200");
    expect(await stored(bakery.id)).toHaveLength(2);
  });

  test("is distinct from an event of another type with the same id, such as an order's status", async () => {
    const created = newEvent({
      type: "order.created",
      data: { items: [{ externalId: "roll", qty: 1 }], totalAmount: 60 },
    });
    const orderExternalId = created.externalId;
    const status = { ...created, type: "order.status", data: { orderExternalId, status: "READY" } };
    for (const event of [created, status, created, status]) expect(outcome(await send(event))).toBe("200");
    expect(await stored(bakery.id)).toEqual([
      { eventId: `order.created:${orderExternalId}`, kind: "order.created" },
      { eventId: `order.status:${orderExternalId}`, kind: "order.status" },
    ]);
  });

  test("cannot take the id of an event of another type", async () => {
    const data = { items: [{ externalId: "roll", qty: 1 }], totalAmount: 60 };
    const status = newEvent({ type: "order.status", data: { orderExternalId: "1", status: "READY" } });
    const posing = newEvent({ type: "order.created", externalId: `order.status:${status.externalId}`, data });
    for (const event of [posing, status]) expect(outcome(await send(event))).toBe("200");
    expect((await stored(bakery.id)).map(({ kind }) => kind)).toEqual(["order.created", "order.status"]);
  });

  test("of a burst shares one job with the others", async () => {
    await Promise.all(Array.from({ length: 30 }, () => send(newEvent())));
    expect(await stored(bakery.id)).toHaveLength(30);
    expect(await jobs(bakery.id)).toBe(1);
  });

  test("waits for no other partner's inbox", async () => {
    const others = await Promise.all(Array.from({ length: 3 }, async () => connect(await cast.bakery(api.client))));
    await send(newEvent());
    const unlock = await lockRows(
      (tx) => tx`select from pos_inboxes where partner_id = ${bakery.id}::uuid for no key update`,
    );
    const late = send(newEvent());
    await until(async () => (await countBlocked()) === 1);
    // the first of each creates the inbox
    for (let n = 0; n < 2; n += 1) {
      const replies = others.map((partnerExternalId) => send(newEvent({ partnerExternalId })));
      expect((await Promise.all(replies)).map(outcome)).toEqual(["200", "200", "200"]);
    }
    expect(await stored(bakery.id)).toHaveLength(1);
    await unlock();
    expect(outcome(await late)).toBe("200");
    expect(await stored(bakery.id)).toHaveLength(2);
  });

  test("that cannot be stored fails alone", async () => {
    const accounts = await Promise.all(Array.from({ length: 8 }, async () => connect(await cast.bakery(api.client))));
    const sendAll = () => Promise.all(accounts.map((partnerExternalId) => send(newEvent({ partnerExternalId }))));
    await sendAll();
    await sql`
      create function refuse_event() returns trigger language plpgsql as $$
      begin
        raise exception 'the event is refused';
      end
      $$`;
    await sql`
      create trigger refuse_event before insert on pos_events
      for each row when (new.event_id like '%:broken') execute function refuse_event()`;
    try {
      const broken = Promise.all([1, 2].map(() => send(newEvent({ externalId: "broken" }))));
      expect((await sendAll()).map(outcome)).toEqual(accounts.map(() => "200"));
      expect((await broken).map(({ status }) => status)).toEqual([500, 500]);
    } finally {
      await sql`drop trigger refuse_event on pos_events`;
    }
    expect(await stored(bakery.id)).toEqual([]);
  });

  test("gets a new job when the previous one is dead", async () => {
    await send(newEvent());
    await sql`update staged_jobs set dead_at = now() where queue = 'pos-events' and payload ->> 'partnerId' = ${bakery.id}`;
    await send(newEvent());
    const alive = await sql`
      select from staged_jobs where queue = 'pos-events' and dead_at is null and payload ->> 'partnerId' = ${bakery.id}`;
    expect(alive.count).toBe(1);
  });

  test("of an unsupported type is acknowledged and not stored", async () => {
    expect(outcome(await send(newEvent({ type: "printer.out-of-paper" })))).toBe("200");
    expect(await stored(bakery.id)).toEqual([]);
  });

  test("of an unknown account is acknowledged and counted, but not stored", async () => {
    const counted = async () =>
      Number(
        /pos_webhook_events_total\{provider="generic",outcome="unknown_account"\} (\d+)/.exec(
          (await readMetrics(false)).text,
        )?.[1] ?? 0,
      );
    const before = await counted();
    const event = newEvent({ partnerExternalId: `unknown-${randomUUID()}` });
    expect(outcome(await send(event))).toBe("200");
    expect(await counted()).toBe(before + 1);
    expect((await sql`select from pos_events where event_id like ${`%${event.externalId}`}`).count).toBe(0);
  });
});

describe("a signature", () => {
  test("by any of the deployment's secrets is valid", async () => {
    for (const each of [secret, formerSecret]) expect(outcome(await send(newEvent(), each))).toBe("200");
    expect(await stored(bakery.id)).toHaveLength(2);
  });

  test("must be by the partner's own secret as soon as there is one", async () => {
    const [own, next] = [newSecret(), newSecret()];
    const other = await cast.bakery(api.client);
    account = await connect(other, { webhookSecret: own });
    expect(outcome(await send(newEvent(), own))).toBe("200");
    expect(outcome(await send(newEvent(), secret))).toBe("401 UNAUTHORIZED");
    await admin.client.put("/api/v1/pos/credentials", {
      partnerId: other.id,
      adapterName: "generic",
      credentialsJson: till.credentials(account, { webhookSecret: next }),
    });
    expect(outcome(await send(newEvent(), own))).toBe("401 UNAUTHORIZED");
    expect(outcome(await send(newEvent(), next))).toBe("200");
    expect(await stored(other.id)).toHaveLength(2);
  });

  test("by one partner's own secret is not valid for another partner's events", async () => {
    const own = newSecret();
    await connect(await cast.bakery(api.client), { webhookSecret: own });
    expect(outcome(await send(newEvent(), own))).toBe("401 UNAUTHORIZED");
    expect(await stored(bakery.id)).toEqual([]);
  });

  test("that is valid, of an undocumented body: 400 BAD_REQUEST", async () => {
    const { body, headers } = signed({ ...newEvent(), type: 7 } as unknown as TillEvent, secret);
    expect(outcome(await deliver(body, headers))).toBe("400 BAD_REQUEST");
  });

  test("that is valid, of an event with invalid fields: the answer names them without their values", async () => {
    const items = [
      { externalId: "roll", qty: 1 },
      { externalId: "secret-roll", qty: "secret-count" },
    ];
    const refused = await send(newEvent({ type: "order.created", data: { items, totalAmount: 47.115 } }));
    expect(outcome(refused)).toBe("400 BAD_REQUEST");
    expect(refused.body["errors"]).toEqual([
      { path: "data.items.1.qty", message: "must be a number" },
      { path: "data.totalAmount", message: "must be an amount with at most two decimals" },
    ]);
    expect(refused.body["detail"]).toBe(
      "data.items.1.qty: must be a number; data.totalAmount: must be an amount with at most two decimals",
    );
    const nothing = await send(newEvent({ type: "order.status", data: {} }));
    expect(nothing.body["errors"]).toEqual([
      { path: "data.orderExternalId", message: "is missing" },
      { path: "data.status", message: "is missing" },
    ]);
    expect(refused.text).not.toContain("secret");
    expect(await stored(bakery.id)).toEqual([]);
  });
});

describe("a webhook call", () => {
  test("for an unknown provider: 404 NOT_FOUND", async () => {
    const { body, headers } = signed(newEvent(), secret);
    for (const provider of ["abacus", "constructor", "%00", "GENERIC"])
      expect(outcome(await deliver(body, headers, provider))).toBe("404 NOT_FOUND");
  });

  test("is read as raw bytes, whatever its content type", async () => {
    const { body, headers } = signed(newEvent({ data: { note: "чай  с \\u0301 лимоном\n" } }), secret);
    for (const type of ["application/json; charset=koi8-r", "text/plain", "application/x-www-form-urlencoded"])
      expect(outcome(await deliver(body, { ...headers, "content-type": type }))).toBe("200");
  });

  test("of 1 MB is accepted; larger: 413 PAYLOAD_TOO_LARGE", async () => {
    const filler = (length: number) => {
      const event = newEvent({ data: { filler: "" } });
      return newEvent({ ...event, data: { filler: "x".repeat(length - JSON.stringify(event).length) } });
    };
    expect(outcome(await send(filler(1_048_576)))).toBe("200");
    expect(outcome(await send(filler(1_048_577)))).toBe("413 PAYLOAD_TOO_LARGE");
  });

  /** The status of the answer to a request whose body is not sent completely. */
  const answerTo = (headers: Record<string, string>, chunk: Buffer | null) =>
    new Promise<number | undefined>((resolve, reject) => {
      const call = request(`${api.client.url}/api/v1/pos/webhooks/generic`, { method: "POST", headers }, (response) => {
        resolve(response.statusCode);
        call.destroy();
      });
      call.once("error", reject);
      if (chunk) call.write(chunk);
      else call.flushHeaders();
    });

  test("over 1 MB is refused before its body when it declares its length, and otherwise as soon as it exceeds the limit", async () => {
    expect(await answerTo({ "content-length": "1048577" }, null)).toBe(413);
    expect(await answerTo({ "transfer-encoding": "chunked" }, Buffer.alloc(1_048_577, " "))).toBe(413);
  });

  test("has a far higher rate limit per address than other requests", async () => {
    const calls = await Promise.all(Array.from({ length: 60 }, () => send(newEvent())));
    expect(new Set(calls.map(outcome))).toEqual(new Set(["200"]));
    expect(calls[0]?.headers.get("ratelimit-policy")).toBe("500;w=60");
  });

  test("gets no CORS headers", async () => {
    const headers = { origin: "https://evil.example" };
    const { body, headers: signature } = signed(newEvent(), secret);
    expect((await deliver(body, { ...signature, ...headers })).headers.get("access-control-allow-origin")).toBeNull();
    expect(
      (await deliver(body, { ...signature, ...headers }, "Generic/")).headers.get("access-control-allow-origin"),
    ).toBeNull();
    const other = await api.client.get("/api/v1/cities", { headers });
    expect(other.headers.get("access-control-allow-origin")).toBe("*");
  });
});

test("invalid secrets in the environment stop the process with one line", async () => {
  const { readConfig } = await import("../../../../lib/process/read-config.js");
  for (const wrong of ["{", "[]", '{"generic":"short"}', '{"generic":[]}'])
    expect(() => readConfig({ ...process.env, POS_WEBHOOK_SECRETS: wrong })).toThrow(
      /^Wrong configuration: POS_WEBHOOK_SECRETS must be a JSON object of lists[^\n]*$/,
    );
});
