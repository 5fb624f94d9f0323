import { randomInt } from "node:crypto";
import { sql } from "../../sql/db.js";

/** Gives each of these users a device without quiet hours. There are no keys for FCM, so messages go to the log. */
export async function makeReachable(userIds: readonly string[]): Promise<void> {
  await sql`
    insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
    select id, true, true, true, true, '00:00', '00:00' from unnest(${[...userIds]}::uuid[]) as id`;
  await sql`
    insert into devices (user_id, platform, address, address_digest, locale)
    select id, 'android', 'token-of:' || id, sha256(convert_to('token-of:' || id, 'UTF8')), 'ru-RU'
    from unnest(${[...userIds]}::uuid[]) as id`;
}

/** Inserts a queued notification for a new user with a device; returns its id. */
export async function insertNotification(): Promise<string> {
  const number = randomInt(1_000_000_000, 9_999_999_999);
  const [recipient] = await sql<{ id: string }[]>`
    insert into users (service_id, phone) values (${`SF-${number}`}, ${`+7${number}`}) returning id`;
  if (!recipient) throw new Error("no user was inserted");
  await makeReachable([recipient.id]);
  const [row] = await sql<{ id: string }[]>`
    insert into notifications (user_id, kind) values (${recipient.id}::uuid, 'ORDER_ACCEPTED') returning id`;
  if (!row) throw new Error("no notification was inserted");
  return row.id;
}

/** The status of a notification. */
export async function notificationStatus(id: string): Promise<{ status: string; reason: string | null } | undefined> {
  const [row] = await sql<{ status: string; reason: string | null }[]>`
    select status::text, reason from notifications where id = ${id}::uuid`;
  return row;
}
