import { Readable } from "node:stream";
import type { ReportProgress } from "../lib/domain/progress.js";
import { Snooze } from "../lib/process/errors.js";
import { files, imageAddress, keysOf } from "../lib/storage/file-store.js";
import { dataExport, fanOut } from "../queues/index.js";
import { sql, transaction, type Db } from "../sql/db.js";
import { stageJob } from "../sql/outbox.js";
import {
  dataExportStillExists,
  findOpenDataExport,
  updateDataExportFailed,
  updateDataExportReady,
} from "../sql/queries/data-exports.js";
import {
  findOwnAccount,
  findOwnLoyalty,
  findOwnPromoCode,
  listDeclinedOrders,
  listInvitationsOfPhone,
  listOwnActions,
  listOwnDevices,
  listOwnFavorites,
  listOwnLoyaltyEntries,
  listOwnNotifications,
  listOwnOrders,
  listOwnPartners,
  listOwnPosEvents,
  listOwnReviews,
  listOwnSessions,
  listUploads,
} from "../sql/queries/personal-data.js";
import { findPreferences } from "../sql/queries/preferences.js";
import type { Handler } from "./consume.js";

/** Rows in memory at a time. */
const PAGE = 200;

type List = (db: Db, userId: string, after: string | null, limit: number) => Promise<readonly { id: string }[]>;

/** The lists of the file, by name. */
const lists: Readonly<Record<string, List>> = {
  orders: listOwnOrders,
  declinedOrders: listDeclinedOrders,
  reportsOfTills: listOwnPosEvents,
  reviews: listOwnReviews,
  points: listOwnLoyaltyEntries,
  favorites: listOwnFavorites,
  devices: listOwnDevices,
  notifications: listOwnNotifications,
  logins: listOwnSessions,
  files: listUploads,
  partners: listOwnPartners,
  invitations: listInvitationsOfPhone,
  actions: listOwnActions,
};

async function profileOf(userId: string) {
  const account = await findOwnAccount(sql, userId);
  if (!account) return null;
  const { avatar, ...profile } = account;
  return { ...profile, avatarUrl: avatar === null ? profile.avatarUrl : imageAddress(avatar) };
}

/** Writes a user's data as JSON, a line for each row, reading on only as fast as the file is written. It reports the lists that are done. */
async function* write(userId: string, report: ReportProgress, stopping: AbortSignal): AsyncGenerator<string> {
  const facts = {
    profile: await profileOf(userId),
    notificationPreferences: await findPreferences(sql, userId),
    loyalty: (await findOwnLoyalty(sql, userId)) ?? null,
    promoCode: (await findOwnPromoCode(sql, userId)) ?? null,
  };
  yield `{"madeAt": ${JSON.stringify(new Date())}`;
  for (const [name, fact] of Object.entries(facts)) yield `,\n"${name}": ${JSON.stringify(fact)}`;
  for (const [index, [name, list]] of Object.entries(lists).entries()) {
    yield `,\n"${name}": [`;
    let after: string | null = null;
    for (let rows = PAGE; rows === PAGE;) {
      stopping.throwIfAborted();
      const page: Awaited<ReturnType<List>> = await list(sql, userId, after, PAGE);
      for (const row of page) {
        yield `${after === null ? "" : ","}\n${JSON.stringify(row)}`;
        after = row.id;
      }
      rows = page.length;
    }
    report(index + 1, Object.keys(lists).length);
    yield "]";
  }
  yield "}\n";
}

/** Every run writes the whole file; the first that ends settles the export, and has its user notified. */
export const exportData: Handler<{ exportId: string }> = async ({
  payload: { exportId },
  attempt,
  signal,
  progress,
  requestId,
}) => {
  const open = await findOpenDataExport(sql, exportId);
  if (!open) return;
  const key = keysOf(open.name).data;
  try {
    const bytes = Readable.from(write(open.userId, progress, signal), { objectMode: false });
    await files.put(key, bytes, "application/json");
  } catch (error) {
    if (signal.aborted) throw new Snooze(new Date());
    if (attempt >= dataExport.attempts) await updateDataExportFailed(sql, exportId);
    throw error;
  }
  const isFirst = await transaction(async (tx) => {
    const settled = await updateDataExportReady(tx, exportId);
    if (settled)
      await stageJob(tx, fanOut, { event: "DATA_EXPORT_READY", subjectId: exportId, after: null }, { requestId });
    return settled;
  });
  // when it was deleted meanwhile, nothing else would delete a file that came later
  if (!isFirst && !(await dataExportStillExists(sql, exportId))) await files.delete(key);
};
