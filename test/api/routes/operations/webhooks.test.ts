import { randomUUID } from "node:crypto";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { numberEvents } from "../../../../sql/queries/events.js";
import { hasWebhookJob } from "../../../../sql/queries/webhooks.js";
import { closeSignals } from "../../../../sql/signals.js";
import { outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

const path = "/api/v1/admin/ops/webhook-endpoints";
const why = "its owner asked for it";
const api = await startApi();
const shop = await cast.bakery(api.client);
const admin = await cast.admin(api.client);

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

const newEndpoint = async ({ client }: Pick<typeof admin, "client">, types: string[] | null = null) =>
  (await client.post("/api/v1/webhook-endpoints", { url: "https://hooks.example.com/secret", types })).string("id");

let id: string;

beforeEach(async () => {
  await sql`delete from webhook_endpoints`;
  await sql`delete from audit_events`;
  await numberEvents(sql, 1_000);
  await sql`delete from events`;
  id = await newEndpoint(shop.owner);
});

const list = async (query = "") => (await admin.client.get(`${path}?${query}`)).list;
const ids = async (query = "") => (await list(query)).map((endpoint) => endpoint["id"]);

/** Inserts and numbers an event of a given time. */
async function happen(at: string, type = "box.back"): Promise<void> {
  await sql`select record_event(${type}, ${shop.id}::uuid, '{}')`;
  await numberEvents(sql, 1_000);
  await sql`
    update events set at = ${at}::text::timestamptz where position = (select last_position from event_log)`;
}

describe("operators see endpoints", () => {
  test("of all owners, with their hosts but without addresses and secrets", async () => {
    const ofPlatform = await newEndpoint(admin);
    const shown = await admin.client.get(path);
    expect(shown.list).toMatchObject([
      { id: ofPlatform, partnerId: null, partner: null, host: "hooks.example.com" },
      { id, partnerId: shop.id, host: "hooks.example.com", failures: 0, pending: 0, oldestAt: null },
    ]);
    expect(shown.text).not.toMatch(/whsec_|\/secret/);
  });

  test("that fail, or were stopped for that, but not those that their owner has stopped", async () => {
    const [failing, gone, stopped] = [await newEndpoint(admin), await newEndpoint(admin), await newEndpoint(admin)];
    await sql`update webhook_endpoints set failures = 3, failing_since = now() where id = ${failing}::uuid`;
    await sql`update webhook_endpoints set stopped_at = now(), stopped_why = 'GONE' where id = ${gone}::uuid`;
    await admin.client.patch(`/api/v1/webhook-endpoints/${stopped}`, { enabled: false });
    expect(await ids("failing=true")).toEqual([gone, failing]);
    expect(await ids()).toEqual([stopped, gone, failing, id]);
  });

  test("with the oldest event that they have not got: one that failed, or the next of the log that is for them", async () => {
    const of = async (endpoint: string) => (await list()).find((each) => each["id"] === endpoint)?.["oldestAt"];
    const other = await newEndpoint(shop.owner, ["box.expired"]);
    await happen("2026-06-01T10:00:00Z");
    await happen("2026-06-01T11:00:00Z", "box.expired");
    expect([await of(id), await of(other)]).toEqual(["2026-06-01T10:00:00.000Z", "2026-06-01T11:00:00.000Z"]);
    await sql`
      insert into webhook_deliveries (endpoint_id, position, event_id, type, version, at, data)
      values (${other}::uuid, 1, ${randomUUID()}::uuid, 'box.expired', 1, '2026-06-01T09:00:00Z', '{}')`;
    expect(await of(other)).toBe("2026-06-01T09:00:00.000Z");
    expect((await list()).find((each) => each["id"] === other)).toMatchObject({ pending: 1 });
    // one for which no job is staged has all, so that the log is not looked through
    await sql`update webhook_endpoints set job_id = null`;
    expect(await of(id)).toBeNull();
  });
});

const audited = () =>
  sql<{ action: string; actor: string | null; subject: string | null; details: unknown }[]>`
    select action, actor_id as actor, subject_id as subject, details from audit_events where details ? 'why' order by id`;

describe("an operator", () => {
  const change = (enabled: boolean) => admin.client.patch(`${path}/${id}`, { enabled, why });

  test("stops an endpoint and starts it again, which is audited", async () => {
    expect((await change(false)).body).toMatchObject({ id, stoppedWhy: "BY_OPERATOR", stoppedAt: expect.any(String) });
    expect((await shop.owner.client.get(`/api/v1/webhook-endpoints/${id}`)).body).toMatchObject({
      enabled: false,
      stoppedWhy: "BY_OPERATOR",
    });
    await change(false);
    expect((await change(true)).body).toMatchObject({ id, stoppedWhy: null, stoppedAt: null });
    const act = { actor: admin.id, subject: id, details: { why } };
    expect(await audited()).toEqual([
      { action: "WEBHOOK_ENDPOINT_STOP", ...act },
      { action: "WEBHOOK_ENDPOINT_START", ...act },
    ]);
  });

  test("has the events of a time sent again, unless the endpoint is stopped", async () => {
    await happen("2026-06-01T10:00:00Z");
    await sql`update webhook_endpoints set position = (select last_position from event_log), job_id = null`;
    const range = { since: "2026-06-01T09:00:00Z", before: "2026-06-01T11:00:00Z", why };
    const resend = () => admin.client.post(`${path}/${id}/resend`, range);
    expect((await resend()).body).toMatchObject({ events: 1, more: false });
    expect(await hasWebhookJob(sql, id)).toBe(true);
    expect(await audited()).toMatchObject([
      { action: "WEBHOOKS_RESEND", subject: id, details: { since: "2026-06-01T09:00:00.000Z", events: "1", why } },
    ]);
    await change(false);
    expect(outcome(await resend())).toBe("409 CONFLICT");
  });
});
