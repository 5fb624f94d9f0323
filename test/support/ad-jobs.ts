import { sql } from "../../sql/db.js";
import { countAds } from "../../workers/ad-events.js";
import { task } from "./task.js";

/** Runs every job that adds a batch up, as often as is said, all at once. */
export async function runAdJobs(times = 1): Promise<void> {
  const jobs = await sql<{ payload: { batchId: string } }[]>`
    select payload from staged_jobs where queue = 'ad-events' order by id`;
  const runs = Array.from({ length: times }, () => jobs).flat();
  await Promise.all(runs.map(({ payload }) => countAds(task(payload))));
}
