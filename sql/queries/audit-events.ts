import type { Db } from "../db.js";

/** An operator's action, for the audit log: ids and names only, no personal data. */
export interface AuditEvent {
  /** Null in a shell, and for a service key. */
  actorId: string | null;
  action: string;
  details: Readonly<Record<string, string>>;
}

/** Inserts an audit event. */
export const insertAuditEvent = (db: Db, { actorId, action, details }: AuditEvent) =>
  db`
    insert into audit_events (actor_id, action, details)
    values (${actorId}::uuid, ${action}::text, ${db.json(details)})`;
