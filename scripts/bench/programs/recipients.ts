import { createECDH, randomBytes, randomUUID } from "node:crypto";
import { sha256 } from "../../../lib/security/crypto.js";
import { sql } from "../../../sql/db.js";

/** Returns a browser's subscription at a push service. */
export function newSubscription(service: string) {
  const ecdh = createECDH("prime256v1");
  const [p256dh, auth] = [ecdh.generateKeys("base64url"), randomBytes(16).toString("base64url")];
  return { endpoint: `${service}/send/${randomUUID()}`, keys: { p256dh, auth } };
}

/** Inserts a user for each push service, with one browser and `each` notifications; returns the notifications' ids. */
export async function insertRecipients(services: readonly string[], each = 1): Promise<string[]> {
  const users = await sql<{ id: string }[]>`
    insert into users (service_id, phone)
    select 'SF-' || id, id
    from (select gen_random_uuid()::text as id from generate_series(1, ${services.length}::integer)) as ids
    returning id`;
  const subscriptions = services.map(newSubscription);
  await sql`
    insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
    select id, true, true, true, false, '00:00', '00:00' from unnest(${users.map(({ id }) => id)}::uuid[]) as id`;
  await sql`
    insert into devices (user_id, platform, address, address_digest, p256dh, auth, locale)
    select user_id, 'web', address, decode(digest, 'hex'), p256dh, auth, 'ru-RU'
    from unnest(
      ${users.map(({ id }) => id)}::uuid[],
      ${subscriptions.map(({ endpoint }) => endpoint)}::text[],
      ${subscriptions.map(({ endpoint }) => sha256(endpoint).toString("hex"))}::text[],
      ${subscriptions.map(({ keys }) => keys.p256dh)}::text[],
      ${subscriptions.map(({ keys }) => keys.auth)}::text[]
    ) as subscription (user_id, address, digest, p256dh, auth)`;
  const notifications = await sql<{ id: string }[]>`
    insert into notifications (user_id, kind, partner_id)
    select id, 'ORDER_READY', (select id from partners limit 1)
    from unnest(${users.map(({ id }) => id)}::uuid[]) as id, generate_series(1, ${each}::integer)
    returning id`;
  // a plan that was made while the tables were almost empty would be kept
  await sql`analyze notifications, notification_deliveries, devices`;
  return notifications.map(({ id }) => id);
}
