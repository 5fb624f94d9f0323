import { afterAll, expect, test } from "@jest/globals";
import { closeDatabase, sql, transaction, type Db } from "../../sql/db.js";
import { onlyRow } from "../../sql/rows.js";

afterAll(closeDatabase);

test("with a plan from when there were no notifications, only the follower's own are read", async () => {
  await sql`insert into cities (id, name, timezone) values ('here', 'Here', 'UTC')`;
  const { id: partnerId } = await onlyRow(sql<{ id: string }[]>`
    insert into partners (slug, name, city_id, address, latitude, longitude)
    values ('loved', 'Loved', 'here', 'Street', 1, 1)
    returning id`);
  await sql`
    insert into users (service_id, phone) select 'F' || n, '+7' || (9000000000 + n) from generate_series(1, 500) as n`;
  await sql`
    insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
    select id, true, true, true, true, '22:00', '08:00' from users`;
  await sql`insert into favorites (user_id, partner_id) select id, ${partnerId}::uuid from users`;
  const notifyAll = (db: Db) => db`
    insert into notifications (user_id, kind, partner_id)
    select id, 'FAVORITE_LISTED', ${partnerId}::uuid from users`;
  // statistics of many rows, of which none is left
  await notifyAll(sql);
  await sql`vacuum analyze notifications, favorites, notification_preferences`;
  await sql`truncate notifications cascade`;
  await sql`vacuum analyze notifications`;

  const read = await transaction(async (tx) => {
    const list = () => tx`
      select from next_favorites(${partnerId}::uuid, null, 'FAVORITE_LISTED', interval '1 hour', 3, null, 500)`;
    expect((await list()).count).toBe(500);
    await notifyAll(tx);
    const readSoFar = () =>
      onlyRow(tx<{ rows: number }[]>`
        select idx_tup_fetch::integer as rows from pg_stat_xact_user_tables where relname = 'notifications'`);
    const before = await readSoFar();
    expect((await list()).count).toBe(500);
    return (await readSoFar()).rows - before.rows;
  });
  expect(read).toBe(500);
});
