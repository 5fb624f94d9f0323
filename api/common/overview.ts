import type { LastCalls, VendorCalls } from "../../lib/outbound/vendor-calls.js";
import { config } from "../../lib/process/config.js";
import { BEAT_SECONDS, Facts } from "../../sql/beats.js";
import { sql } from "../../sql/db.js";
import { findHeartbeatAge } from "../../sql/queries/heartbeats.js";
import {
  countParkedEvents,
  countQueuedEvents,
  listPartnerEvents,
  listPartnerNames,
} from "../../sql/queries/operations.js";
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
import { listJobOwners, summarizeQueues } from "../../sql/operators/queues.js";
import { contracts, upkeep } from "../../queues/index.js";
import { upkeepTasks } from "../../queues/upkeep.js";

/** The state of the service: on the console's pages, through the API and in a shell. */

const MOST_OWNERS = 10;

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
