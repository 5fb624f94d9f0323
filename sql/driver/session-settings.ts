import { config } from "../../lib/process/config.js";
import type { Db } from "./tag.js";

/** What every session begins with. A pooler by transaction does not pass it on, so then `migrate` sets it for the role. */
export const sessionSettings = {
  statement_timeout: config.DATABASE_TIMEOUT_MS,
  idle_in_transaction_session_timeout: config.DATABASE_TIMEOUT_MS,
  // the outbox wakes relays by a notice
  client_min_messages: "notice",
} as const;

const expected = Object.entries(sessionSettings);

interface Found {
  name: string | null;
  setting: string | null;
  session: string | null;
  prepared: (string | null)[] | null;
}

/** Says why statements must not run through the pooler of DATABASE_URL, and what helps; null when they may. */
export async function findPoolerFault(db: Db): Promise<string | null> {
  const rows = await db<Found[]>`
    select name, reset_val as setting,
      format('%I in database %I', current_user, current_database()) as session,
      (select array_agg(p.name) from pg_prepared_statements p) as prepared
    from pg_settings
    where name = any (${expected.map(([name]) => name)}::text[])`;
  const found = new Map(rows.map(({ name, setting }) => [name, setting]));
  const wrong = expected.filter(([name, value]) => found.get(name) !== String(value));
  const [row] = rows;
  if (wrong.length > 0) {
    const facts = wrong.map(([name]) => `${name} is ${found.get(name)}`).join(", ");
    const remedies = wrong.map(([name, value]) => `alter role ${row?.session} set ${name} = ${value}`).join("; ");
    return `through the pooler ${facts}: ${remedies}; then let the pooler open its sessions anew`;
  }
  // a pooler that keeps them gives them names of its own
  if (row?.prepared?.includes(rows.statement.name))
    return "the pooler loses prepared statements: set DATABASE_PREPARE=0, or let it keep them (max_prepared_statements of PgBouncer 1.21 and later)";
  return null;
}
