import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { task } from "../../../support/task.js";
import { startWebhookReceiver } from "../../../support/webhook-receiver.js";

// the receiver of this test is on this machine
process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { numberEvents } = await import("../../../../sql/queries/events.js");
const { resendWebhooks } = await import("../../../../sql/queries/webhook-operations.js");
const { closeSignals } = await import("../../../../sql/signals.js");
const { sendWebhooks } = await import("../../../../workers/webhooks.js");
const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");

const path = "/api/v1/webhook-endpoints";
const api = await startApi();
const shop = await cast.bakery(api.client);
const other = await cast.bakery(api.client);
const admin = await cast.admin(api.client);
const owner = shop.owner.client;
const receiver = await startWebhookReceiver("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");

afterAll(async () => {
  await receiver.stop();
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

let [id, secret] = ["", ""];

beforeEach(async () => {
  await sql`delete from webhook_endpoints`;
  await numberEvents(sql, 1_000);
  await sql`delete from events`;
  const made = await owner.post(path, { url: receiver.url, types: ["box.back"] });
  [id, secret] = [made.string("id"), made.string("secret")];
  receiver.trust(secret);
  receiver.answerWith();
  receiver.received.length = 0;
  receiver.refused.length = 0;
});

/** Inserts and numbers an event of so many hours ago; returns its position. */
async function happen(n: number, hoursAgo: number, { partnerId = shop.id, type = "box.back" } = {}): Promise<number> {
  await sql`select record_event(${type}, ${partnerId}::uuid, jsonb_build_object('n', ${n}::integer))`;
  await numberEvents(sql, 1_000);
  const [row] = await sql<{ position: number }[]>`
    update events set at = now() - make_interval(hours => ${hoursAgo}::integer)
    where position = (select last_position from event_log)
    returning position`;
  return row!.position;
}

const send = () => sendWebhooks(task({ endpointId: id }));
const numbers = () => receiver.received.map(({ data }) => data["n"]);
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

describe("a ping", () => {
  test("is sent at once, signed, and is no delivery", async () => {
    const tested = await owner.post(`${path}/${id}/test`);
    expect([outcome(tested), tested.body]).toEqual([
      "200",
      { accepted: true, answered: 204, answer: "", ms: expect.any(Number) },
    ]);
    expect(receiver.received).toMatchObject([{ type: "ping", data: { endpointId: id } }]);
    expect((await owner.get(`${path}/${id}/deliveries`)).list).toEqual([]);
  });

  test("shows what was answered, and changes nothing of an endpoint that is stopped", async () => {
    await owner.patch(`${path}/${id}`, { enabled: false });
    receiver.answerWith((response) => void response.writeHead(503).end("позже"));
    expect((await owner.post(`${path}/${id}/test`)).body).toMatchObject({
      accepted: false,
      answered: 503,
      answer: "позже",
    });
    expect((await owner.get(`${path}/${id}`)).body).toMatchObject({ stoppedWhy: "BY_OWNER", failingSince: null });
  });

  test("has a signature by each secret while one is replaced", async () => {
    const rotated = await owner.post(`${path}/${id}/rotate-secret`);
    for (const each of [secret, rotated.string("secret")]) {
      receiver.trust(each);
      expect((await owner.post(`${path}/${id}/test`)).body).toMatchObject({ accepted: true });
    }
    await sql`update webhook_endpoints set old_secret_until = now()`;
    receiver.trust(secret);
    expect((await owner.post(`${path}/${id}/test`)).body).toMatchObject({ accepted: false, answered: 401 });
  });
});

describe("the events of a time", () => {
  const resend = (body: object) => owner.post(`${path}/${id}/resend`, body);

  test("are sent again in their order and before newer ones, also those that were missed, but no others", async () => {
    await happen(1, 5);
    await happen(2, 3);
    await send();
    await owner.patch(`${path}/${id}`, { enabled: false });
    const last = await happen(3, 2);
    await happen(4, 2, { partnerId: other.id });
    await happen(5, 2, { type: "box.expired" });
    await owner.patch(`${path}/${id}`, { enabled: true });
    await happen(6, 0);
    const resent = await resend({ since: hoursAgo(4) });
    expect([outcome(resent), resent.body]).toEqual(["202", { events: 2, after: last, more: false }]);
    await send();
    expect(numbers()).toEqual([1, 2, 2, 3, 6]);
    expect(receiver.received[2]?.id).toBe(receiver.received[1]?.id);
  });

  test("have an end, and a position from which they go on", async () => {
    const [first] = [await happen(1, 4), await happen(2, 3), await happen(3, 2), await happen(4, 1)];
    await send();
    await resend({ since: hoursAgo(5), before: hoursAgo(2.5), after: first });
    await send();
    expect(numbers()).toEqual([1, 2, 3, 4, 2]);
    expect((await resend({ since: hoursAgo(0.5) })).body).toEqual({ events: 0, after: null, more: false });
  });

  test("are sent again so many at a time", async () => {
    for (const n of [1, 2, 3]) await happen(n, 1);
    await send();
    const range = { since: new Date(hoursAgo(2)), before: new Date(), after: 0 };
    const some = await resendWebhooks(sql, id, range, 2);
    expect(some.events).toBe(2);
    expect(await resendWebhooks(sql, id, { ...range, after: some.last ?? 0 }, 2)).toMatchObject({ events: 1 });
    await send();
    expect(numbers()).toEqual([1, 2, 3, 1, 2, 3]);
  });

  test("are not written again while they are due", async () => {
    await happen(1, 1);
    await send();
    const versions = () => sql`select xmin::text from webhook_deliveries`;
    const [sent] = [await versions(), await resend({ since: hoursAgo(2) })];
    const due = await versions();
    expect(due).not.toEqual(sent);
    expect((await resend({ since: hoursAgo(2) })).body).toMatchObject({ events: 1 });
    expect(await versions()).toEqual(due);
  });

  test("of an endpoint of the platform are those of all", async () => {
    const made = await admin.client.post(path, { url: receiver.url });
    [id, secret] = [made.string("id"), made.string("secret")];
    receiver.trust(secret);
    for (const partnerId of [shop.id, other.id]) await happen(7, 1, { partnerId });
    await send();
    await admin.client.post(`${path}/${id}/resend`, { since: hoursAgo(2) });
    await send();
    expect(receiver.received.map(({ partnerId }) => partnerId)).toEqual([shop.id, other.id, shop.id, other.id]);
  });

  test("are not sent to an endpoint that is stopped", async () => {
    await owner.patch(`${path}/${id}`, { enabled: false });
    const refused = await resend({ since: hoursAgo(1) });
    expect([outcome(refused), refused.body["reason"]]).toEqual(["409 CONFLICT", "WEBHOOK_ENDPOINT_STOPPED"]);
  });
});

const audited = () =>
  sql<{ actor: string | null; action: string; details: unknown }[]>`
    select actor_id as actor, action, details from audit_events where subject_id = ${id}::uuid order by id`;

test("who made, changed, rotated and deleted an endpoint is in the audit log, without address and secret", async () => {
  await owner.patch(`${path}/${id}`, { url: "https://example.com/secret", enabled: false });
  await owner.post(`${path}/${id}/rotate-secret`);
  await owner.delete(`${path}/${id}`);
  const actor = shop.owner.id;
  expect(await audited()).toEqual([
    { actor, action: "WEBHOOK_ENDPOINT_CREATE", details: {} },
    { actor, action: "WEBHOOK_ENDPOINT_CHANGE", details: { fields: "url enabled", enabled: "false" } },
    { actor, action: "WEBHOOK_SECRET_ROTATE", details: {} },
    { actor, action: "WEBHOOK_ENDPOINT_DELETE", details: {} },
  ]);
});

test("a service key has the events of all sent", async () => {
  const key = await admin.client.post("/api/v1/admin/api-keys", { name: "1С", scopes: ["webhooks:write"] });
  const client = api.client.as(key.string("key"));
  const made = await client.post(path, { url: receiver.url });
  [id, secret] = [made.string("id"), made.string("secret")];
  receiver.trust(secret);
  await happen(1, 0, { partnerId: other.id });
  await send();
  expect(numbers()).toEqual([1]);
  expect(await audited()).toMatchObject([{ actor: null, action: "WEBHOOK_ENDPOINT_CREATE" }]);
});
