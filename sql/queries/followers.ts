import type { MarketingKind } from "../../lib/domain/notification-kinds.js";
import type { Db } from "../db.js";
import { hasRows, onlyRow } from "../rows.js";

/**
 * An event about a box with up to very many recipients, who are notified in batches. It ends, with a line in the log, as soon as
 * the box does not meet `sentWhile` of its kind.
 */
export interface LargeAudience {
  readonly kind: MarketingKind;
  /** Runs before the first batch; false cancels the event. */
  readonly applies?: (tx: Db, boxId: string) => Promise<boolean>;
  /** Ends the transaction of the first batch with a change of the box; false undoes the batch, which then begins again. */
  readonly finishFirst?: (tx: Db, boxId: string) => Promise<boolean>;
  /** Runs before each later batch; false ends the event. */
  readonly stillApplies?: (tx: Db, boxId: string) => Promise<boolean>;
  /**
   * Inserts the notifications of up to `limit` recipients and stages their pushes, for only those who want such notifications and
   * had few of them lately: nothing else bounds how many a user gets. Returns the cursor for the next batch, null after the last one.
   */
  readonly notifyNext: (tx: Db, boxId: string, after: string | null, run: BatchOptions) => Promise<string | null>;
  /** Counts the followers up to the cursor `after`, and all of them, for an operator: it reads their rows. */
  readonly countTo: (db: Db, boxId: string, after: string) => Promise<{ done: number; total: number }>;
}

interface BatchOptions {
  readonly limit: number;
  /** The request that caused the event, if one did. */
  readonly requestId: string | null;
}

/**
 * An event for the followers of a box, or of its partner. A batch has the followers who want such notifications and had fewer
 * than `max.times` of this kind within `max.inHours`. One statement, since their rows need not come here.
 */
export const followers = (
  of: "BOX" | "PARTNER",
  kind: MarketingKind,
  max: { times: number; inHours: number },
): LargeAudience => ({
  kind,
  notifyNext: async (tx, boxId, after, { limit, requestId }) => {
    const [batch] = await tx<{ last: string | null; count: number; staged: string | null }[]>`
      with batch as materialized (
        select f.id, f.user_id, f.willing, b.partner_id
        from boxes b
        cross join lateral next_favorites(
          case when ${of}::text = 'PARTNER' then b.partner_id end, b.id, ${kind}, interval '1 hour' * ${max.inHours}::integer,
          ${max.times}::integer, ${after}::uuid, ${limit}::integer
        ) as f
        where b.id = ${boxId}::uuid
      ), inserted as (
        insert into notifications (user_id, kind, partner_id, box_id)
        select user_id, ${kind}, partner_id, ${boxId}::uuid from batch where willing
        returning id
      ), staged as (
        select stage_jobs('push', jsonb_agg(jsonb_build_object('notificationId', id)), array_agg(${requestId}::text))::text as staged
        from inserted
        having count(*) > 0
      )
      select (array_agg(id::text order by id desc))[1] as last, count(*) as count, (select staged from staged) as staged
      from batch`;
    return batch?.count === limit ? batch.last : null;
  },
  countTo: (db, boxId, after) =>
    onlyRow(
      of === "PARTNER"
        ? db<{ done: number; total: number }[]>`
            select count(*) filter (where f.id <= ${after}::uuid) as done, count(*) as total
            from favorites f
            where f.partner_id = (select b.partner_id from boxes b where b.id = ${boxId}::uuid)`
        : db<{ done: number; total: number }[]>`
            select count(*) filter (where f.id <= ${after}::uuid) as done, count(*) as total
            from favorites f
            where f.box_id = ${boxId}::uuid`,
    ),
});

/** Whether a box costs less than its lowest announced price. */
export const isBelowLowestPrice = (db: Db, boxId: string) =>
  hasRows(db`select from boxes where id = ${boxId}::uuid and price_minor < lowest_price_minor`);

/** Lowers a box's lowest announced price to its present price; false when the box has been as cheap before. */
export const updateLowestPrice = (tx: Db, boxId: string) =>
  hasRows(tx`
    update boxes set lowest_price_minor = price_minor where id = ${boxId}::uuid and price_minor < lowest_price_minor`);

/** Whether a box costs no more than its lowest announced price. */
export const isAtLowestPrice = (db: Db, boxId: string) =>
  hasRows(db`select from boxes where id = ${boxId}::uuid and price_minor <= lowest_price_minor`);

/**
 * Locks notifications about a partner's boxes until `tx` ends: concurrent transactions would not count each other's. False when
 * another transaction has the lock; true for an unknown box.
 */
export async function tryLockBoxNotifications(tx: Db, boxId: string): Promise<boolean> {
  const [box] = await tx<{ locked: boolean | null }[]>`
    select pg_try_advisory_xact_lock(hashtextextended('notifications about boxes of ' || partner_id, 0))::boolean as locked
    from boxes
    where id = ${boxId}::uuid`;
  return box?.locked !== false;
}

/** Whether a box is on offer; false when there is no such box. */
export const isOnOffer = (db: Db, boxId: string) =>
  hasRows(db`
    select
    from boxes b
    join partners p on p.id = b.partner_id
    where b.id = ${boxId}::uuid and box_is_on_offer(b, p)`);
