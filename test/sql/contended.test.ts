import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { config } from "../../lib/process/config.js";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { startApi } from "../support/api.js";
import * as cast from "../support/cast.js";
import { lockRows } from "../support/locks.js";
import { until } from "../support/until.js";

let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  api = await startApi();
});

/** Resolves once this many sessions have waited for a lock for 100 ms. */
async function stalled(count: number): Promise<void> {
  await until(async () => {
    const rows = await transaction(
      (tx) => tx`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query_start < now() - interval '100 ms'`,
    );
    return rows.length >= count;
  });
}

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

test("while many orders wait for one box, other requests are answered", async () => {
  const bakery = await cast.bakery(api.client);
  const boxId = await cast.listBox(bakery);
  const boris = await cast.user(api.client);
  const customers = await Promise.all(Array.from({ length: 15 }, () => cast.user(api.client)));
  const order = { items: [{ boxId, qty: 1 }], totalAmount: 249.9, partnerId: bakery.id };
  let waiting: Promise<{ status: number }[]> | undefined;
  await transaction(async (tx) => {
    await tx`select from boxes where id = ${boxId}::uuid for update`;
    waiting = Promise.all(customers.map(({ client }) => client.post("/api/v1/orders", order)));
    await until(async () => {
      const [locked] = await sql<{ count: number }[]>`
        select count(*)::integer as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      return (locked?.count ?? 0) >= config.DATABASE_POOL;
    });
    // otherwise these would wait for the orders, and the orders for this transaction
    for (const path of [`/api/v1/partners/${bakery.id}`, "/api/v1/cities"])
      expect((await api.client.get(path)).status).toBe(200);
    expect((await boris.client.put("/api/v1/users/me", { firstName: "Борис" })).status).toBe(200);
  });
  const statuses = (await waiting)?.map(({ status }) => status).sort();
  expect(statuses).toEqual([...Array<number>(10).fill(201), ...Array<number>(5).fill(409)]);
});

test("a waiting statement does not block the statements after it", async () => {
  const { id } = await cast.user(api.client);
  const rename = async () => await sql`update users set first_name = 'Анна' where id = ${id}::uuid`;
  const release = await lockRows((tx) => tx`select from users where id = ${id}::uuid for update`);
  const waiting = rename();
  await stalled(1);
  await Promise.all(Array.from({ length: 10 * config.DATABASE_POOL }, () => sql`select`));
  await release();
  await waiting;
});
