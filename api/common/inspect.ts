import { sql } from "../../sql/db.js";
import { insertAuditEvent } from "../../sql/queries/audit-events.js";
import { listDeliveries } from "../../sql/queries/deliveries.js";
import {
  findById,
  findByPhone,
  findByPickupCode,
  findOrderContact,
  findOrderFacts,
  findPosEventByNumber,
  listMoves,
  listNotificationFacts,
  listNotificationsOfOrder,
  type FoundRow,
  type NotificationFacts,
  type OrderContact,
} from "../../sql/queries/operations.js";
import { findImportProgress, type WorkProgress } from "../../sql/queries/menu-imports.js";
import { findSyncProgress } from "../../sql/queries/pos-syncs.js";
import { recipientsOf } from "../../sql/queries/recipients.js";
import {
  findJobs,
  listDeadJobs,
  listJobIdsAbout,
  listJobIdsOfRequest,
  listJobsWith,
  listOpenJobs,
  type JobFilter,
  type JobRow,
} from "../../sql/operators/jobs.js";
import { fanOut, menuImport, posSync, push } from "../../queues/index.js";
import { phonePattern } from "../../lib/domain/phone.js";

/** What happened to something: on the console's pages, through the API and in a shell. */

/** The most jobs that a timeline shows. */
const MOST_JOBS = 500;
const MOST_FOUND = 20;

/** Of a payload that breaks the contract. */
const noEvent = { event: null, subjectId: "", after: null };

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const foundJob = ({ id, state, stagedAt }: JobRow): FoundRow => ({
  kind: "JOB",
  id: String(id),
  state,
  at: stagedAt,
});

/**
 * Finds what `words` may mean: an id, the number of a job (also as the queue dashboard shows it) or of a POS event, the pickup
 * code of an open order, a phone, or the id of a request that was made at about `at`. A search by phone is audited under the user
 * `by`, null in a shell. Without a user (`undefined`, as for a service key) it finds nothing by phone.
 */
export async function search(words: string, at: Date, by: string | null | undefined): Promise<FoundRow[]> {
  const phone = words.replace(/[\s()-]/g, "");
  if (phonePattern.test(phone)) {
    if (by === undefined) return [];
    const found = await findByPhone(sql, phone, MOST_FOUND);
    const user = found.find(({ kind }) => kind === "USER")?.id ?? "unknown";
    await insertAuditEvent(sql, { actorId: by, action: "PHONE_SEARCHED", details: { user } });
    return found;
  }
  const [number = null] = /^\d{1,15}(?=$|\.\d+$)/.exec(words) ?? [];
  const found = await Promise.all([
    uuid.test(words) ? findById(sql, words) : [],
    number === null ? [] : findJobs(sql, [Number(number)]).then((jobs) => jobs.map(foundJob)),
    number === null ? [] : findPosEventByNumber(sql, number),
    /^\d{6}$/.test(words) ? findByPickupCode(sql, words, MOST_FOUND) : [],
    listJobIdsOfRequest(sql, words, at, MOST_JOBS)
      .then((ids) => findJobs(sql, ids))
      .then((jobs) => jobs.map(foundJob)),
  ]);
  return found.flat();
}

/** One thing that happened, or is to happen. */
export interface TimelineEntry {
  at: Date;
  what: string;
  jobId: number | null;
}

const secondsOf = (from: Date, to: Date) => `${(Math.max(to.getTime() - from.getTime(), 0) / 1_000).toFixed(1)} s`;

const entry = (at: Date, what: string, jobId: number | null = null): TimelineEntry => ({ at, what, jobId });

/** The steps of a job, in words. */
function stepsOf({ id, queue, stagedAt, runAt, attempts, doneAt, deadAt, state, lastError }: JobRow): TimelineEntry[] {
  const job = `${queue} job ${id}`;
  const tried = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  const failure = lastError === null ? "" : `; the last error: ${lastError}`;
  const steps = [entry(stagedAt, `${job} staged`, id)];
  // a job that succeeds has no error any more
  if (doneAt && lastError === null)
    steps.push(entry(doneAt, `${job} done after ${tried}, ${secondsOf(stagedAt, doneAt)} after it was staged`, id));
  else if (doneAt) steps.push(entry(doneAt, `${job} ended without its effect${failure}`, id));
  else if (deadAt) steps.push(entry(deadAt, `${job} given up after ${tried}${failure}`, id));
  else if (state === "WAITING") steps.push(entry(runAt, `${job} is to run${failure}`, id));
  else steps.push(entry(runAt, `${job} is due, after ${tried}${failure}`, id));
  return steps;
}

const dropped: Readonly<Record<string, string>> = {
  "no device": "its user has no device that takes pushes",
  "push is off": "its user has turned pushes off",
  "marketing is off": "its user does not want marketing",
  "no longer with the partner": "its user no longer works for the partner",
  expired: "it was of no more use when it could be sent",
  "expires in quiet hours": "it would be of no more use at the end of its user's quiet hours",
};

/** Says in words why a notification was sent, is not sent yet, or never will be. `job` is its push's. */
export function explain(
  { status, reason }: Pick<NotificationFacts, "status" | "reason">,
  job: JobRow | undefined,
): string {
  switch (status) {
    case "SENT":
      return reason === null ? "Sent: a push service has taken it." : `It may have been sent: ${reason}.`;
    case "DROPPED":
      return `Not sent, and never will be: ${dropped[reason ?? ""] ?? reason ?? "no reason is known"}.`;
    case "FAILED":
      return `Not sent: ${reason ?? "every device failed"}.`;
    case "QUEUED":
    case "DEFERRED":
      if (job?.state === "DEAD")
        return `Not sent: job ${job.id} was given up (${job.lastError ?? "no error"}). Replay it.`;
      if (job?.state === "WAITING") return `Not sent before ${job.runAt.toISOString()}: ${reason ?? "its job waits"}.`;
      if (job?.state === "DUE") return `Not sent yet: job ${job.id} is due.`;
      return "Not sent, and it has no open job.";
  }
}

const pushJobOf = (jobs: readonly JobRow[], id: string) => jobs.find(({ payload }) => payload["notificationId"] === id);

async function explained(notifications: readonly NotificationFacts[], jobs: readonly JobRow[]) {
  const deliveries = await listDeliveries(
    sql,
    notifications.map(({ id }) => id),
  );
  return notifications.map((notification) => ({
    ...notification,
    why: explain(notification, pushJobOf(jobs, notification.id)),
    deliveries: deliveries.flatMap(({ notificationId, ...delivery }) =>
      notificationId === notification.id ? [delivery] : [],
    ),
  }));
}

type Explained = Awaited<ReturnType<typeof explained>>[number];

function pathOf({ kind, userId, createdAt, settledAt, readAt, why, deliveries }: Explained): TimelineEntry[] {
  return [
    entry(createdAt, `notification ${kind} for user ${userId}`),
    ...deliveries.map(({ startedAt, endedAt, platform, status, reason }) =>
      entry(endedAt ?? startedAt, `delivery to ${platform} device: ${status}${reason === null ? "" : `, ${reason}`}`),
    ),
    ...(settledAt ? [entry(settledAt, `notification ${kind}: ${why}`)] : []),
    ...(readAt ? [entry(readAt, `notification ${kind} read`)] : []),
  ];
}

const inOrder = (entries: TimelineEntry[]) => entries.toSorted((a, b) => a.at.getTime() - b.at.getTime());

const jobsAbout = async (id: string) => findJobs(sql, await listJobIdsAbout(sql, id, MOST_JOBS));

/** As much of a phone and an address as anyone may see who looks: enough to compare the phone with one that is known. */
const masked = ({ phone, address }: OrderContact): OrderContact => ({
  phone: phone === null ? null : `${phone.slice(0, 2)}${"•".repeat(Math.max(phone.length - 4, 0))}${phone.slice(-2)}`,
  address: address === null ? null : "•••",
});

/** Returns all that is known of an order: its moves, jobs and notifications in the order of time; undefined for another id. */
export async function inspectOrder(id: string) {
  const [order, contact, moves, jobs, rows] = await Promise.all([
    findOrderFacts(sql, id),
    findOrderContact(sql, id),
    listMoves(sql, id),
    jobsAbout(id),
    listNotificationsOfOrder(sql, id),
  ]);
  if (!order || !contact) return undefined;
  const notifications = await explained(rows, jobs);
  const timeline = inOrder([
    ...moves.map(({ at, actor, toStatus }) => entry(at, `${toStatus}, by ${actor}`)),
    ...notifications.flatMap(pathOf),
    ...jobs.flatMap(stepsOf),
  ]);
  return { order: { ...order, ...masked(contact) }, notifications, jobs, timeline };
}

/** Returns all that is known of a notification; undefined for another id. */
export async function inspectNotification(id: string) {
  const rows = await listNotificationFacts(sql, [id]);
  if (rows.length === 0) return undefined;
  const jobs = await jobsAbout(id);
  const [notification] = await explained(rows, jobs);
  if (!notification) return undefined;
  return { notification, jobs, timeline: inOrder([...pathOf(notification), ...jobs.flatMap(stepsOf)]) };
}

/** Returns what has this id, such as a file or a menu import, and the jobs that it caused when it was made; undefined for another id. */
export async function inspectThing(id: string) {
  const [found] = await findById(sql, id);
  if (!found) return undefined;
  const jobs = await jobsAbout(id);
  return { found, jobs, timeline: inOrder([entry(found.at, `${found.kind} made`), ...jobs.flatMap(stepsOf)]) };
}

/** Returns the jobs that a request caused, at about `at`, and the notifications that they send. */
export async function inspectRequest(requestId: string, at: Date) {
  const jobs = await findJobs(sql, await listJobIdsOfRequest(sql, requestId, at, MOST_JOBS));
  const ids = jobs.flatMap(({ queue, payload }) => {
    const id = queue === push.queue && push.payload.safeParse(payload).data?.notificationId;
    return id ? [id] : [];
  });
  const notifications = await explained(await listNotificationFacts(sql, ids), jobs);
  return { notifications, jobs, timeline: inOrder([...notifications.flatMap(pathOf), ...jobs.flatMap(stepsOf)]) };
}

/** The time at which a request is looked for when its caller names none. */
export const recently = (at: Date | undefined): Date => at ?? new Date(Date.now() - 5 * 60_000);

/** Returns how many followers the batches before this one have served; undefined in the first batch, and for few recipients. */
async function progressOfFanOut({ payload }: JobRow): Promise<WorkProgress | undefined> {
  const { event, subjectId, after } = fanOut.payload.safeParse(payload).data ?? noEvent;
  if (event === null || after === null) return undefined;
  const audience = recipientsOf[event];
  return "countTo" in audience ? { ...(await audience.countTo(sql, subjectId, after)), startedAt: null } : undefined;
}

/** Returns how far a job is, by the rows that it works on, with or without a worker and the broker; undefined where none say it. */
export async function progressOfJob(job: JobRow): Promise<WorkProgress | undefined> {
  const importId = job.queue === menuImport.queue && menuImport.payload.safeParse(job.payload).data?.importId;
  if (importId) return findImportProgress(sql, importId);
  const syncId = job.queue === posSync.queue && posSync.payload.safeParse(job.payload).data?.syncId;
  if (syncId) return findSyncProgress(sql, syncId);
  return job.queue === fanOut.queue ? progressOfFanOut(job) : undefined;
}

/** Lists jobs in one state, newest first, below the id `after`. */
export const jobsIn = (
  state: "DEAD" | "DUE" | "WAITING",
  { argument, ...others }: JobFilter,
  after: number | null,
  limit: number,
): Promise<readonly JobRow[]> => {
  if (argument !== null) return listJobsWith(sql, state, { argument, ...others }, after, limit);
  return state === "DEAD" ? listDeadJobs(sql, others, after, limit) : listOpenJobs(sql, state, others, after, limit);
};
