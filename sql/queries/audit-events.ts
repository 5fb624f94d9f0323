import type { Db } from "../db.js";

/** An operator's action, for the audit log: ids and names only, no personal data. */
export interface AuditEvent {
  /** Null in a shell, and for a service key. */
  actorId: string | null;
  action: string;
  /** The row that was changed, where there is one. */
  subjectId?: string;
  details: Readonly<Record<string, string>>;
}

/** Inserts an audit event. */
export const insertAuditEvent = (db: Db, { actorId, action, subjectId, details }: AuditEvent) =>
  db`
    insert into audit_events (actor_id, action, subject_id, details)
    values (${actorId}::uuid, ${action}::text, ${subjectId ?? null}::uuid, ${db.json(details)})`;
