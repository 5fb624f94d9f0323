import type { ApiKeyScope } from "../../lib/security/api-key.js";
import type { Db } from "../db.js";
import { firstRow, hasRows, onlyValue } from "../rows.js";

export interface ApiKey {
  id: string;
  name: string;
  scopes: string[];
  createdAt: Date;
}

/** Inserts a service key by its digest, with an audit record; returns its id. */
export const insertApiKey = (db: Db, name: string, scopes: ApiKeyScope[], digest: Uint8Array, actorId: string) =>
  onlyValue(db<{ id: string }[]>`
    with added as (
      insert into api_keys (name, digest, scopes)
      values (${name}, ${digest}::bytea, ${scopes}::text[])
      returning id, name, scopes
    ), audited as (
      insert into audit_events (actor_id, action, subject_id, details)
      select ${actorId}::uuid, 'API_KEY_MADE', id, jsonb_build_object('name', name, 'scopes', scopes) from added
    )
    select id from added`);

/** Finds the key with this digest. */
export const findApiKey = (db: Db, digest: Uint8Array) =>
  firstRow(db<Pick<ApiKey, "id" | "scopes">[]>`select id, scopes from api_keys where digest = ${digest}::bytea`);

/** Locks a key, so that nothing more is created with it until the transaction ends. */
export const lockApiKey = (tx: Db, id: string) => tx`select from api_keys where id = ${id}::uuid for update`;

/** Lists service keys, newest first, after the one with id `after`. */
export const listApiKeys = (db: Db, after: string | null, limit: number) =>
  db<ApiKey[]>`
    select id, name, scopes, created_at
    from api_keys
    where ${after}::uuid is null or id < ${after}::uuid
    order by id desc
    limit ${limit}`;

/** Deletes a service key, with an audit record; false when there is none. */
export const deleteApiKey = (db: Db, id: string, actorId: string) =>
  hasRows(db`
    with revoked as (
      delete from api_keys where id = ${id}::uuid returning id, name, scopes
    )
    insert into audit_events (actor_id, action, subject_id, details)
    select ${actorId}::uuid, 'API_KEY_REVOKED', id, jsonb_build_object('name', name, 'scopes', scopes) from revoked`);
