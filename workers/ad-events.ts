import { contended } from "../sql/db.js";
import { applyAdBatch } from "../sql/queries/ad-batches.js";
import type { Handler } from "./consume.js";

/** Counts a batch. It is marked as counted together with the sums, so running twice changes nothing. */
export const countAds: Handler<{ batchId: string }> = async ({ payload, log }) => {
  const completed = await applyAdBatch(contended, payload.batchId);
  for (const campaignId of completed) log.info({ campaignId }, "a campaign has spent its budget: it is complete");
};
