import { z } from "zod";
import { PromoRefusal } from "../../lib/domain/promo.js";
import type { Db } from "../db.js";
import { firstRow } from "../rows.js";

export interface NewPromo {
  /** In upper case. */
  code: string;
  discountPercent: number | null;
  discountMinor: number | null;
  minOrderMinor: number;
  maxDiscountMinor: number | null;
  startsAt: Date | null;
  endsAt: Date | null;
  maxUses: number | null;
  maxUsesPerUser: number;
  partnerId: string | null;
}

export interface PromoState {
  id: string;
  code: string;
  active: boolean;
}

/** Inserts a promo code, with an audit record; undefined when the code exists. An unknown partner is a foreign-key violation. */
export const insertPromo = (db: Db, promo: NewPromo, actorId: string) =>
  firstRow(db<PromoState[]>`
    with created as (
      insert into promo_codes (
        code, discount_percent, discount_minor, min_order_minor, max_discount_minor, starts_at, ends_at, max_uses,
        max_uses_per_user, partner_id
      )
      values (
        ${promo.code}, ${promo.discountPercent}::numeric, ${promo.discountMinor}::bigint, ${promo.minOrderMinor}::bigint,
        ${promo.maxDiscountMinor}::bigint, ${promo.startsAt}::timestamptz, ${promo.endsAt}::timestamptz,
        ${promo.maxUses}::integer, ${promo.maxUsesPerUser}::integer, ${promo.partnerId}::uuid
      )
      on conflict (code) do nothing
      returning id, code, active
    ), audited as (
      insert into audit_events (actor_id, action, subject_id, details)
      select ${actorId}::uuid, 'PROMO_CREATED', created.id, jsonb_build_object('code', created.code) from created
    )
    select id, code, active from created`);

/** Enables or disables a promo code, with an audit record; undefined when there is none. */
export const updatePromoActive = (db: Db, id: string, active: boolean, actorId: string) =>
  firstRow(db<PromoState[]>`
    with known as (
      select id, code, active from promo_codes where id = ${id}::uuid for no key update
    ), changed as (
      update promo_codes set active = ${active}::boolean
      from known
      where promo_codes.id = known.id and known.active <> ${active}::boolean
      returning promo_codes.id
    ), audited as (
      insert into audit_events (actor_id, action, subject_id, details)
      select ${actorId}::uuid, 'PROMO_ACTIVE', changed.id, jsonb_build_object('active', ${active}::boolean) from changed
    )
    select id, code, coalesce(${active}::boolean, false) as active from known`);

export interface PromoRow extends NewPromo, PromoState {
  /** Redemptions by orders that are not cancelled. */
  uses: number;
}

/** Lists promo codes, newest first, after the one with id `after`. */
export const listPromos = (db: Db, after: string | null, limit: number) =>
  db<PromoRow[]>`
    select id, code, active, discount_percent::double precision as discount_percent, discount_minor,
           min_order_minor, max_discount_minor, starts_at, ends_at, max_uses, max_uses_per_user, partner_id, uses
    from promo_codes
    where ${after}::uuid is null or id < ${after}::uuid
    order by id desc
    limit ${limit}`;

const PromoApplied = z.object({ refusal: PromoRefusal.nullable(), discountMinor: z.int().nullable() });

/**
 * Attaches a promo to a user's next order if it can be used for an order of this amount; returns the discount in minor units.
 * Otherwise returns the reason, and changes nothing.
 */
export async function applyPromo(
  db: Db,
  userId: string,
  code: string,
  amountMinor: number,
): Promise<{ refusal: PromoRefusal } | { refusal: null; discountMinor: number }> {
  const [row] = await db<{ refusal: unknown; discountMinor: unknown }[]>`
    with known as (
      select p.id, promo_refusal(p, ${userId}::uuid, null, ${amountMinor}::bigint, now()) as refusal,
             promo_discount(p, ${amountMinor}::bigint) as discount
      from promo_codes p
      where p.code = ${code}::text
    ), attached as (
      insert into promo_attachments (user_id, promo_id)
      select ${userId}::uuid, known.id from known where known.refusal is null
      on conflict (user_id) do update set promo_id = excluded.promo_id, attached_at = excluded.attached_at
    )
    select refusal, discount as discount_minor from known`;
  if (!row) return { refusal: "UNKNOWN" };
  const { refusal, discountMinor } = PromoApplied.parse(row);
  return refusal === null ? { refusal, discountMinor: discountMinor ?? 0 } : { refusal };
}
