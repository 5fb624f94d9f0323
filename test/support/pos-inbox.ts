import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach } from "@jest/globals";
import type { PosChange } from "../../lib/pos/adapter.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { receivePosEvents, type ReceivedEvent } from "../../sql/queries/pos-events.js";
import { closeSignals } from "../../sql/signals.js";
import { applyPosEvents } from "../../workers/pos-events.js";
import { startApi } from "./api.js";
import * as cast from "./cast.js";
import type { Bakery, Character } from "./cast.js";
import { task } from "./task.js";
import { until } from "./until.js";

export let api: Awaited<ReturnType<typeof startApi>>;
export let admin: Character;
export let bakery: Bakery;

beforeAll(async () => {
  api = await startApi();
  admin = await cast.admin(api.client);
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

beforeEach(async () => {
  bakery = await openBakery();
});

/** A bakery with a POS and a menu. */
export async function openBakery(): Promise<Bakery> {
  const opened = await cast.bakery(api.client);
  await cast.addMenuItem(opened, { externalId: "roll", price: 60 });
  await cast.addMenuItem(opened, { externalId: "tea", price: 45.5 });
  await sql`update menu_items set source = 'POS' where partner_id = ${opened.id}::uuid`;
  await sql`
    insert into pos_credentials (partner_id, adapter, account, encrypted, next_sync_at)
    values (${opened.id}::uuid, 'generic', ${randomUUID()}, 'encrypted', now() + interval '1 hour')`;
  return opened;
}

/** An event as a webhook has it. */
export const received = (eventId: string, change: PosChange, { id }: Bakery, account = id): ReceivedEvent => ({
  provider: "generic",
  partnerId: id,
  account,
  eventId,
  change,
  requestId: randomUUID(),
});

/** Stores these events of an account of the POS in the inbox, one after the other. */
export async function receive(
  changes: readonly (readonly [eventId: string, change: PosChange])[],
  of = bakery,
  account = of.id,
): Promise<void> {
  for (const [eventId, change] of changes) {
    await receivePosEvents(sql, [received(eventId, change, of, account)], "WAIT");
  }
}

export const drain = async ({ id: partnerId } = bakery) => {
  const work = task({ partnerId });
  await applyPosEvents(work);
  return work;
};

export const events = (partnerId = bakery.id) =>
  sql<{ id: number; eventId: string; status: string; lastError: string | null; attempts: number }[]>`
    select id, event_id as "eventId", status::text, last_error as "lastError", attempts
    from pos_events where partner_id = ${partnerId}::uuid order by id`;

export interface Order {
  id: string;
  userId: string | null;
  status: string;
  total: number;
  discount: number;
  address: string | null;
}

export const orders = (partnerId = bakery.id) =>
  sql<Order[]>`
    select id, user_id as "userId", status::text, total_minor as total, discount_minor as discount, address
    from orders where partner_id = ${partnerId}::uuid order by id`;

export const jobs = (partnerId = bakery.id) =>
  sql<{ id: string; eventId: string | null; due: boolean; dead: boolean }[]>`
    select id::text, payload ->> 'eventId' as "eventId", run_at <= now() as due, dead_at is not null as dead
    from staged_jobs
    where queue = 'pos-events' and done_at is null and (
      payload ->> 'partnerId' = ${partnerId}
      or (payload ->> 'eventId')::bigint in (select id from pos_events where partner_id = ${partnerId}::uuid)
    )
    order by id`;

export const syncs = async () => (await sql`select from pos_syncs where partner_id = ${bakery.id}::uuid`).count;

export const rolls = (fields: Partial<Extract<PosChange, { kind: "order.created" }>> = {}): PosChange => ({
  kind: "order.created",
  items: [{ externalId: "roll", qty: 2 }],
  totalMinor: 12_000,
  customerPhone: null,
  address: null,
  ...fields,
});

export const moved = (orderExternalId: string, status: string): PosChange => ({
  kind: "order.status",
  orderExternalId,
  status,
});

/** Whether the work ends without waiting for a lock. */
export const endsBefore = async (work: Promise<unknown>): Promise<boolean> => {
  let ended = false;
  void work.then(() => (ended = true));
  await until(async () => ended || (await sql`select from pg_locks where not granted`).count > 0);
  return ended;
};
