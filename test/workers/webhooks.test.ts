import { randomUUID } from "node:crypto";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { startWebhookReceiver } from "../support/webhook-receiver.js";
import { task } from "../support/task.js";

// receivers of this test are on this machine
process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const { newWebhookSecret } = await import("../../lib/outbound/webhook.js");
const { Snooze } = await import("../../lib/process/errors.js");
const { encryptEnvelope } = await import("../../lib/security/envelope.js");
const { webhooks } = await import("../../queues/index.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { numberEvents } = await import("../../sql/queries/events.js");
const { claimWebhookEndpoint, deleteOldWebhooks, hasWebhookJob, insertWebhookEndpoint } =
  await import("../../sql/queries/webhooks.js");
const { sendWebhooks } = await import("../../workers/webhooks.js");

const secret = newWebhookSecret();
const receiver = await startWebhookReceiver(secret);

afterAll(async () => {
  await receiver.stop();
  await closeDatabase();
});

let [shopId, otherId, endpointId] = ["", "", ""];

async function newPartner(): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    with city as (
      insert into cities (id, name, timezone) values (gen_random_uuid()::text, 'Omsk', 'Asia/Omsk') returning id
    )
    insert into partners (slug, name, city_id, address, latitude, longitude, status)
    select gen_random_uuid()::text, 'Bakery', id, '-', 0, 0, 'ACTIVE' from city
    returning id`;
  return row!.id;
}

async function newEndpoint(partnerId: string | null, types: string[] | null = null): Promise<string> {
  const id = randomUUID();
  const envelope = encryptEnvelope(secret, `webhook ${id}`);
  await insertWebhookEndpoint(sql, {
    id,
    partnerId,
    apiKeyId: null,
    url: receiver.url,
    description: null,
    types,
    secret: envelope,
  });
  return id;
}

beforeEach(async () => {
  await sql`delete from webhook_endpoints`;
  await numberEvents(sql, 1_000);
  [shopId, otherId] = [await newPartner(), await newPartner()];
  endpointId = await newEndpoint(shopId);
  receiver.answerWith();
  receiver.trust(secret);
  receiver.received.length = 0;
  receiver.refused.length = 0;
});

/** Inserts and numbers an event of a partner. */
async function happen(partnerId: string, type = "box.back", n = 0): Promise<void> {
  await sql`select record_event(${type}::text, ${partnerId}::uuid, jsonb_build_object('n', ${n}::integer))`;
  await numberEvents(sql, 1_000);
}

/** Runs the endpoint's job, as a worker does when it is due. */
const run = (id = endpointId) => sendWebhooks(task({ endpointId: id }));
const numbers = () => receiver.received.map(({ data }) => data["n"]);

const stateOf = async (id = endpointId) => {
  const [row] = await sql<
    { stop: string | null; failures: number; paused: boolean; claim: string | null; jobDueIn: number | null }[]
  >`
    select stopped_why::text as stop, failures, coalesce(paused_until > now(), false) as paused, claim::text,
           (select extract(epoch from run_at - now())::double precision from staged_jobs where id = w.job_id) as "jobDueIn"
    from webhook_endpoints w
    where id = ${id}::uuid`;
  return row!;
};

/** Ends the pause and the retry times of the endpoint. */
async function wait(): Promise<void> {
  await sql`update webhook_endpoints set paused_until = null where id = ${endpointId}::uuid`;
  await sql`
    update webhook_deliveries set next_attempt_at = now() where endpoint_id = ${endpointId}::uuid and status = 'PENDING'`;
}

const deliveries = () =>
  sql<{ n: number; status: string; attempts: number; answered: number | null; answer: string | null }[]>`
    select (data ->> 'n')::integer as n, status::text, attempts, answered, answer
    from webhook_deliveries
    where endpoint_id = ${endpointId}::uuid
    order by position`;

describe("an endpoint", () => {
  test("gets its partner's events in their order, each once, signed", async () => {
    for (const n of [1, 2, 3]) await happen(shopId, "box.back", n);
    await happen(otherId, "box.back", 4);
    expect(await hasWebhookJob(sql, endpointId)).toBe(true);
    await run();
    await run();
    expect(numbers()).toEqual([1, 2, 3]);
    expect(receiver.refused).toEqual([]);
    expect(receiver.received[0]).toMatchObject({ type: "box.back", version: 1, partnerId: shopId });
    expect(await deliveries()).toEqual(
      [1, 2, 3].map((n) => ({ n, status: "SENT", attempts: 1, answered: 204, answer: "" })),
    );
    expect(await stateOf()).toMatchObject({ claim: null, jobDueIn: null });
  });

  test("gets a job only for events that are for it: of its partner, or of all, and of its types", async () => {
    const [all, expired] = [await newEndpoint(null), await newEndpoint(null, ["box.expired", "box.listed"])];
    await happen(otherId);
    const jobs = async () => [
      await hasWebhookJob(sql, endpointId),
      await hasWebhookJob(sql, all),
      await hasWebhookJob(sql, expired),
    ];
    expect(await jobs()).toEqual([false, true, false]);
    await happen(shopId, "box.expired");
    expect(await jobs()).toEqual([true, true, true]);
    await run(expired);
    expect(receiver.received.map(({ type }) => type)).toEqual(["box.expired"]);
  });

  test("gets none of the events from before it was made", async () => {
    await happen(shopId);
    const late = await newEndpoint(shopId);
    await happen(shopId, "box.back", 1);
    await run(late);
    expect(numbers()).toEqual([1]);
  });

  test("is sent to by one run at a time", async () => {
    await happen(shopId);
    await claimWebhookEndpoint(sql, endpointId, randomUUID());
    await expect(run()).rejects.toBeInstanceOf(Snooze);
    expect(receiver.received).toEqual([]);
    // a run whose process died
    await sql`update webhook_endpoints set claimed_until = now() - interval '1 second'`;
    await run();
    expect(receiver.received).toHaveLength(1);
  });

  test("gets an event again, under its id, when the run that sent it died", async () => {
    await happen(shopId);
    await run();
    // as if the result had not been recorded
    await sql`
      update webhook_deliveries set status = 'PENDING', attempts = 0, next_attempt_at = now()
      where endpoint_id = ${endpointId}::uuid`;
    await run();
    const [first, second] = receiver.received.map(({ id }) => id);
    expect(second).toBe(first);
  });

  test("accepts the old secret too, until its time is over", async () => {
    const newer = newWebhookSecret();
    await sql`
      update webhook_endpoints
      set old_secret = secret, old_secret_until = now() + interval '1 hour',
          secret = ${encryptEnvelope(newer, `webhook ${endpointId}`)}
      where id = ${endpointId}::uuid`;
    await happen(shopId, "box.back", 1);
    await run();
    receiver.trust(newer);
    await happen(shopId, "box.back", 2);
    await run();
    expect(numbers()).toEqual([1, 2]);
    await sql`update webhook_endpoints set old_secret_until = now() where id = ${endpointId}::uuid`;
    receiver.trust(secret);
    await happen(shopId, "box.back", 3);
    await run();
    expect(numbers()).toEqual([1, 2]);
    expect(receiver.refused).toHaveLength(1);
  });
});

test("an endpoint whose secret cannot be decrypted takes no place from the others of its partner", async () => {
  const sealed = await newEndpoint(shopId);
  await sql`update webhook_endpoints set secret = ${encryptEnvelope(secret, "elsewhere")} where id = ${sealed}::uuid`;
  await happen(shopId, "box.back", 1);
  for (let n = 0; n < webhooks.concurrency; n += 1) {
    await expect(run(sealed)).rejects.toThrow();
    await sql`update webhook_endpoints set claimed_until = now() - interval '1 second' where id = ${sealed}::uuid`;
  }
  await run();
  expect(numbers()).toEqual([1]);
});

describe("the position of an endpoint", () => {
  const positions = async (id: string) => {
    const [row] = await sql<{ position: number; last: number }[]>`
      select w.position, l.last_position as last from webhook_endpoints w cross join event_log l where w.id = ${id}::uuid`;
    return row!;
  };

  test("is brought up when an event is for it: what was not is not looked through", async () => {
    const rare = await newEndpoint(null, ["box.expired"]);
    for (const n of [1, 2, 3]) await happen(shopId, "box.back", n);
    await happen(shopId, "box.expired");
    const { position, last } = await positions(rare);
    expect(position).toBe(last - 1);
    await run(rare);
    expect(receiver.received.map(({ type }) => type)).toEqual(["box.expired"]);
  });

  test("stays where events wait, also when the job that should have sent them is dead", async () => {
    await happen(shopId, "box.back", 1);
    await sql`
      update staged_jobs set dead_at = now()
      where id = (select job_id from webhook_endpoints where id = ${endpointId}::uuid)`;
    await happen(shopId, "box.back", 2);
    await run();
    expect(numbers()).toEqual([1, 2]);
  });

  test("stays where events wait for a run that died", async () => {
    await happen(shopId, "box.back", 1);
    await claimWebhookEndpoint(sql, endpointId, randomUUID());
    await happen(shopId, "box.back", 2);
    await sql`update webhook_endpoints set claimed_until = now() - interval '1 second'`;
    await run();
    expect(numbers()).toEqual([1, 2]);
  });
});

describe("an event that fails", () => {
  const failing = (n: number) =>
    receiver.answerWith((response, { data }) => void response.writeHead(data["n"] === n ? 500 : 200).end("занят"));

  test("pauses its endpoint, then lets the others go on, and is sent again later", async () => {
    failing(1);
    for (const n of [1, 2]) await happen(shopId, "box.back", n);
    await run();
    expect(numbers()).toEqual([1]);
    expect(await stateOf()).toMatchObject({ failures: 1, paused: true, stop: null, jobDueIn: expect.any(Number) });
    await sql`update webhook_endpoints set paused_until = null where id = ${endpointId}::uuid`;
    await run();
    expect(numbers()).toEqual([1, 2]);
    // the job is due with the first retry
    const { failures, paused, jobDueIn } = await stateOf();
    expect([failures, paused, jobDueIn! > 1]).toEqual([0, false, true]);
    receiver.answerWith();
    await wait();
    await run();
    expect(numbers()).toEqual([1, 2, 1]);
    expect((await deliveries()).map(({ status, attempts }) => [status, attempts])).toEqual([
      ["SENT", 2],
      ["SENT", 1],
    ]);
  });

  test("does not keep a later event waiting for its time", async () => {
    failing(1);
    await happen(shopId, "box.back", 1);
    await run();
    await sql`update webhook_endpoints set paused_until = null where id = ${endpointId}::uuid`;
    await run();
    expect((await stateOf()).jobDueIn).toBeGreaterThan(1);
    await happen(shopId, "box.back", 2);
    expect((await stateOf()).jobDueIn).toBeLessThanOrEqual(0);
  });

  test("is given up after its last attempt, with the answer for its owner", async () => {
    failing(1);
    await happen(shopId, "box.back", 1);
    await run();
    await sql`update webhook_deliveries set attempts = 12 where endpoint_id = ${endpointId}::uuid`;
    await wait();
    await run();
    expect(await deliveries()).toEqual([{ n: 1, status: "FAILED", attempts: 13, answered: 500, answer: "занят" }]);
  });
});

describe("nothing is sent any more to an endpoint", () => {
  test("that answers 410", async () => {
    receiver.answerWith((response) => void response.writeHead(410).end());
    for (const n of [1, 2]) await happen(shopId, "box.back", n);
    await run();
    expect(await stateOf()).toMatchObject({ stop: "GONE" });
    await wait();
    await run();
    await happen(shopId, "box.back", 3);
    expect(numbers()).toEqual([1]);
    expect((await deliveries()).map(({ status }) => status)).toEqual(["FAILED"]);
  });

  test("that failed for a day", async () => {
    receiver.answerWith((response) => void response.destroy());
    await happen(shopId);
    await run();
    expect(await stateOf()).toMatchObject({ stop: null });
    await sql`update webhook_endpoints set failing_since = now() - interval '25 hours' where id = ${endpointId}::uuid`;
    await wait();
    await run();
    expect(await stateOf()).toMatchObject({ stop: "FAILING", failures: 2 });
  });
});

test("deliveries that are settled, or of an endpoint that is stopped, are deleted after 30 days", async () => {
  await happen(shopId, "box.back", 1);
  await run();
  receiver.answerWith((response) => void response.writeHead(500).end());
  await happen(shopId, "box.back", 2);
  await run();
  await sql`update webhook_deliveries set created_at = now() - interval '31 days' where endpoint_id = ${endpointId}::uuid`;
  expect(await deleteOldWebhooks(sql, 100)).toBe(1);
  expect((await deliveries()).map(({ n }) => n)).toEqual([2]);
  // nothing will be sent there
  await sql`update webhook_endpoints set stopped_at = now(), stopped_why = 'BY_OWNER' where id = ${endpointId}::uuid`;
  expect(await deleteOldWebhooks(sql, 100)).toBe(1);
});
