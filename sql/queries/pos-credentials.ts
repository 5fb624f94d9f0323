import type { Db } from "../db.js";
import { signal } from "../signals.js";

export interface NewPosCredentials {
  partnerId: string;
  adapter: string;
  /** What the POS calls the account in its events. */
  account: string;
  /** The credentials, enclosed for `posCredentialsContext(partnerId)`. */
  sealed: string;
}

/** The signal that says that some partner's credentials are others now. */
export const POS_CREDENTIALS_CHANGED = "pos_credentials";

/** Where a partner's sealed credentials belong: they open nowhere else. */
export const posCredentialsContext = (partnerId: string) => `pos-credentials:${partnerId}`;

/**
 * Saves a partner's credentials in place of earlier ones, with their audit record, which names the adapter alone. A sync
 * that is open was begun with others: it ends, and another follows; where none is, the schedule begins one. False when there is no such partner; a unique violation
 * when the account is another partner's. `tx` is a transaction.
 */
export async function updatePosCredentials(
  tx: Db,
  { partnerId, adapter, account, sealed }: NewPosCredentials,
  actorId: string,
  requestId: string,
): Promise<boolean> {
  const { count } = await tx`
    with saved as (
      insert into pos_credentials (partner_id, adapter, account, sealed, next_sync_at)
      select id, ${adapter}::text, ${account}::text, ${sealed}::text, now()
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
  const [begun] = await tx<{ id: string }[]>`
    update pos_syncs set again = true where partner_id = ${partnerId}::uuid and settled_at is null returning id`;
  if (begun)
    await tx`select from settle_pos_sync(${begun.id}::uuid, null, 'FAILED', 'REPLACED', null, null, ${requestId})`;
  return true;
}

/**
 * Deletes a partner's credentials, with an audit record; a sync that is open ends. False when the partner has none. `tx` is a
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
  const [begun] = await tx<{ id: string }[]>`
    update pos_syncs set again = false where partner_id = ${partnerId}::uuid and settled_at is null returning id`;
  if (begun)
    await tx`select from settle_pos_sync(${begun.id}::uuid, null, 'FAILED', 'REPLACED', null, null, ${requestId})`;
  await tx`
    insert into audit_events (actor_id, action, subject_id)
    values (${actorId}::uuid, 'POS_CREDENTIALS_DELETE', ${partnerId}::uuid)`;
  await signal(tx, POS_CREDENTIALS_CHANGED, partnerId);
  return true;
}

/** An account as its events need it. */
export interface PosAccount {
  partnerId: string;
  sealed: string;
}

/** Finds the partner that a POS's account belongs to. */
export const findPosAccount = async (db: Db, adapter: string, account: string) =>
  (
    await db<PosAccount[]>`
      select partner_id as "partnerId", sealed from pos_credentials where adapter = ${adapter} and account = ${account}`
  )[0];

/** A partner's credentials as they are kept. */
export interface EncryptedCredentials {
  partnerId: string;
  sealed: string;
}

/** Lists credentials that are sealed under another key than the one with id `keyId`, after those of the partner `after`. */
export const listCredentialsUnderOtherKeys = (db: Db, keyId: string, after: string | null, limit: number) =>
  db<EncryptedCredentials[]>`
    select partner_id as "partnerId", sealed
    from pos_credentials
    where split_part(sealed, '.', 1) <> ${keyId} and (${after}::uuid is null or partner_id > ${after}::uuid)
    order by partner_id
    limit ${limit}`;

/** Puts credentials that are sealed anew in place of `before`; false when there are others there by now. */
export async function updateEncryptedCredentials(
  db: Db,
  { partnerId, sealed: before }: EncryptedCredentials,
  sealed: string,
): Promise<boolean> {
  const { count } = await db`
    update pos_credentials set sealed = ${sealed} where partner_id = ${partnerId}::uuid and sealed = ${before}`;
  return count === 1;
}
