import type { Db } from "../db.js";
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
      insert into pos_credentials (partner_id, adapter, account, sealed, next_sync_at)
      select id, ${adapter}::text, ${account}::text, ${encrypted}::text, now()
      from partners
      where id = ${partnerId}::uuid
      on conflict (partner_id) do update
      set adapter = excluded.adapter, account = excluded.account, sealed = excluded.sealed, revision = null,
          next_sync_at = excluded.next_sync_at, updated_at = now()
      returning partner_id, adapter
    )
    insert into audit_events (actor_id, action, subject_id, details)
    select ${actorId}::uuid, 'POS_CREDENTIALS', partner_id, jsonb_build_object('adapter', adapter) from saved`;
  if (count === 0) return false;
  await signal(tx, POS_CREDENTIALS_CHANGED, partnerId);
  const [open] = await tx<{ id: string }[]>`
    update pos_syncs set again = true where partner_id = ${partnerId}::uuid and settled_at is null returning id`;
  if (open)
    await tx`select from settle_pos_sync(${open.id}::uuid, null, 'FAILED', 'REPLACED', null, null, ${requestId})`;
  return true;
}

/**
 * Deletes a partner's credentials, with an audit record, and settles an open sync. False when the partner has none. `tx` is a
 * transaction.
 */
export async function deletePosCredentials(
  tx: Db,
  partnerId: string,
  actorId: string,
  requestId: string,
): Promise<boolean> {
  const { count } = await tx`delete from pos_credentials where partner_id = ${partnerId}::uuid`;
  if (count === 0) return false;
  const [open] = await tx<{ id: string }[]>`
    update pos_syncs set again = false where partner_id = ${partnerId}::uuid and settled_at is null returning id`;
  if (open)
    await tx`select from settle_pos_sync(${open.id}::uuid, null, 'FAILED', 'REPLACED', null, null, ${requestId})`;
  await tx`
    insert into audit_events (actor_id, action, subject_id)
    values (${actorId}::uuid, 'POS_CREDENTIALS_DELETE', ${partnerId}::uuid)`;
  await signal(tx, POS_CREDENTIALS_CHANGED, partnerId);
  return true;
}

/** What the verification of an account's events needs. */
export interface PosAccount {
  partnerId: string;
  encrypted: string;
}

/** Finds the partner of a POS account. */
export const findPosAccount = async (db: Db, adapter: string, account: string) =>
  (
    await db<PosAccount[]>`
      select partner_id as "partnerId", sealed as encrypted from pos_credentials where adapter = ${adapter} and account = ${account}`
  )[0];

/** A partner's credentials as they are stored. */
export interface EncryptedCredentials {
  partnerId: string;
  encrypted: string;
}

/** Lists credentials encrypted under any key but `keyId`, by partner id, after the partner `after`. */
export const listCredentialsUnderOtherKeys = (db: Db, keyId: string, after: string | null, limit: number) =>
  db<EncryptedCredentials[]>`
    select partner_id as "partnerId", sealed as encrypted
    from pos_credentials
    where split_part(sealed, '.', 1) <> ${keyId} and (${after}::uuid is null or partner_id > ${after}::uuid)
    order by partner_id
    limit ${limit}`;

/** Replaces the stored text `before` with one under another key; false when it has changed in the meantime. */
export async function updateEncryptedCredentials(
  db: Db,
  { partnerId, encrypted: before }: EncryptedCredentials,
  encrypted: string,
): Promise<boolean> {
  const { count } = await db`
    update pos_credentials set sealed = ${encrypted} where partner_id = ${partnerId}::uuid and sealed = ${before}`;
  return count === 1;
}
