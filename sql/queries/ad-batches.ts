import { campaignMoves } from "../../lib/domain/campaign-moves.js";
import type { Db } from "../db.js";
import { countRows } from "../rows.js";

/** The counts of one banner. */
export interface AdCount {
  bannerId: string;
  impressions: number;
  clicks: number;
  /** Invalid traffic, which is not in the counts above. */
  invalidImpressions: number;
  invalidClicks: number;
}

export interface AdBatch {
  id: string;
  /** YYYY-MM-DD, in the deployment's zone. */
  day: string;
  counts: readonly AdCount[];
}

/** Inserts a batch and stages its job; a batch with a known id changes nothing. */
export async function insertAdBatch(db: Db, { id, day, counts }: AdBatch): Promise<void> {
  await db`
    with inserted as (
      insert into ad_batches (id, day, banner_ids, impressions, clicks, invalid_impressions, invalid_clicks)
      values (
        ${id}::uuid, ${day}::date, ${counts.map(({ bannerId }) => bannerId)}::uuid[],
        ${counts.map(({ impressions }) => impressions)}::integer[], ${counts.map(({ clicks }) => clicks)}::integer[],
        ${counts.map(({ invalidImpressions }) => invalidImpressions)}::integer[],
        ${counts.map(({ invalidClicks }) => invalidClicks)}::integer[]
      )
      on conflict (id) do nothing
      returning stage_job('ad-events', jsonb_build_object('batchId', id))
    )
    select from inserted`;
}

/** Applies a batch, once; returns the campaigns that it has completed because their budget is spent. */
export async function applyAdBatch(db: Db, id: string): Promise<string[]> {
  const { from, to } = campaignMoves.COMPLETE;
  const rows = await db<{ id: string | null }[]>`
    select a.campaign_id as id
    from apply_ad_batch(${id}::uuid, ${[...from]}::campaign_status[], ${to}::campaign_status) a`;
  return rows.flatMap(({ id }) => id ?? []);
}

/**
 * Deletes up to `limit` batches that were applied a day ago, which is longer than a process retries inserting one, and up to
 * `limit` that were not applied within a month, when their dead jobs are deleted too. Returns their number.
 */
export const deleteOldAdBatches = (db: Db, limit: number) =>
  countRows(db`
    delete from ad_batches
    where id = any (array(
      (select id from ad_batches where applied_at < now() - interval '1 day' limit ${limit})
      union all
      (select id from ad_batches where applied_at is null and created_at < now() - interval '31 days' limit ${limit})
    ))`);
