import { randomInt } from "node:crypto";
import { sql } from "../../sql/db.js";

/** A notification that waits for its delivery, to a user of its own. Answers its id. */
export async function insertNotification(): Promise<string> {
  const number = randomInt(1_000_000_000, 9_999_999_999);
  const [row] = await sql<{ id: string }[]>`
    with recipient as (
      insert into users (service_id, phone)
      values (${`SF-${number}`}, ${`+7${number}`})
      returning id
    )
    insert into notifications (user_id, kind)
    select id, 'ORDER_ACCEPTED' from recipient
    returning id`;
  if (!row) throw new Error("no notification was inserted");
  return row.id;
}

/** What became of a notification. */
export async function notificationStatus(id: string): Promise<{ status: string; reason: string | null } | undefined> {
  const [row] = await sql<{ status: string; reason: string | null }[]>`
    select status::text, reason from notifications where id = ${id}::uuid`;
  return row;
}
