import { randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { posEvents } from "../../../../queues/index.js";
import { sql } from "../../../../sql/db.js";
import { stageJob } from "../../../../sql/outbox.js";
import { receivePosEvents } from "../../../../sql/queries/pos-events.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { outcome } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { admin, auditOf, client, ops, shop, why } from "../../../support/operator-scene.js";
import { task } from "../../../support/task.js";

describe("parked POS events", () => {
  const settle = (body: Record<string, unknown>) => admin.client.post(`${ops}/pos-events/settle`, { why, ...body });

  async function park(of: cast.Bakery): Promise<number> {
    const eventId = randomUUID();
    const change = { kind: "order.status", orderExternalId: "1", status: "READY" } as const;
    const event = { provider: "generic", partnerId: of.id, account: of.id, eventId, change, requestId: "req" };
    await receivePosEvents(sql, [event], "WAIT");
    const jobId = await stageJob(sql, posEvents, { eventId: 1 });
    const [row] = await sql<{ id: number }[]>`
      update pos_events
      set status = 'PARKED', settled_at = now(), attempts = 5, job_id = ${jobId}::bigint, last_error = 'unknown item'
      where event_id = ${eventId}
      returning id`;
    await sql`update staged_jobs set done_at = now() where queue = 'pos-events' and payload ? 'partnerId'`;
    return row!.id;
  }
  const shown = (ids: number[]) =>
    sql<{ status: string; attempts: number; lastError: string | null }[]>`
      select status, attempts, last_error from pos_events where id = any (${ids}::bigint[]) order by id`;
  const openJobs = () =>
    sql<{ payload: unknown }[]>`select payload from staged_jobs where done_at is null and queue = 'pos-events'`;

  test("are replayed by number, of a partner, or all: their inboxes are drained", async () => {
    const other = await cast.bakery(client);
    const [first, second, third] = [await park(shop), await park(shop), await park(other)];
    expect((await settle({ kind: "REPLAY", ids: [first] })).body).toEqual({ changed: 1 });
    expect([...(await openJobs())]).toContainEqual({ payload: { partnerId: shop.id } });
    expect((await settle({ kind: "REPLAY", partnerId: shop.id })).body).toEqual({ changed: 1 });
    expect((await settle({ kind: "REPLAY", all: true })).body).toEqual({ changed: 1 });
    expect([...(await openJobs())]).toContainEqual({ payload: { partnerId: other.id } });
    const queued = { status: "QUEUED", attempts: 0, lastError: "unknown item" };
    expect([...(await shown([first, second, third]))]).toEqual([queued, queued, queued]);
    expect(await auditOf("POS_EVENTS_REPLAY")).toEqual([
      { events: String(first), changed: "1", why },
      { partner: shop.id, changed: "1", why },
      { changed: "1", why },
    ]);
  });

  test("that match are replayed or dismissed by a bulk action, however many; those that come in later are left alone", async () => {
    const other = await cast.bakery(client);
    await sql`
      insert into pos_events (partner_id, provider, account, event_id, change, status, settled_at, last_error, received_at)
      select ${other.id}::uuid, 'generic', 'till', 'bulk ' || n, '{"kind": "order.status"}', 'PARKED', now(), 'unknown item', now() - interval '1 hour'
      from generate_series(1, 10500) as n`;
    const [unlike, elsewhere] = [await park(other), await park(shop)];
    await sql`update pos_events set last_error = 'another reason' where id = ${unlike}::bigint`;
    const ask = (body: Record<string, unknown>) =>
      admin.client.post(`${ops}/bulk-actions`, { state: "PARKED", why, partnerId: other.id, ...body });
    const dismissed = await ask({ kind: "DISMISS", error: "UNKNOWN" });
    expect(dismissed.body).toMatchObject({ matched: 10_500, partnerId: other.id, state: "PARKED" });
    const late = await park(other);
    await runUpkeep(task({ task: "bulk-actions" }));
    expect((await admin.client.get(dismissed.headers.get("location") ?? "")).body).toMatchObject({
      changed: 10_500,
      progress: 1,
      settledAt: expect.any(String),
    });
    const [left] = await sql<{ dismissed: number }[]>`
      select count(*) as dismissed from pos_events where status = 'PROCESSED' and last_error = ${`dismissed: ${why}`} and event_id like 'bulk %'`;
    expect(left?.dismissed).toBe(10_500);
    expect((await shown([unlike, elsewhere, late])).map(({ status }) => status)).toEqual([
      "PARKED",
      "PARKED",
      "PARKED",
    ]);
    const audited = { state: "PARKED", partner: other.id, error: "UNKNOWN", why, matched: 10_500 };
    expect((await auditOf("POS_EVENTS_DISMISS")).at(-1)).toEqual(audited);
    await ask({ kind: "REPLAY" });
    await runUpkeep(task({ task: "bulk-actions" }));
    expect((await shown([unlike, elsewhere, late])).map(({ status }) => status)).toEqual([
      "QUEUED",
      "PARKED",
      "QUEUED",
    ]);
    expect([...(await openJobs())]).toContainEqual({ payload: { partnerId: other.id } });
  });

  test.each([
    { kind: "RUN", state: "PARKED", all: true },
    { kind: "REPLAY", state: "PARKED", queue: "push" },
    { kind: "REPLAY", state: "PARKED", argument: "partnerId=1" },
    { kind: "REPLAY", state: "DEAD", partnerId: randomUUID() },
  ])("are not what a bulk action is about that is %j", async (body) => {
    expect(outcome(await admin.client.post(`${ops}/bulk-actions`, { why, ...body }))).toBe("400 VALIDATION_ERROR");
  });

  test.each([{}, { all: false }])("are not settled by %j: what is meant must be said", async (which) => {
    expect(outcome(await settle({ kind: "DISMISS", ...which }))).toBe("400 VALIDATION_ERROR");
  });

  test("are dismissed with their jobs, and with the reason", async () => {
    const id = await park(shop);
    expect((await settle({ kind: "DISMISS", ids: [id] })).body).toEqual({ changed: 1 });
    expect([...(await shown([id]))]).toEqual([{ status: "PROCESSED", attempts: 5, lastError: `dismissed: ${why}` }]);
    expect(await openJobs()).toHaveLength(0);
    expect((await settle({ kind: "REPLAY", ids: [id] })).body).toEqual({ changed: 0 });
  });
});
