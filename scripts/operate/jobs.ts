import { z } from "zod";
import { argumentText } from "../../api/common/argument.js";
import { jobsIn } from "../../api/common/inspect.js";
import { actOnJobs, fitsState, hasItsTime, stopBulkAction } from "../../api/common/operate.js";
import type { enums } from "../../lib/domain/enums.js";
import { sql } from "../../sql/db.js";
import {
  findBulkAction,
  insertBulkAction,
  listBulkActions,
  type BulkActionRow,
  type NewBulkAction,
} from "../../sql/operators/bulk-actions.js";
import type { JobFilter, JobRow } from "../../sql/operators/jobs.js";
import { finishBulkAction } from "../finish-bulk-action.js";
import { consent, options, parsed, Refused, rest, RowNumber } from "./arguments.js";
import { print, type Row } from "./table.js";

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

/** Which jobs are meant. */
const filter: JobFilter = {
  queue: options.queue ?? null,
  error: options.error ?? null,
  stagedFrom: options["staged-from"] ?? null,
  stagedBefore: options["staged-before"] ?? null,
  minAttempts: options.attempts ?? null,
  argument: options.argument ?? null,
};

export async function actOn(kind: (typeof enums.bulkActionKind)[number]): Promise<void> {
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
export async function carryOut(meant: NewBulkAction, what: "jobs" | "events"): Promise<void> {
  const action = await finishBulkAction(await insertBulkAction(sql, meant), what);
  const { matched = 0, changed = 0, stoppedWhy = null } = action ?? {};
  print([{ matched, changed, ...(stoppedWhy !== null && { stopped: stoppedWhy }) }]);
}

/** Prints the jobs that match. */
export async function jobs(): Promise<void> {
  const { state = "DEAD", limit } = options;
  print((await jobsIn(state, filter, null, limit)).map(jobRow));
}

/** Prints the latest bulk actions. */
export const actions = async (): Promise<void> =>
  print((await listBulkActions(sql, null, options.limit)).map(actionRow));

/** Stops a bulk action; the jobs that it has changed stay so. */
export async function stop(): Promise<void> {
  const id = parsed(z.uuid(), rest[0]);
  const wasOpen = await stopBulkAction(id, consent(`stop the action ${id}`));
  const action = await findBulkAction(sql, id);
  if (!action) throw new Refused("There is no such action.");
  if (!wasOpen) throw new Refused(`It has ended already, with ${action.changed} of ${action.matched} jobs changed.`);
  print([actionRow(action)]);
}
