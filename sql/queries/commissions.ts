import type { Db } from "../db.js";
import { firstRow, hasRows, onlyRow } from "../rows.js";

export interface Rate {
  ratePercent: number;
  /** Whether the partner has its own rate; for the global rate, whether one is set. */
  override: boolean;
}

/** Finds the global rate, or the default while none is set. */
export const findGlobalRate = (db: Db) =>
  onlyRow(db<Rate[]>`
    select coalesce(max(rate_percent), default_commission_percent())::double precision as rate_percent,
           count(*) > 0 as override
    from commission_rates
    where partner_id is null`);

/** Finds the rate for a partner's next order; undefined when there is no such partner. */
export const findPartnerRate = (db: Db, partnerId: string) =>
  firstRow(db<Rate[]>`
    select coalesce(own.rate_percent, global.rate_percent, default_commission_percent())::double precision
             as rate_percent,
           own.rate_percent is not null as override
    from partners p
    left join commission_rates own on own.partner_id = p.id
    left join commission_rates global on global.partner_id is null
    where p.id = ${partnerId}::uuid`);

/** An advisory lock while a rate is set, so that each audit record has the previous rate; a partner's first rate has no row to lock. */
const RATES_LOCK = 7_306_021;

/** Sets a partner's rate, or the global rate (null), with an audit record; `tx` is a transaction. False when there is no such partner. */
export async function updateRate(tx: Db, partnerId: string | null, percent: number, actorId: string): Promise<boolean> {
  await tx`select from pg_advisory_xact_lock(${RATES_LOCK})`;
  return hasRows(tx`
    with before as (
      select max(rate_percent) as rate_percent from commission_rates where partner_id is not distinct from ${partnerId}::uuid
    ), after as (
      insert into commission_rates (partner_id, rate_percent)
      select ${partnerId}::uuid, ${percent}::numeric
      where ${partnerId}::uuid is null or exists (select from partners where id = ${partnerId}::uuid)
      on conflict (partner_id) do update set rate_percent = excluded.rate_percent, updated_at = now()
      returning rate_percent
    )
    insert into audit_events (actor_id, action, subject_id, details)
    select ${actorId}::uuid, 'COMMISSION_RATE', ${partnerId}::uuid,
           jsonb_build_object('old', before.rate_percent, 'new', after.rate_percent)
    from after, before`);
}

/** Deletes a partner's own rate, with an audit record, if it has one. */
export const deleteRate = (db: Db, partnerId: string, actorId: string) =>
  db`
    with before as (
      delete from commission_rates where partner_id = ${partnerId}::uuid returning rate_percent
    )
    insert into audit_events (actor_id, action, subject_id, details)
    select ${actorId}::uuid, 'COMMISSION_RATE', ${partnerId}::uuid, jsonb_build_object('old', before.rate_percent, 'new', null)
    from before`;

export interface RateChange {
  id: string;
  partnerId: string | null;
  actorId: string | null;
  oldPercent: number | null;
  newPercent: number | null;
  at: Date;
}

/** Lists rate changes, newest first, after the one with id `after`. */
export const listRateChanges = (db: Db, after: string | null, limit: number) =>
  db<RateChange[]>`
    select id, subject_id as partner_id, actor_id, (details ->> 'old')::double precision as old_percent,
           (details ->> 'new')::double precision as new_percent, created_at as at
    from audit_events
    where action = 'COMMISSION_RATE' and (${after}::uuid is null or id < ${after}::uuid)
    order by id desc
    limit ${limit}`;
