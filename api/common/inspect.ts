import type { LastCalls, VendorCalls } from "../../lib/outbound/vendor-calls.js";
import { config } from "../../lib/process/config.js";
import { BEAT_SECONDS, Facts } from "../../sql/beats.js";
import { sql } from "../../sql/db.js";
import { insertAuditEvent } from "../../sql/queries/audit-events.js";
import { findHeartbeatAge } from "../../sql/queries/heartbeats.js";
import { listDeliveries } from "../../sql/queries/deliveries.js";
import {
  countParkedEvents,
  countQueuedEvents,
  findById,
  findByPhone,
  findByPickupCode,
  findOrderContact,
  findOrderFacts,
  findPosEventByNumber,
  listMoves,
  listNotificationFacts,
  listNotificationsOfOrder,
  listPartnerEvents,
  listPartnerNames,
  type FoundRow,
  type NotificationFacts,
  type OrderContact,
} from "../../sql/queries/operations.js";
import { findImportProgress, type WorkProgress } from "../../sql/queries/menu-imports.js";
import { findSyncProgress } from "../../sql/queries/pos-syncs.js";
import { recipientsOf } from "../../sql/queries/recipients.js";
import { listQueueSettings, type QueueSetting } from "../../sql/queries/queue-settings.js";
import { findYesterday, listDueDays } from "../../sql/queries/rollups.js";
import {
  findDatabaseState,
  listLastCalls,
  listProcesses,
  listQueueMinutes,
  listUpkeepRuns,
  type ProcessRow,
  type QueueMinute,
} from "../../sql/queries/service-state.js";
import {
  findJobs,
  listDeadJobs,
  listJobIdsAbout,
  listJobIdsOfRequest,
  listJobOwners,
  listJobsWith,
  listOpenJobs,
  summarizeQueues,
  type JobFilter,
  type JobRow,
} from "../../sql/outbox-operators.js";
import { contracts, fanOut, menuImport, posSync, push, upkeep } from "../../queues/index.js";
import { upkeepTasks } from "../../queues/upkeep.js";
import { phonePattern } from "../../lib/domain/phone.js";

/** What operators look at: on the console's pages, through the API and in a shell. */

/** The most jobs that a timeline shows. */
const MOST_JOBS = 500;
const MOST_FOUND = 20;
const MOST_OWNERS = 10;

/** Of a payload that breaks the contract. */
const noEvent = { event: null, subjectId: "", after: null };

const neverRun = { startedAt: null, ms: null, changed: null, error: null };

/** Nothing, of a process of another release. */
const noFacts = { statements: 0, transactions: 0, waiting: 0, replicas: [], vendors: [], paused: [] };

const processOf = ({ facts, silentSeconds, ...row }: ProcessRow) => ({
  ...row,
  silentSeconds,
  alive: silentSeconds < 3 * BEAT_SECONDS,
  ...(Facts.safeParse(facts).data ?? noFacts),
});

type Process = ReturnType<typeof processOf>;

/** Calls to a third party: of the last five minutes together, and the last ones. */
export interface Vendor extends VendorCalls, LastCalls {}

/** Adds up the calls of all processes that are alive, by vendor, with the last calls of all that ever were. */
function vendorsOf(processes: readonly Process[], lastCalls: readonly LastCalls[]): Vendor[] {
  const none = { calls: 0, failed: 0, succeededAt: null, failedAt: null };
  const sums = new Map<string, Vendor>(lastCalls.map((last) => [last.vendor, { ...none, ...last }]));
  for (const { vendor, calls, failed } of processes.flatMap(({ alive, vendors }) => (alive ? vendors : []))) {
    const sum = sums.get(vendor) ?? { ...none, vendor };
    sums.set(vendor, { ...sum, calls: sum.calls + calls, failed: sum.failed + failed });
  }
  return [...sums.values()].toSorted((a, b) => a.vendor.localeCompare(b.vendor, "en"));
}

/** Returns the third parties that are paused in any process that is alive: from its first pause to the end of the last one. */
function pausedOf(processes: readonly Process[]) {
  const all = new Map<string, Process["paused"][number] & { processes: number }>();
  for (const pause of processes.flatMap(({ alive, paused }) => (alive ? paused : []))) {
    const key = `${pause.queue} ${pause.origin}`;
    const { since, until, processes } = all.get(key) ?? { ...pause, processes: 0 };
    all.set(key, {
      ...pause,
      since: pause.since < since ? pause.since : since,
      until: pause.until > until ? pause.until : until,
      processes: processes + 1,
    });
  }
  return [...all.values()];
}

/** What is set for a queue, also when nothing is. */
const settingOf = (queue: string, settings: readonly QueueSetting[]): QueueSetting => ({
  queue,
  pausedAt: null,
  pausedWhy: null,
  concurrency: null,
  perMinute: null,
  ...settings.find((setting) => setting.queue === queue),
});

/** Returns what operators have set for a queue. */
export const queueSetting = async (queue: string) => settingOf(queue, await listQueueSettings(sql));

const idle = { due: 0, waiting: 0, oldestDueSeconds: 0, stagedPerMinute: 0, donePerMinute: 0, dead: 0 };

/** Returns what each queue has to do, and what is set for it. */
async function queueStates() {
  const [summaries, settings] = await Promise.all([summarizeQueues(sql), listQueueSettings(sql)]);
  return contracts.map(({ queue }) => ({
    ...idle,
    ...summaries.find((summary) => summary.queue === queue),
    ...settingOf(queue, settings),
  }));
}

export type QueueState = Awaited<ReturnType<typeof queueStates>>[number];

/** Returns what a queue has to do, and what is set for it. */
export const queueState = async (queue: string) => (await queueStates()).find((state) => state.queue === queue);

/** Returns who has the most of a queue's due jobs, with the names of partners. */
export async function jobOwners(queue: string) {
  const owners = await listJobOwners(sql, queue, MOST_OWNERS);
  const names = await listPartnerNames(
    sql,
    owners.flatMap(({ partnerId }) => partnerId ?? []),
  );
  return owners.map((owner) => ({
    ...owner,
    partner: names.find(({ id }) => id === owner.partnerId)?.name ?? null,
  }));
}

/** Returns the partners with the most POS events that are not applied. */
export const partnerEvents = () => listPartnerEvents(sql, MOST_OWNERS);

/** Returns the last run of each upkeep task. */
export async function upkeepRuns() {
  const runs = await listUpkeepRuns(sql);
  return upkeepTasks.map((task) => ({ ...neverRun, ...runs.find((run) => run.task === task), task }));
}

/** Returns the state of the whole service: its queues, and what waits for an operator. */
export async function overview() {
  const zone = config.DEFAULT_TIMEZONE;
  const [queues, upkeep, rows, database, parked, queued, lastCalls, dueDays, canarySeconds] = await Promise.all([
    queueStates(),
    upkeepRuns(),
    listProcesses(sql),
    findDatabaseState(sql),
    countParkedEvents(sql),
    countQueuedEvents(sql),
    listLastCalls(sql),
    findYesterday(sql, zone).then((yesterday) => listDueDays(sql, zone, yesterday)),
    findHeartbeatAge(sql, "canary"),
  ]);
  const processes = rows.map(processOf);
  return {
    queues,
    queuedPosEvents: queued.events,
    posEventsDueSeconds: queued.dueSeconds,
    parkedPosEvents: parked.events,
    partnersWithParkedEvents: parked.partners,
    rollupDaysDue: dueDays.length,
    canaryAgeSeconds: canarySeconds ?? null,
    processes,
    vendors: vendorsOf(processes, lastCalls),
    paused: pausedOf(processes),
    upkeep,
    database,
  };
}

/** Returns what a queue did in each minute that was recorded, oldest first, of the rows of all queues. */
export function minutesOf(queue: string, rows: readonly QueueMinute[]): QueueMinute[] {
  const own = new Map(rows.flatMap((row) => (row.queue === queue ? [[row.minute.getTime(), row] as const] : [])));
  return rows.flatMap(({ minute, queue: of }) =>
    of === upkeep.queue
      ? [own.get(minute.getTime()) ?? { minute, queue, staged: 0, done: 0, oldestDueSeconds: 0 }]
      : [],
  );
}

/** Returns what all queues did in the last hours; `minutesOf` makes the minutes of each. */
export const allQueueMinutes = (hours: number) => listQueueMinutes(sql, null, hours);

/** Returns what a queue did in each minute of the last hours that was recorded. */
export const queueMinutes = async (queue: string, hours: number) =>
  minutesOf(queue, await listQueueMinutes(sql, queue, hours));

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
