import { randomUUID } from "node:crypto";
import { afterAll, beforeEach } from "@jest/globals";
import { push, sms } from "../../queues/index.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { stageJob } from "../../sql/outbox.js";
import { closeSignals } from "../../sql/signals.js";
import { startApi } from "./api.js";
import * as cast from "./cast.js";

// The set-up of tests of the operators' console: the API, an admin and a shop, and jobs in each state. No test sees another's jobs.

export const ops = "/api/v1/admin/ops";
export const why = "the vendor is back";

export const { client, stop } = await startApi();
export const admin = await cast.admin(client);
export const shop = await cast.bakery(client);

beforeEach(async () => {
  await sql`delete from staged_jobs`;
  await sql`delete from queue_settings`;
});

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

export const read = async (path: string) => (await admin.client.get(`${ops}${path}`)).body;
export const list = async (path: string) => (await admin.client.get(`${ops}${path}`)).list;

/** What the admin's actions of this kind left in the audit log. */
export const auditOf = async (action: string) =>
  (
    await sql<{ details: unknown }[]>`
      select details from audit_events where actor_id = ${admin.id}::uuid and action = ${action} order by id`
  ).map(({ details }) => details);

export async function giveUp(id: string, error: string): Promise<number> {
  await sql`update staged_jobs set dead_at = now(), last_error = ${error}, attempts = 8 where id = ${id}::bigint`;
  return Number(id);
}

export const deadPush = async (error: string) =>
  giveUp(await stageJob(sql, push, { notificationId: randomUUID() }), error);
export const deadSms = async (error: string) => giveUp(await stageJob(sql, sms, { otpId: randomUUID() }), error);

export const openPush = async (runAt = new Date()) =>
  Number(await stageJob(sql, push, { notificationId: randomUUID() }, { runAt }));

export const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000);

export const stateOf = async (id: number) =>
  (
    await sql<{ state: string }[]>`
      select case when done_at is not null then 'DONE' when dead_at is not null then 'DEAD' else 'OPEN' end as state
      from staged_jobs
      where id = ${id}::bigint`
  )[0]?.state;
