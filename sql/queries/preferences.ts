import type { Db } from "../db.js";
import type { Changes } from "../rows.js";

/** How a user wants to be notified; times are local to the user's zone, HH:MM:SS. */
export interface Preferences {
  push: boolean;
  sms: boolean;
  email: boolean;
  marketing: boolean;
  quietHoursStart: string;
  quietHoursEnd: string;
}

/** The preferences of a user who has not set any. */
export const defaultPreferences: Preferences = {
  push: true,
  sms: true,
  email: true,
  marketing: false,
  quietHoursStart: "22:00:00",
  quietHoursEnd: "08:00:00",
};

/** Finds a user's preferences, or the defaults. */
export async function findPreferences(db: Db, userId: string): Promise<Preferences> {
  const [row] = await db<Preferences[]>`
    select push, sms, email, marketing, quiet_hours_start::text as quiet_hours_start, quiet_hours_end::text as quiet_hours_end
    from notification_preferences
    where user_id = ${userId}::uuid`;
  return row ?? defaultPreferences;
}

/** Updates the given fields of a user's preferences; returns all of them. */
export async function updatePreferences(db: Db, userId: string, changes: Changes<Preferences>): Promise<Preferences> {
  const initial = defaultPreferences;
  await db`
    insert into notification_preferences as known (
      user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end
    )
    values (
      ${userId}::uuid, ${changes.push ?? initial.push}::boolean, ${changes.sms ?? initial.sms}::boolean,
      ${changes.email ?? initial.email}::boolean, ${changes.marketing ?? initial.marketing}::boolean,
      ${changes.quietHoursStart ?? initial.quietHoursStart}::time, ${changes.quietHoursEnd ?? initial.quietHoursEnd}::time
    )
    on conflict (user_id) do update set
      push = coalesce(${changes.push ?? null}::boolean, known.push),
      sms = coalesce(${changes.sms ?? null}::boolean, known.sms),
      email = coalesce(${changes.email ?? null}::boolean, known.email),
      marketing = coalesce(${changes.marketing ?? null}::boolean, known.marketing),
      quiet_hours_start = coalesce(${changes.quietHoursStart ?? null}::time, known.quiet_hours_start),
      quiet_hours_end = coalesce(${changes.quietHoursEnd ?? null}::time, known.quiet_hours_end),
      updated_at = now()`;
  return findPreferences(db, userId);
}

/** Takes a shared lock on a user's preferences and time zone until `tx` ends: they cannot change meanwhile. */
export const lockPreferencesShared = (tx: Db, userId: string) =>
  tx`select from pg_advisory_xact_lock_shared(hashtextextended('preferences ' || ${userId}::text, 0))`;

/** Locks a user's preferences and time zone until `tx` ends, to change them. */
export const lockPreferences = (tx: Db, userId: string) =>
  tx`select from pg_advisory_xact_lock(hashtextextended('preferences ' || ${userId}::text, 0))`;
