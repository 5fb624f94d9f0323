import type { Db } from "../db.js";
import { firstRow, hasRows, onlyValue } from "../rows.js";
import { signal } from "../signals.js";

export interface NewPosCredentials {
  partnerId: string;
  adapter: string;
  /** The POS's name for the account, as in its events. */
  account: string;
  /** The credentials, encrypted for `posCredentialsContext(partnerId)`. */
  encrypted: string;
}

/** The signal that a partner's credentials have changed. */
export const POS_CREDENTIALS_CHANGED = "pos_credentials";

/** The context that binds encrypted credentials to their partner: with any other they cannot be decrypted. */
export const posCredentialsContext = (partnerId: string) => `pos-credentials:${partnerId}`;

/**
 * Sets a partner's credentials, with an audit record that names only the adapter. An open sync, which uses the old ones, is
 * settled and another one follows; without an open sync the schedule starts one. False when there is no such partner; a unique
 * violation when the account belongs to another partner. `tx` is a transaction.
 */
export async function updatePosCredentials(
  tx: Db,
  { partnerId, adapter, account, encrypted }: NewPosCredentials,
  actorId: string,
  requestId: string,
): Promise<boolean> {
  const { count } = await tx`
    with saved as (
      insert into pos_credentials (partner_id, adapter, account, encrypted, next_sync_at)
      select id, ${adapter}::text, ${account}::text, ${encrypted}::text, now()
      from partners
      where id = ${partnerId}::uuid
      on conflict (partner_id) do update
      set adapter = excluded.adapter, account = excluded.account, encrypted = excluded.encrypted, revision = null,
          next_sync_at = excluded.next_sync_at, updated_at = now()
      returning partner_id, adapter
    )
    insert into audit_events (actor_id, action, subject_id, details)
    select ${actorId}::uuid, 'POS_CREDENTIALS', partner_id, jsonb_build_object('adapter', adapter) from saved`;
  if (count === 0) return false;
  await signal(tx, POS_CREDENTIALS_CHANGED, partnerId);
  await replaceOpenSync(tx, partnerId, true, requestId);
  return true;
}

/** Settles a partner's open sync, whose credentials are no longer those of the partner; with `again` another one follows. */
async function replaceOpenSync(tx: Db, partnerId: string, again: boolean, requestId: string | null): Promise<void> {
  const [open] = await tx<{ id: string }[]>`
    update pos_syncs set again = ${again}::boolean where partner_id = ${partnerId}::uuid and settled_at is null returning id`;
  if (open)
    await tx`select from settle_pos_sync(${open.id}::uuid, null, 'FAILED', 'REPLACED', null, null, ${requestId}::text)`;
}

/**
 * Deletes a partner's credentials, with an audit record, and settles an open sync. False when the partner has none. `tx` is a
 * transaction.
 */
export async function deletePosCredentials(
  tx: Db,
  partnerId: string,
  { actorId, why, requestId }: { actorId: string | null; why: string | null; requestId: string | null },
): Promise<boolean> {
  const { count } = await tx`delete from pos_credentials where partner_id = ${partnerId}::uuid`;
  if (count === 0) return false;
  await replaceOpenSync(tx, partnerId, false, requestId);
  await tx`
    insert into audit_events (actor_id, action, subject_id, details)
    values (
      ${actorId}::uuid, 'POS_CREDENTIALS_DELETE', ${partnerId}::uuid, jsonb_strip_nulls(jsonb_build_object('why', ${why}::text))
    )`;
  await signal(tx, POS_CREDENTIALS_CHANGED, partnerId);
  return true;
}

/** A partner's credentials as they are stored. */
export interface EncryptedCredentials {
  partnerId: string;
  encrypted: string;
}

/** Finds the credentials of a POS account. */
export const findPosAccount = (db: Db, adapter: string, account: string) =>
  firstRow(db<EncryptedCredentials[]>`
    select partner_id, encrypted from pos_credentials where adapter = ${adapter} and account = ${account}`);

/** Counts credentials encrypted under any key but `keyId`. */
export const countCredentialsUnderOtherKeys = (db: Db, keyId: string) =>
  onlyValue(db<{ others: number }[]>`
    select count(*) as others from pos_credentials where split_part(encrypted, '.', 1) <> ${keyId}`);

/** Lists credentials encrypted under any key but `keyId`, by partner id, after the partner `after`. */
export const listCredentialsUnderOtherKeys = (db: Db, keyId: string, after: string | null, limit: number) =>
  db<EncryptedCredentials[]>`
    select partner_id, encrypted
    from pos_credentials
    where split_part(encrypted, '.', 1) <> ${keyId} and (${after}::uuid is null or partner_id > ${after}::uuid)
    order by partner_id
    limit ${limit}`;

/** Replaces the stored text `before` with one under another key; false when it has changed in the meantime. */
export const updateEncryptedCredentials = (
  db: Db,
  { partnerId, encrypted: before }: EncryptedCredentials,
  encrypted: string,
) =>
  hasRows(db`
    update pos_credentials set encrypted = ${encrypted} where partner_id = ${partnerId}::uuid and encrypted = ${before}`);
