import { campaignMoves } from "../../lib/domain/campaign-moves.js";
import type { Db } from "../db.js";

/** What was counted of one banner. */
export interface AdCount {
  bannerId: string;
  impressions: number;
  clicks: number;
}

export interface AdBatch {
  id: string;
  /** YYYY-MM-DD, in the deployment's zone. */
  day: string;
  counts: readonly AdCount[];
}

/** Keeps a batch and stages the job that adds it up; a batch that is there already, added up or not, stays as it is. */
export async function insertAdBatch(db: Db, { id, day, counts }: AdBatch): Promise<void> {
  await db`
    with made as (
      insert into ad_batches (id, day, banner_ids, impressions, clicks)
      values (
        ${id}::uuid, ${day}::date, ${counts.map(({ bannerId }) => bannerId)}::uuid[],
        ${counts.map(({ impressions }) => impressions)}::integer[], ${counts.map(({ clicks }) => clicks)}::integer[]
      )
      on conflict (id) do nothing
      returning stage_job('ad-events', jsonb_build_object('batchId', id))
    )
    select from made`;
}

/** Adds a batch up, unless that was done before; answers the campaigns whose budget is spent by it, and which it has completed. */
export async function applyAdBatch(db: Db, id: string): Promise<string[]> {
  const { from, to } = campaignMoves.COMPLETE;
  const rows = await db<{ id: string | null }[]>`
    select a.campaign_id as id
    from apply_ad_batch(${id}::uuid, ${[...from]}::campaign_status[], ${to}::campaign_status) a`;
  return rows.flatMap(({ id }) => id ?? []);
}

/**
 * Deletes up to `limit` batches that were added up a day ago, which is longer than anyone hands one in again; and those
 * that were not in a month, when their jobs, given up, are gone as well. Answers how many.
 */
export async function deleteOldAdBatches(db: Db, limit: number): Promise<number> {
  const { count } = await db`
    delete from ad_batches
    where id in (
      (select id from ad_batches where applied_at < now() - interval '1 day' limit ${limit})
      union all
      (select id from ad_batches where applied_at is null and created_at < now() - interval '31 days' limit ${limit})
    )`;
  return count;
}
