import { Snooze } from "../lib/process/errors.js";
import { fanOut, push } from "../queues/index.js";
import type { Occasion } from "../queues/fan-out.js";
import { sql, transaction, type Db } from "../sql/db.js";
import {
  findReminderTime,
  insertCampaignCompletedNotifications,
  insertCustomerNotification,
  insertFavoriteNotifications,
  insertOrderCancelledNotifications,
  insertOrderPlacedNotifications,
  insertPartnerNotifications,
  insertReviewModeratedNotification,
  insertReviewReceivedNotifications,
  insertRewardNotifications,
  type Batch,
  type Written,
} from "../sql/queries/fan-out.js";
import { findBacklog, stageJob, stageJobs } from "../sql/queries/staged-jobs.js";
import { poke } from "../sql/signals.js";
import type { Handler } from "./consume.js";

/** How many of a large audience are told by one job. */
const BATCH = 1_000;
/** The next batch waits while so many messages do: whoever has ordered is not to wait behind all of them. */
const MOST_WAITING = 1_000;
const BACKLOG_PAUSE_MS = 2_000;

/** Writes the notifications of an occasion, or a batch of them. */
type Tell = (tx: Db, subjectId: string, after: string | null) => Promise<Batch>;

const toAll =
  (write: (tx: Db, subjectId: string) => Promise<Written>): Tell =>
  async (tx, subjectId) => ({ written: await write(tx, subjectId), last: null });

const large = new Set<Occasion>(["BOX_LISTED", "BOX_BACK", "BOX_CHEAPER"]);

/** Who is told of what. One more occasion is one more entry. */
const audiences: Readonly<Record<Occasion, Tell>> = {
  ORDER_PLACED: toAll(insertOrderPlacedNotifications),
  PICKUP_SOON: toAll((tx, id) => insertCustomerNotification(tx, id, "PICKUP_SOON")),
  ORDER_READY: toAll((tx, id) => insertCustomerNotification(tx, id, "ORDER_READY")),
  ORDER_COMPLETED: toAll(insertRewardNotifications),
  ORDER_CANCELLED: toAll(insertOrderCancelledNotifications),
  ORDER_NO_SHOW: toAll((tx, id) => insertCustomerNotification(tx, id, "ORDER_NO_SHOW")),
  REVIEW_PUBLISHED: toAll(insertReviewReceivedNotifications),
  REVIEW_APPROVED: toAll((tx, id) => insertReviewModeratedNotification(tx, id, "REVIEW_APPROVED")),
  REVIEW_REJECTED: toAll((tx, id) => insertReviewModeratedNotification(tx, id, "REVIEW_REJECTED")),
  PARTNER_ACTIVE: toAll((tx, id) => insertPartnerNotifications(tx, id, "PARTNER_APPROVED")),
  PARTNER_REJECTED: toAll((tx, id) => insertPartnerNotifications(tx, id, "PARTNER_REJECTED")),
  PARTNER_SUSPENDED: toAll((tx, id) => insertPartnerNotifications(tx, id, "PARTNER_SUSPENDED")),
  CAMPAIGN_COMPLETED: toAll(insertCampaignCompletedNotifications),
  BOX_LISTED: (tx, id, after) => insertFavoriteNotifications(tx, id, "FAVORITE_LISTED", after, BATCH),
  BOX_BACK: (tx, id, after) => insertFavoriteNotifications(tx, id, "BOX_BACK", after, BATCH),
  BOX_CHEAPER: (tx, id, after) => insertFavoriteNotifications(tx, id, "BOX_CHEAPER", after, BATCH),
};

/**
 * Writes the notifications of what has happened and stages their delivery and, where there are more to tell, the job that
 * goes on, all in the transaction that settles this one: wherever it is cut short, nobody is left out or told twice.
 */
export const announce: Handler<{ announcement: Occasion; subjectId: string; after: string | null }> = async ({
  payload: { announcement, subjectId, after },
  requestId,
  done,
}) => {
  if (large.has(announcement)) {
    const { jobs, at } = await findBacklog(sql, push, MOST_WAITING);
    if (jobs === MOST_WAITING) throw new Snooze(new Date(at.getTime() + BACKLOG_PAUSE_MS));
  }
  await transaction(async (tx) => {
    const { written, last } = await audiences[announcement](tx, subjectId, after);
    await stageJobs(
      tx,
      push,
      written.map(({ id }) => ({ notificationId: id })),
      { requestId },
    );
    if (last !== null) await stageJob(tx, fanOut, { announcement, subjectId, after: last }, { requestId });
    const remindAt = announcement === "ORDER_PLACED" ? await findReminderTime(tx, subjectId) : undefined;
    if (remindAt)
      await stageJob(
        tx,
        fanOut,
        { announcement: "PICKUP_SOON", subjectId, after: null },
        { requestId, runAt: remindAt },
      );
    await done(tx);
  });
  poke("staged_jobs");
};
