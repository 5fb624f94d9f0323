import { sql } from "../../sql/db.js";
import type { AdCount } from "../../sql/queries/ad-batches.js";
import { countAds } from "../../workers/ad-events.js";
import { task } from "./task.js";

/** The counts of a banner without invalid traffic. */
export const validCount = (bannerId: string, impressions: number, clicks = 0): AdCount => ({
  ...{ bannerId, impressions, clicks },
  ...{ invalidImpressions: 0, invalidClicks: 0 },
});

/** Runs every job of the ad batches, `times` times each, all concurrently. */
export async function runAdJobs(times = 1): Promise<void> {
  const jobs = await sql<{ payload: { batchId: string } }[]>`
    select payload from staged_jobs where queue = 'ad-events' order by id`;
  const runs = Array.from({ length: times }, () => jobs).flat();
  await Promise.all(runs.map(({ payload }) => countAds(task(payload))));
}
