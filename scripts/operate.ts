import "./configured.js";
import { parseArgs } from "node:util";
import { z } from "zod";
import {
  actOnJobs,
  actOnParkedEvents,
  changeQueue,
  disconnectPos,
  fitsState,
  hasItsTime,
  rollUpNow,
  runUpkeepNow,
  stopBulkAction,
  type By,
} from "../api/common/operate.js";
import { resendForOperator, switchEndpoint } from "../api/common/webhook-endpoints.js";
import { Argument, argumentText } from "../api/common/argument.js";
import { inspectNotification, inspectOrder, inspectThing, jobsIn, recently, search } from "../api/common/inspect.js";
import { jobOwners, overview, partnerEvents, queueSetting } from "../api/common/overview.js";
import type { enums } from "../lib/domain/enums.js";
import { ApiError } from "../lib/process/errors.js";
import { exitWithLine } from "../lib/process/lifecycle.js";
import { contracts } from "../queues/index.js";
import { upkeepTasks } from "../queues/upkeep.js";
import { closeDatabase, sql } from "../sql/db.js";
import {
  findBulkAction,
  insertBulkAction,
  listBulkActions,
  type BulkActionRow,
  type NewBulkAction,
} from "../sql/operators/bulk-actions.js";
import { anyJob, type JobFilter, type JobRow } from "../sql/operators/jobs.js";
import { listParkedEvents } from "../sql/queries/pos-events.js";
import { listWatchedEndpoints } from "../sql/queries/webhook-operations.js";
import { usage } from "./command.js";
import { finishBulkAction } from "./finish-bulk-action.js";

/** `npm run ops -- …`: the operators' console in a shell. */

const commands =
  "now | backlog [<queue>] | find <words> | order <id> | show <id> | jobs | replay, dismiss, run, snooze, cancel <number>… or --all | " +
  "actions | stop <id of an action> | " +
  "pause, resume <queue> | concurrency <queue> <number>|default | rate <queue> <number a minute>|default | disconnect <partner> | " +
  "events [replay|dismiss [<number>…|--all]] | webhooks [stop|start|resend <id>] [--since <time>] | " +
  "upkeep <task> | rollup --from <day> [--to <day>]";

const Queue = z.enum(contracts.map(({ queue }) => queue));
const RowNumber = z.coerce.number().int().positive();
const Options = z.object({
  state: z.enum(["DEAD", "DUE", "WAITING"]).optional(),
  queue: Queue.optional(),
  error: z.string().min(1).max(200).optional(),
  "staged-from": z.coerce.date().optional(),
  "staged-before": z.coerce.date().optional(),
  attempts: z.coerce.number().int().min(1).max(999).optional(),
  argument: Argument.optional(),
  limit: z.coerce.number().int().min(1).max(10_000).default(50),
  at: z.coerce.date().optional(),
  until: z.coerce.date().optional(),
  since: z.coerce.date().optional(),
  from: z.iso.date().optional(),
  to: z.iso.date().optional(),
  partner: z.uuid().optional(),
  why: z.string().trim().min(1).max(500).optional(),
  all: z.boolean(),
  yes: z.boolean(),
  json: z.boolean(),
});

const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;

/** The arguments, or the reason why they are wrong. */
function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        ...{ state: text, queue: text, error: text, limit: text, at: text, until: text, from: text, to: text },
        ...{ "staged-from": text, "staged-before": text, attempts: text, argument: text },
        ...{ since: text, partner: text, why: text, all: flag, yes: flag, json: flag },
      },
    });
    return { ...Options.parse(values), words: positionals };
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : "";
    return exitWithLine(`${usage}: ${commands}${reason === "" ? "" : `\n${reason}`}`);
  }
}

const { words, ...options } = readArguments();
const [command = "", ...rest] = words;

type Cell = string | number | boolean | Date | null;
type Row = Readonly<Record<string, Cell>>;

const shown = (cell: Cell | undefined): string =>
  cell instanceof Date ? cell.toISOString().slice(0, 19).replace("T", " ") : String(cell ?? "");

/** Prints rows as a table, or as JSON. */
function print(rows: readonly Row[]): void {
  if (options.json) {
    process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    return;
  }
  const names = Object.keys(rows[0] ?? {});
  const width = (name: string) => Math.max(name.length, ...rows.map((row) => shown(row[name]).length));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, n) => cell.padEnd(width(names[n] ?? "")))
      .join("  ")
      .trimEnd();
  const lines =
    rows.length === 0 ? ["Nothing."] : [line(names), ...rows.map((row) => line(names.map((name) => shown(row[name]))))];
  process.stdout.write(`${lines.join("\n")}\n`);
}

const jobRow = ({ id, queue, state, attempts, stagedAt, runAt, lastError }: JobRow): Row => ({
  ...{ id, queue, state, attempts, stagedAt, runAt, lastError },
});

const actionRow = ({
  id,
  kind,
  state,
  queue,
  argument,
  partnerId,
  matched,
  changed,
  createdAt,
  settledAt,
  stoppedWhy,
}: BulkActionRow): Row => ({
  ...{ id, kind, state, queue, argument: argument && argumentText(argument), partnerId, matched, changed, createdAt },
  ...{ settledAt, stoppedWhy },
});

/** Who acts and why; ends the program unless it is sure. `what` is what would be done. */
function consent(what: string): By {
  const { why, yes } = options;
  if (why === undefined) throw new Refused('Say why, for the audit log: --why "…"');
  if (!yes) throw new Refused(`This would ${what}. Say --yes to do it.`);
  return { actorId: null, why };
}

/** What is shown to the caller, who did not ask for something that can be done. */
class Refused extends Error {
  override name = "Refused";
}

function parsed<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (!result.success) throw new Refused(z.prettifyError(result.error));
  return result.data;
}

/** The queue that a command names. */
const onlyQueue = (): z.output<typeof Queue> => parsed(Queue, rest[0]);

async function now(): Promise<void> {
  const state = await overview();
  if (options.json) {
    process.stdout.write(`${JSON.stringify(state, null, 2)}\n`);
    return;
  }
  print(
    state.queues.map(
      ({
        queue,
        due,
        oldestDueSeconds,
        waiting,
        dead,
        stagedPerMinute,
        donePerMinute,
        pausedWhy,
        concurrency,
        perMinute,
      }) => ({
        ...{ queue, due, oldest: Math.round(oldestDueSeconds), waiting, dead, in: stagedPerMinute, out: donePerMinute },
        paused: pausedWhy,
        atOnce: concurrency,
        perMinute,
      }),
    ),
  );
  const { queuedPosEvents, parkedPosEvents, rollupDaysDue, canaryAgeSeconds } = state;
  process.stdout.write("\n");
  print([
    {
      queuedPosEvents,
      parkedPosEvents,
      rollupDaysDue,
      canaryAgeSeconds: canaryAgeSeconds === null ? null : Math.round(canaryAgeSeconds),
    },
  ]);
  process.stdout.write("\n");
  print(
    state.processes.map(({ id, role, version, startedAt, alive, waiting }) => ({
      ...{ process: id, role, version, startedAt, alive, waiting },
    })),
  );
  process.stdout.write("\n");
  print(
    state.vendors.map(({ vendor, calls, failed, succeededAt, failedAt }) => ({
      ...{ vendor, calls, failed, succeededAt, failedAt },
    })),
  );
  if (state.paused.length === 0) return;
  process.stdout.write("\n");
  print(
    state.paused.map(({ origin, queue, processes, since, until }) => ({
      paused: origin,
      queue,
      processes,
      since,
      until,
    })),
  );
}

/** Which jobs are meant. */
const filter: JobFilter = {
  queue: options.queue ?? null,
  error: options.error ?? null,
  stagedFrom: options["staged-from"] ?? null,
  stagedBefore: options["staged-before"] ?? null,
  minAttempts: options.attempts ?? null,
  argument: options.argument ?? null,
};

async function actOn(kind: (typeof enums.bulkActionKind)[number]): Promise<void> {
  const { state = "DEAD", until = null, all } = options;
  if (!hasItsTime({ kind, until }))
    throw new Refused("--until must be a later time with snooze, and absent otherwise.");
  if (all && rest.length > 0) throw new Refused("Name jobs or say --all, not both.");
  if (!all) {
    const ids = parsed(z.array(RowNumber).min(1), rest);
    const by = consent(`${kind.toLowerCase()} ${ids.length} jobs`);
    print([{ changed: await actOnJobs({ kind, until }, ids, by) }]);
    return;
  }
  if (!fitsState(kind, state))
    throw new Refused(`${kind.toLowerCase()} is not for jobs that are ${state}: choose them by --state.`);
  const { why, actorId } = consent(
    `${kind.toLowerCase()} all ${state.toLowerCase()} jobs ${filter.queue ?? "of all queues"} that match`,
  );
  await carryOut({ kind, state, ...filter, partnerId: null, until, why, actorId }, "jobs");
}

/** Does something to all that match, with a bar. */
async function carryOut(meant: NewBulkAction, what: "jobs" | "events"): Promise<void> {
  const action = await finishBulkAction(await insertBulkAction(sql, meant), what);
  const { matched = 0, changed = 0, stoppedWhy = null } = action ?? {};
  print([{ matched, changed, ...(stoppedWhy !== null && { stopped: stoppedWhy }) }]);
}

async function events(): Promise<void> {
  const [kind, ...numbers] = rest;
  const { partner: partnerId = null, error = null } = options;
  if (kind === undefined) {
    const rows = await listParkedEvents(sql, { partnerId, error }, null, options.limit);
    print(
      rows.map(({ id, partnerId, provider, kind: of, attempts, receivedAt, lastError }) => ({
        ...{ id, partnerId, provider, kind: of, attempts, receivedAt, lastError },
      })),
    );
    return;
  }
  const act = parsed(z.enum(["replay", "dismiss"]), kind) === "replay" ? "REPLAY" : "DISMISS";
  if (options.all && numbers.length > 0) throw new Refused("Name events or say --all, not both.");
  if (options.all) {
    const by = consent(
      `${kind} all parked POS events ${partnerId === null ? "of all partners" : `of ${partnerId}`} that match`,
    );
    await carryOut({ ...anyJob, kind: act, state: "PARKED", partnerId, error, until: null, ...by }, "events");
    return;
  }
  const ids = parsed(z.array(RowNumber).min(1), numbers);
  const by = consent(`${kind} ${ids.length} parked POS events`);
  print([{ changed: await actOnParkedEvents(act, { ids, partnerId: null }, by, null) }]);
}

async function webhooks(): Promise<void> {
  const [kind, endpoint] = rest;
  const { since, limit, all } = options;
  if (kind === undefined) {
    const rows = await listWatchedEndpoints(sql, { failing: !all, id: null }, null, limit);
    print(
      rows.map(({ id, partner, url, stoppedWhy, failures, failingSince, pending, oldestAt }) => ({
        ...{ id, partner, host: new URL(url).host, stopped: stoppedWhy, failures, failingSince, pending, oldestAt },
      })),
    );
    return;
  }
  const act = parsed(z.enum(["stop", "start", "resend"]), kind);
  const id = parsed(z.uuid(), endpoint);
  if (act === "resend") {
    if (since === undefined) throw new Refused("Say since when: --since 2026-06-01T02:00Z");
    const by = consent(`send the events since ${since.toISOString()} again`);
    const resent = await resendForOperator(id, { since, before: new Date(), after: 0 }, by);
    if (!resent) throw new Refused("There is no such endpoint.");
    print([{ ...resent }]);
    return;
  }
  const changed = await switchEndpoint(id, act === "start", consent(`${act} the endpoint ${id}`));
  if (changed === undefined) throw new Refused("There is no such endpoint.");
  print([{ changed }]);
}

async function setQueue(what: string, change: Parameters<typeof changeQueue>[1]): Promise<void> {
  const queue = onlyQueue();
  await changeQueue(queue, change, consent(`${what} ${queue}`));
  print([{ ...(await queueSetting(queue)) }]);
}

const acts: Readonly<Record<string, () => Promise<void>>> = {
  now,
  // without a queue, of POS events: their jobs are one for each partner, however many its events are
  backlog: async () => {
    if (rest.length > 0) print((await jobOwners(onlyQueue())).map((owner) => ({ ...owner })));
    else print((await partnerEvents()).map((partner) => ({ ...partner })));
  },
  find: async () => {
    const rows = await search(parsed(z.string().min(1).max(200), rest.join(" ")), recently(options.at), null);
    print(rows.map(({ kind, id, state, at }) => ({ kind, id, state, at })));
  },
  order: async () => {
    const found = await inspectOrder(parsed(z.uuid(), rest[0]));
    if (!found) throw new Refused("There is no such order.");
    print(found.timeline.map(({ at, what }) => ({ at, what })));
  },
  show: async () => {
    const id = parsed(z.uuid(), rest[0]);
    const found = (await inspectOrder(id)) ?? (await inspectNotification(id)) ?? (await inspectThing(id));
    if (!found) throw new Refused("There is nothing with this id.");
    print(found.timeline.map(({ at, what }) => ({ at, what })));
  },
  jobs: async () => {
    const { state = "DEAD", limit } = options;
    print((await jobsIn(state, filter, null, limit)).map(jobRow));
  },
  replay: () => actOn("REPLAY"),
  dismiss: () => actOn("DISMISS"),
  run: () => actOn("RUN"),
  snooze: () => actOn("SNOOZE"),
  cancel: () => actOn("CANCEL"),
  actions: async () => print((await listBulkActions(sql, null, options.limit)).map(actionRow)),
  stop: async () => {
    const id = parsed(z.uuid(), rest[0]);
    const wasOpen = await stopBulkAction(id, consent(`stop the action ${id}`));
    const action = await findBulkAction(sql, id);
    if (!action) throw new Refused("There is no such action.");
    if (!wasOpen) throw new Refused(`It has ended already, with ${action.changed} of ${action.matched} jobs changed.`);
    print([actionRow(action)]);
  },
  pause: () => setQueue("pause", { paused: true }),
  resume: () => setQueue("resume", { paused: false }),
  concurrency: () => {
    const number = rest[1] === "default" ? null : parsed(z.coerce.number().int().min(1).max(1_000), rest[1]);
    return setQueue(`run ${number ?? "as many jobs as configured"} at once of`, { concurrency: number });
  },
  rate: () => {
    const number = rest[1] === "default" ? null : parsed(z.coerce.number().int().min(1).max(1_000_000), rest[1]);
    return setQueue(number === null ? "end the limit of" : `start at most ${number} jobs a minute of`, {
      perMinute: number,
    });
  },
  disconnect: async () => {
    const partnerId = parsed(z.uuid(), rest[0]);
    if (!(await disconnectPos(partnerId, consent(`disconnect the POS of ${partnerId}`), null)))
      throw new Refused("No partner with this id is connected to a POS.");
    print([{ disconnected: partnerId }]);
  },
  events,
  webhooks,
  upkeep: async () => {
    const task = parsed(z.enum(upkeepTasks), rest[0]);
    print([{ job: await runUpkeepNow(task, consent(`stage ${task}`)) }]);
  },
  rollup: async () => {
    const { from, to = from } = options;
    if (from === undefined || to === undefined) throw new Refused("Name the days: --from 2026-01-01 [--to 2026-01-31]");
    print([{ days: await rollUpNow({ from, to }, consent(`roll up ${from} to ${to}`)) }]);
  },
};

const act = Object.hasOwn(acts, command) ? acts[command] : undefined;
if (!act) exitWithLine(`${usage}: ${commands}`);
try {
  await act();
} catch (error) {
  if (!(error instanceof Refused) && !(error instanceof ApiError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
} finally {
  await closeDatabase();
}
